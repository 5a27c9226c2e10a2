-- call.lua: call people by hand: the next ones in the line, or one by number. A retried press calls the same people.
-- ARGV  1 now  2 how many  3 number ('' = the next in the line)  4 counter  5 idempotency key (digest or '')
--       6 fingerprint of the press
-- Returns outcome, then for each: number  rank  due  record. Outcomes: called, again, conflict, paused, refused, missing.
local many, number, counter, key, fingerprint = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local KEPT = 86400000
local reply = {}

local function put_number(n, record)
  reply[#reply + 1] = n
  put(reply, n, record)
end

if key ~= '' then
  local before = call('HGET', HOLDERS, 'k' .. key)
  if before then
    local was, numbers = string.match(before, '^(%S*) (.*)$')
    if was ~= fingerprint then return answer({'conflict'}) end
    reply[1] = 'again'
    for n in string.gmatch(numbers, '%d+') do
      put_number(n, call('HGET', TICKETS, n))
    end
    return answer(reply)
  end
end
if Q.status ~= 'active' then return answer({'paused'}) end

local numbers = {}
if number == '' then
  local going = min(many, room(), call('ZCARD', LINE))
  numbers = going > 0 and call('ZRANGE', LINE, 0, going - 1) or {}
else
  local t = fetch(number)
  if not t then return answer({'missing'}) end
  if not TRANSITIONS[t.state].call then
    reply[1] = 'refused'
    put_number(number, call('HGET', TICKETS, number))
    return answer(reply)
  end
  numbers = room() > 0 and {number} or {}
end

reply[1] = 'called'
for _, n in ipairs(numbers) do
  local t = fetch(n)
  t.counter = counter
  put_number(n, move(t, 'call'))
end
if key ~= '' and #numbers > 0 then
  call('HSET', HOLDERS, 'k' .. key, fingerprint .. ' ' .. table.concat(numbers, ','))
  call('ZADD', DUE, text(clock + KEPT), 'k' .. key)
end
return answer(reply)
