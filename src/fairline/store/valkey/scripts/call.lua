-- call.lua: call people by hand: the next ones in the line, or one by number. A retry with the same key calls the same
-- people.
-- ARGV  1 now  2 how many  3 number ('' = the next in the line)  4 desk  5 idempotency key (digest or '')
--       6 fingerprint of the call
-- Returns outcome, then for each: number  rank  due  record. Outcomes: called, repeated (by its idempotency key),
-- conflict, paused, held_back, refused, missing, desk (not one of the queue's: their names follow).
--#include step
--#include desks
--#include together
local many, number, desk, key, fingerprint = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local cycles = call('HGET', QUEUE, 'cycles')
read({'wait_sample'})
local reply = {}

-- A cycle is the time a desk took from one call to the next while people waited. The mean is that of the newest ones.
local function note_cycle(ms)
  local kept, sum, squares = {ms}, ms, ms * ms
  for each in string.gmatch(cycles or '', '%d+') do
    if #kept < Q.wait_sample then
      kept[#kept + 1] = each
      sum, squares = sum + tonumber(each), squares + tonumber(each) * tonumber(each)
    end
  end
  Q.cycle_mean, Q.cycle_count = sum / #kept / 1000, #kept
  Q.cycle_spread = math.sqrt(max(0, squares / #kept - (sum / #kept) * (sum / #kept))) / 1000
  call('HSET', QUEUE, 'cycles', table.concat(kept, ' '), 'cycle_mean', Q.cycle_mean, 'cycle_count', #kept,
    'cycle_spread', Q.cycle_spread)
end

-- A desk that calls is open.
local function note_desk(called)
  if desk == '' or not has_counts(desk) then return end
  call('ZADD', DESKS, now, desk)
  local last, many_then = string.match(call('HGET', QUEUE, 'called:' .. desk) or '', '^(%d+) (%d+)$')
  last = tonumber(last)
  if last and now > last and now - last < Q.desk_idle_seconds * 1000 and (Q.empty_at or 0) <= last then
    note_cycle(floor((now - last) / tonumber(many_then)))
  end
  call('HSET', QUEUE, 'called:' .. desk, text(now) .. ' ' .. called)
end

local function put_number(n, record)
  reply[#reply + 1] = n
  put(reply, n, record)
end

if key ~= '' then
  local before = call('HGET', HOLDERS, 'k' .. key)
  if before then
    local was, numbers = string.match(before, '^(%S*) (.*)$')
    if was ~= fingerprint then return answer({'conflict'}) end
    reply[1] = 'repeated'
    for n in string.gmatch(numbers, '%d+') do
      put_number(n, call('HGET', TICKETS, n))
    end
    return answer(reply)
  end
end
if Q.status ~= 'active' then return answer({'paused'}) end
if HELD_BACK[Q.phase] then return answer({'held_back'}) end
if desk ~= '' and not is_desk(desk) then return answer({'desk', unpack(NAMED)}) end

local numbers = {}
if number == '' then
  local free = capacity()
  numbers = next_in_line(min(many, free, call('ZCARD', LINE)), free)
else
  local t = fetch(number)
  if not t then return answer({'missing'}) end
  if not goes_to(t, 'call') then
    reply[1] = 'refused'
    put_number(number, call('HGET', TICKETS, number))
    return answer(reply)
  end
  numbers = capacity() > 0 and {number} or {}
end

reply[1] = 'called'
if #numbers > 0 then note_desk(#numbers) end
for _, n in ipairs(numbers) do
  local t = fetch(n)
  t.desk = desk
  put_number(n, move(t, 'call'))
end
if key ~= '' and #numbers > 0 then
  call('HSET', HOLDERS, 'k' .. key, fingerprint .. ' ' .. table.concat(numbers, ','))
  call('ZADD', DUE, clock + DAY_MS, 'k' .. key)
end
return answer(reply)
