-- admit.lua: let the next tickets in, as many as rate, capacity and stock allow; measure how the line drains.
-- ARGV  1 now  2 at most  3 ms between ticks  4 do nothing if another keeper did it less than this many ms ago
-- Returns the numbers admitted, in order. Admits nobody while the queue is not active or is called by hand.
--#include step
--#include ages
--#include bucket
--#include together
local at_most, every, lease = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local waiting = call('ZCARD', LINE)

-- Another keeper has just done it. (If the clock went back this says nothing, or nobody would do it until that time
-- comes again.)
if Q.flow_at and now >= Q.flow_at and now - Q.flow_at < lease then return answer({}) end

-- Fade the measured flow, and add the time since the last tick. Time in which nobody kept the queue is not measured, and
-- nor is the time before an opening has started, in which nobody can be let in.
local function measure()
  local seconds = max(0, now - (Q.flow_at or now)) / 1000
  if seconds > LONGEST_TICK_SECONDS or HELD_BACK[Q.phase] then seconds = 0 end
  local fade = math.exp(-seconds / FLOW_FADE_SECONDS)
  Q.flow_waited = (Q.flow_waited or 0) * fade + waiting * seconds
  Q.flow_span = (Q.flow_span or 0) * fade + (waiting > 0 and seconds or 0)
  Q.flow_left, Q.flow_called = (Q.flow_left or 0) * fade, (Q.flow_called or 0) * fade
  Q.flow_inside = (Q.flow_inside or 0) + count_inside() * seconds
  Q.flow_passed = (Q.flow_passed or 0) * fade ^ PASSED_FADES
  call('HSET', QUEUE, 'flow_at', now, 'flow_inside', Q.flow_inside, 'flow_waited', Q.flow_waited,
    'flow_span', Q.flow_span, 'flow_left', Q.flow_left, 'flow_called', Q.flow_called, 'flow_passed', Q.flow_passed)
end

-- Now and then, measure how long people have waited: a few, at equal distances in the line, stand for all of it.
local function measure_ages()
  local seconds = (now - (Q.aged_at or now)) / 1000
  if waiting == 0 or Q.aged_at and seconds >= 0 and seconds < AGES_EVERY_SECONDS then return end
  if seconds < 0 or seconds > LONGEST_TICK_SECONDS then seconds = 0 end
  local fade, all, looked = math.exp(-seconds / FLOW_FADE_SECONDS), ages_now(), min(waiting, AGES_LOOKED_AT)
  for i = 1, #all do all[i] = all[i] * fade end
  for i = 0, looked - 1 do
    local rank = floor((2 * i + 1) * waiting / (2 * looked))
    local t = fetch(call('ZRANGE', LINE, rank, rank)[1])
    count_age(now - t.joined, AGE_CLASSES, waiting * seconds / looked)
  end
  call('HSET', QUEUE, 'aged_at', now)
  write_ages()
end

measure()
measure_ages()
local tokens, free = tokens_now(every), capacity()
if not lets_in() then
  keep_tokens(min(tokens, burst()), false)
  return answer({})
end

local reply = next_in_line(min(floor(tokens), free, waiting, at_most), free)
local going = #reply
for _, number in ipairs(reply) do
  move(fetch(number), 'admit')
end
-- A group goes when there is one token, and the tokens of the others are owed: so the rate stays what it is.
tokens = tokens - going
keep_tokens(tokens, waiting > going and free > going and (tokens < 1 or going >= at_most))
return answer(reply)
