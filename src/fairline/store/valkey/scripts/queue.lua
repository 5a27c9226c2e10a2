-- queue.lua: the beginning of every script on a queue: its keys, its clock, its settings, and how it answers.
-- KEYS  1 queue  2 line  3 due  4 tickets  5 holders  6 admitted  7 active  8 ended  9 events  10 stats  11 revoked
--       12 passes  13 history  14 minutes  15 estimates  16 on_hold  17 desks  18 arriving  19 hours
--       20 groups  21… limits (join.lua and limit.lua)
-- ARGV  1 now in ms ('' = the store's clock)
-- People who wait ask often, and this is all it takes to answer them. What only a step needs is in step.lua.
--#include states
--#include defaults
--#include bounds
local QUEUE, LINE, DUE, TICKETS, HOLDERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ADMITTED, ACTIVE, ENDED, EVENTS, STATS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local REVOKED, PASSES, HISTORY, MINUTES, ESTIMATES = KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15]
local ON_HOLD, DESKS, ARRIVING, HOURS = KEYS[16], KEYS[17], KEYS[18], KEYS[19]

local unpack = table.unpack or unpack
local call, floor, min, max = redis.call, math.floor, math.min, math.max

-- A number as text that reads back as the same number in every version of Lua. Scores, and values that only scripts
-- read, need no such care: the server converts them, and faster. But values that Python reads do: Redis 7.2 before
-- 7.2.5 writes 100000000 as 1e+8. Nearly all numbers are whole, and '%d' is faster.
local function text(number)
  return string.format(number % 1 == 0 and '%d' or '%.17g', number)
end

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + floor(tonumber(time[2]) / 1000)
end

-- The settings and the tallies of the queue. A queue that is older than a setting has its default.
local Q = {}
local function read(names)
  for i, value in ipairs(call('HMGET', QUEUE, unpack(names))) do
    Q[names[i]] = tonumber(value) or value or DEFAULTS[names[i]] or false -- false where there is none
  end
end
read({
  'version', 'admission', 'heartbeat_timeout_seconds', 'grace_seconds', 'closed_page_seconds', 'desk_idle_seconds',
  'stopped', 'swept_at',
  'completed', 'stay_mean', 'flow_span', 'flow_waited', 'flow_left', 'flow_called', 'flow_inside', 'flow_out',
  'cycle_mean', 'cycle_count', 'cycle_spread', 'tokens', 'tokens_at', 'empty_at', 'head_joined', 'flow_passed',
  'passed_at', 'slowed_at', 'slowed', 'ages',
})
if not Q.version then
  return redis.error_reply('NOQUEUE there is no such queue')
end

local waiting_before = call('ZCARD', LINE)

-- The queue's own clock stands still during outages; every deadline is kept in its time. It never goes back: if the
-- store's clock does, the next sweep corrects it, and until then no ticket may end because of it.
local clock = max(now, Q.swept_at) - (Q.stopped or 0)

local function waiting_due()
  local timeout = Q.heartbeat_timeout_seconds
  return timeout > 0 and clock + (timeout + Q.grace_seconds) * 1000 or nil
end

-- Writes the counts of a step; count.lua defines it.
local write_counts

-- The seconds since each open desk last called, while people waited; and how many desks are open.
local function silences(waiting)
  local open = call('ZRANGEBYSCORE', DESKS, '(' .. text(now - Q.desk_idle_seconds * 1000), '+inf', 'WITHSCORES')
  local packed = {}
  for i = 2, #open, 2 do
    local since = waiting > 0 and max(0, now - max(tonumber(open[i]), Q.empty_at or 0)) or 0
    packed[i / 2] = struct.pack('<d', since / 1000)
  end
  return table.concat(packed), #packed
end

-- How many people go ahead of someone who waits each second, on average over the line. It fades faster than the rest of
-- the flow, because it changes faster. How long it was measured follows from the span of the flow.
local function pass_rate(waiting, span)
  if not Q.flow_passed or Q.flow_passed == 0 or waiting == 0 or span == 0 then return 0 end
  local known = 1 - (1 - min(1, span / FLOW_FADE_SECONDS)) ^ PASSED_FADES
  return Q.flow_passed / waiting / (FLOW_FADE_SECONDS / PASSED_FADES * known)
end

-- Answer with the queue as it is now (answers.py reads it) and `reply`.
local function answer(reply)
  local waiting, admitted, active, open = call('ZCARD', LINE), call('ZCARD', ADMITTED), call('ZCARD', ACTIVE), 0
  local desks = ''
  if write_counts then write_counts(waiting, admitted + active) end
  local waited, span, inside = Q.flow_waited or 0, Q.flow_span or 0, Q.flow_inside or 0
  if waiting_before == 0 and waiting > 0 then
    Q.empty_at = now
    call('HSET', QUEUE, 'empty_at', now)
  end
  if Q.admission == 'manual' then desks, open = silences(waiting) end
  return {struct.pack('<ddddddddddddddddddddddddd',
    now, Q.stopped or 0, Q.version, waiting, admitted, active, Q.completed or 0,
    Q.stay_mean or 0, waited > 0 and (Q.flow_left or 0) / waited or 0, span > 0 and (Q.flow_called or 0) / span or 0,
    inside > 0 and (Q.flow_out or 0) / inside or 0, Q.flow_out or 0, call('ZCARD', ON_HOLD), open, Q.cycle_count or 0,
    Q.cycle_mean or 0, Q.flow_called or 0, Q.tokens or 0, Q.tokens_at or 0, Q.cycle_spread or 0, Q.head_joined or 0,
    pass_rate(waiting, span), Q.passed_at or 0, Q.slowed_at or 0, Q.slowed or 0)
    .. desks .. string.sub(Q.ages or '', 2), reply}
end

-- A ticket in an answer: its rank or -1, its deadline or '', its record or ''. `due` and `rank` are passed if known.
local function put(reply, number, record, due, rank)
  rank = rank or record and string.byte(record, 1) == STATUS.waiting and call('ZRANK', LINE, number)
  if record and due == nil then due = call('ZSCORE', DUE, number) end
  local size = #reply
  reply[size + 1], reply[size + 2], reply[size + 3] = rank or -1, record and due or '', record or ''
end

-- The records of many tickets at once, from the `first` of these numbers on; false if there is none.
local function records_of(numbers, first)
  if #numbers < first then return {} end
  return call('HMGET', TICKETS, unpack(numbers, first))
end
