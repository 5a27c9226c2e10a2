-- step.lua: the beginning of every script that moves tickets: the rest of the settings, and the transitions. The tables
-- REASON, REASON_CODE, REASON_OF, TRANSITIONS and ON_HOLD_TRANSITIONS are generated from ticket.py, HELD_BACK from
-- opening.py, the shared numbers (`bounds`) from constants.py.
--#include ticket
--#include count
--#include ages
--#include tables
--#include bounds
--#include groups

local SET_OF = {LINE, ADMITTED, ACTIVE, ENDED, ENDED}

-- Read as soon as one of them is needed: not every step needs them.
setmetatable(Q, {__index = function(_, name)
  setmetatable(Q, nil)
  read({
    'status', 'admission_rate', 'burst', 'max_active', 'max_queue_size', 'stock', 'stock_url', 'claim_seconds',
    'session_seconds', 'session_max_seconds', 'retain_seconds', 'token_bound', 'stay_count', 'flow_at', 'stats_hour',
    'aged_at', 'phase', 'groups',
  })
  return Q[name]
end})

local function active_due(t)
  return min(clock + Q.session_seconds * 1000, t.cap)
end

-- A holder that is the client itself is written once, as 'c'.
local function holder_field(t)
  return t.holder == 'c' and 'c' .. t.client or t.holder
end

local function free_holder(t)
  if t.holder ~= '' then call('HDEL', HOLDERS, holder_field(t)) end
end

-- The state an action leads to; nil if the table does not allow it.
local function goes_to(t, action)
  return (t.on_hold and ON_HOLD_TRANSITIONS or TRANSITIONS[t.state])[action]
end

-- The set a ticket is in.
local function set_of(t)
  return t.on_hold and ON_HOLD or SET_OF[t.state]
end

-- Count for the desk that called a ticket. A desk without counts of its own is one of the others.
local function count_desk(t, what, by)
  if t.desk ~= '' then
    count('desk:' .. what .. ':' .. (call('ZSCORE', DESKS, t.desk) and t.desk or 'other'), by)
  end
end

local EVENT_OF = {
  admit = 'admitted', call = 'called', recall = 'recalled', ['return'] = 'returned', start = 'started',
  complete = 'completed', transfer = 'transferred', reinstate = 'reinstated', put_back = 'put_back',
}

-- Compare a wait that was shown with the real one. Both are in ms of the queue's own time, so that outages of Fairline
-- do not count. By the length of the wait, there is a histogram of errors in percent: see stats.py.
local function compare(wait, seconds, low, high, weight)
  local length = 0
  for _, from in ipairs({30, 120, 600}) do
    if wait >= 1000 * from then length = from end
  end
  local of, error = 'estimates:' .. length .. ':', 100 * (seconds - wait) / max(wait, 5000)
  local bucket = floor(8 * math.log(1 + math.abs(error)) / math.log(2) + 0.5)
  count('estimates:compared', weight)
  count(of .. 'compared', weight)
  count(of .. 'error:' .. text(error < 0 and -bucket or bucket), weight)
  if low <= wait and wait <= high then
    count('estimates:within', weight)
    count(of .. 'within', weight)
  end
  count('estimates:off_ms', weight * floor(math.abs(wait - seconds) + 0.5))
  count('estimates:wait_ms', weight * wait)
end

local function compare_shown(number)
  local found = false
  for _, shown in ipairs(call('HMGET', ESTIMATES, number, number .. '+')) do
    if shown then
      local from, seconds, low, high, weight = unpack(cmsgpack.unpack(shown))
      compare(max(0, clock - from), seconds, low, high, weight or 1)
      found = true
    end
  end
  if found then call('HDEL', ESTIMATES, number, number .. '+') end
end

