-- act.lua: one action on each ticket: recall, return, complete, leave, cancel, no_show, terminate, hold, release,
-- reinstate, put_back.
-- ARGV  1 now  2 action  then for each: number  joined (when the ticket was issued; '' = any)  by (if a session runs,
--       it must be theirs: digest; '' = anyone's)
-- Returns for each: outcome (done, refused, missing, another, taken; of reinstate and put_back also
--       holder_in_line, of reinstate at_capacity)  rank  due  record.
--#include step
--#include place
local action, reply = ARGV[2], {}

-- The endings that an action takes back, as in ticket.py.
local TAKES_BACK = {reinstate = {no_show = true, claim_timeout = true}, put_back = {cancelled = true}}

-- Put a ticket on hold, or release it to its old place. The line closes up meanwhile, and opens again for it.
local function set_on_hold(t, on_hold)
  call('ZREM', set_of(t), t.number)
  t.on_hold = on_hold
  call('ZADD', set_of(t), t.place, t.number)
  if not on_hold then call('HDEL', ARRIVING, t.number) end
  event(on_hold and 'put_on_hold' or 'released', t.number)
  return save(t)
end

-- Someone who was called returns to the line before going on hold, in the same step: no desk can call them in between.
local function return_to_hold(t)
  local before = call('ZCARD', LINE)
  move(t, 'return')
  if before == 0 then call('HSET', QUEUE, 'empty_at', now) end
  waiting_before = max(waiting_before, before + 1)
end

-- Take back one count of the end of a ticket, in the hour in which it was counted.
local function uncount(t, name)
  local hour = floor(t.ended / HOUR_MS)
  if hour >= floor(now / HOUR_MS) - HOURS_AT_HAND then call('HINCRBY', STATS, 'h' .. text(hour) .. ':' .. name, -1) end
  call('HINCRBY', STATS, 'total:' .. name, -1)
end

-- Someone counts no longer among those who left the line. That has faded since, so what remains of it is taken back.
local function uncount_left(t)
  local remains = math.exp(-max(0, now - t.ended) / 1000 / FLOW_FADE_SECONDS)
  Q.flow_left = max(0, (Q.flow_left or 0) - remains)
  call('HSET', QUEUE, 'flow_left', Q.flow_left)
  count_age(t.ended - t.joined, 0, -remains)
  write_ages()
end

-- Take back the end of a ticket. Someone who did not come has come after all: the same desk calls them again. Someone
-- who was removed by mistake waits at their old place, or just behind someone who was given it meanwhile.
local function take_back(t)
  local why = REASON[t.reason]
  if not TAKES_BACK[action][why] then return 'refused' end
  if t.holder ~= '' and call('HEXISTS', HOLDERS, holder_field(t)) == 1 then return 'holder_in_line' end
  if action == 'reinstate' and capacity() < 1 then return 'at_capacity' end
  uncount(t, 'expired')
  uncount(t, 'expired:' .. why)
  if why == 'no_show' and t.desk ~= '' then
    uncount(t, 'desk:no_show:' .. (call('ZSCORE', DESKS, t.desk) and t.desk or 'other'))
  end
  if t.holder ~= '' then call('HSET', HOLDERS, holder_field(t), t.number) end
  if action == 'put_back' then
    if t.admitted == 0 then uncount_left(t) end
    while taken(t.place) do t.place = t.place + 1 end
  end
  t.reason, t.ended = 0, 0
  move(t, action)
  return 'done'
end

local function act(t, joined, by)
  if is_another(t, joined) then return 'another' end
  if by ~= '' and t.state == STATUS.active and not is_by(t.by, by) then return 'taken' end
  if not goes_to(t, action) then return 'refused' end
  if TAKES_BACK[action] then return take_back(t) end
  if action == 'hold' and t.state == STATUS.admitted then return_to_hold(t) end
  if action == 'hold' or action == 'release' then
    set_on_hold(t, action == 'hold')
  else
    move(t, action, REASON_OF[action])
  end
  return 'done'
end

for i = 3, #ARGV, 3 do
  local t = fetch(ARGV[i])
  reply[#reply + 1] = t and act(t, ARGV[i + 1], ARGV[i + 2]) or 'missing'
  put(reply, ARGV[i], call('HGET', TICKETS, ARGV[i]))
end
return answer(reply)
