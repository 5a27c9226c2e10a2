-- sweep.lua: end the tickets whose deadline has passed, and clear away what has been kept long enough.
-- ARGV  1 now  2 at most  3 ms between sweeps  4 do nothing if another keeper did it less than this many ms ago
--       5 1 if people who wait cannot reach Fairline now
-- Returns how many were due, then the number and reason of each ticket that lapsed.
-- If nobody swept for much longer than the interval, Fairline was down: the queue's clock stood still meanwhile. It
-- also stands still while people cannot reach Fairline.
--#include step
local at_most, every, lease, stalled = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local away = now - Q.swept_at
if away >= 0 and away < lease then return answer({0}) end

local function stop_clock(span)
  Q.stopped = (Q.stopped or 0) + span
  clock = now - Q.stopped
  call('HSET', QUEUE, 'stopped', Q.stopped)
end

if away < 0 then
  stop_clock(away) -- the store's clock was set back; the queue's continues from where it was
elseif stalled then
  stop_clock(away)
elseif away > 1.5 * every then
  stop_clock(away - every)
  event('clock_stopped', '', (away - every) / 1000)
end
call('HSET', QUEUE, 'swept_at', now)

-- Why a ticket lapses follows from the state that ends.
local function reason_of(t)
  if t.state == STATUS.waiting then return t.leaving and 'left' or 'heartbeat_timeout' end
  if t.state == STATUS.admitted then return Q.admission == 'manual' and 'no_show' or 'claim_timeout' end
  return 'session_timeout'
end

local function purge(t)
  call('HDEL', TICKETS, t.number)
  call('ZREM', ENDED, t.number)
  call('ZREM', DUE, t.number)
  if t.key ~= '' then call('HDEL', HOLDERS, 'j' .. t.key) end
end

-- What else falls due: idempotency keys of calls, revocations, priority passes. The first letter says which.
local HASH_OF = {k = HOLDERS, r = REVOKED, p = PASSES}
local function clear(member)
  local kind = string.sub(member, 1, 1)
  call('HDEL', HASH_OF[kind], kind == 'k' and member or string.sub(member, 2))
  call('ZREM', DUE, member)
end

-- Pack the hours that are no longer read all the time into one field each.
local function pack_hours(hour)
  local older = {}
  local fields = call('HGETALL', STATS)
  for i = 1, #fields, 2 do
    local kind, at, name = string.match(fields[i], '^([hm])(%d+):(.*)$')
    local age = kind == 'h' and hour - tonumber(at) or 0
    if age > HOURS_AT_HAND and age <= HOURS_KEPT then
      older[at] = older[at] or {}
      older[at][name] = tonumber(fields[i + 1])
    end
    if age > HOURS_AT_HAND or kind == 'm' then call('HDEL', STATS, fields[i]) end -- earlier versions kept minutes here
  end
  for at, counts in pairs(older) do call('HSET', HOURS, at, cmsgpack.pack(counts)) end
end

-- Once an hour, pack the hours older than HOURS_AT_HAND, and drop the hours and minutes that are no longer kept.
local function trim_stats()
  local hour, minute = floor(now / HOUR_MS), floor(now / MINUTE_MS)
  if Q.stats_hour == hour then return end
  call('HSET', QUEUE, 'stats_hour', hour)
  pack_hours(hour)
  for _, field in ipairs(call('HKEYS', HOURS)) do
    if hour - tonumber(field) > HOURS_KEPT then call('HDEL', HOURS, field) end
  end
  for _, field in ipairs(call('HKEYS', MINUTES)) do
    if tonumber(field) < minute - MINUTES_KEPT then call('HDEL', MINUTES, field) end
  end
end

local due = call('ZRANGEBYSCORE', DUE, '-inf', clock, 'LIMIT', 0, at_most)
local reply = {#due}
for _, member in ipairs(due) do
  local t = tonumber(member) and fetch(member)
  if not t then
    clear(member)
  elseif t.ended > 0 then
    purge(t)
  else
    local reason = reason_of(t)
    move(t, 'lapse', REASON_CODE[reason])
    reply[#reply + 1], reply[#reply + 2] = member, reason
  end
end
trim_stats()
-- A minute in which nothing happened also records how many wait and are inside.
if not next(tally) then write_minute(call('ZCARD', LINE), count_inside()) end
return answer(reply)