local function admitted_now(t)
  t.admitted = now
  local wait = max(0, now - t.joined)
  count('admitted')
  count('wait_ms', wait)
  count('wait:' .. floor(8 * math.log(1 + wait / 1000) / math.log(2)))
  count_desk(t, 'called')
  count_desk(t, 'wait_ms', wait)
  Q.flow_called = (Q.flow_called or 0) + 1
  Q.head_joined = t.joined
  compare_shown(t.number)
end

-- Measure how many come out against the time that all spend inside. It fades by the count, and slowly enough for all
-- places inside to have been emptied and filled again: people who went in together also come out together.
local function count_exit()
  local keep = 1 - 1 / min(EXITS_KEPT, max(EXITS_LEAST, 2 * Q.max_active))
  Q.flow_inside, Q.flow_out = (Q.flow_inside or 0) * keep, (Q.flow_out or 0) * keep + 1
end

local function ended_now(t, from, reason)
  t.ended, t.reason = now, reason or 0
  free_holder(t)
  if from == STATUS.waiting then
    Q.flow_left = (Q.flow_left or 0) + 1
    count_age(now - t.joined, 0, 1)
    call('HDEL', ESTIMATES, t.number, t.number .. '+')
  else
    local seen = min((Q.stay_count or 0) + 1, STAYS_KEPT)
    Q.stay_count = seen
    Q.stay_mean = (Q.stay_mean or 0) + (max(0, now - t.admitted) / 1000 - (Q.stay_mean or 0)) / seen
    count_exit()
  end
  if t.state == STATUS.completed then
    count('completed')
    count_desk(t, 'served')
    count_desk(t, 'service_ms', max(0, now - t.started))
    Q.completed = (Q.completed or 0) + 1
  else
    count('expired')
    count('expired:' .. REASON[t.reason])
    if REASON[t.reason] == 'no_show' then count_desk(t, 'no_show') end
  end
end

-- Move one ticket by the table of transitions, with everything that belongs to it: its set, its deadline, its holder,
-- the statistics, the event. Returns the new record, or nil if the table does not allow it.
local function move(t, action, reason, detail)
  local from, to = t.state, goes_to(t, action)
  if not to then return nil end
  if SET_OF[from] ~= SET_OF[to] then
    call('ZREM', set_of(t), t.number)
    call('ZADD', SET_OF[to], to == STATUS.waiting and t.place or t.number, t.number)
  end
  if t.on_hold then call('HDEL', ARRIVING, t.number) end
  if from == STATUS.waiting and (Q.groups or 0) > 0 then leave_group(t.number) end
  if to == STATUS.waiting and from ~= to and (Q.groups or 0) > 0 then rejoin_group(t.number) end
  t.state, t.leaving, t.on_hold = to, false, false
  local due
  if to == STATUS.waiting then
    count('returned', t.admitted > 0 and 1 or 0) -- also 0: the line is longer
    t.admitted, t.desk, due = 0, '', waiting_due()
  elseif to == STATUS.admitted then
    if from == STATUS.waiting then admitted_now(t) end
    due = clock + Q.claim_seconds * 1000
  elseif to == STATUS.active then
    if from == STATUS.admitted then
      t.started, t.cap = now, clock + Q.session_max_seconds * 1000
      count_desk(t, 'came')
      count_desk(t, 'claim_ms', max(0, now - t.admitted))
    end
    due = active_due(t)
  else
    ended_now(t, from, reason)
    due = clock + Q.retain_seconds * 1000
  end
  set_due(t.number, due)
  event(EVENT_OF[action] or 'expired', t.number, detail or REASON[t.reason] or t.desk)
  return save(t)
end

local function count_inside()
  return call('ZCARD', ADMITTED) + call('ZCARD', ACTIVE)
end

-- How many more may go inside: what max_active leaves, and no more than is left to sell.
local function capacity()
  local inside = count_inside()
  local free = Q.max_active - inside
  if Q.stock then
    free = min(free, Q.stock - (Q.completed or 0) - inside)
  elseif Q.stock_url then
    free = 0 -- the stock is not known yet: admit nobody rather than too many
  end
  return max(0, free)
end
