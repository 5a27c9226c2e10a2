-- step_back.lua: someone who waits steps back behind others: each of those takes the place before their own, and the
-- ticket takes the place of the last of them. No place is new, so nobody else is overtaken or overtakes.
-- ARGV  1 now  2 number  3 how many others  4 the position at which it was requested ('' = any): a ticket that is
--       further back has stepped back already
-- Returns outcome (done, refused, missing, held_back: the order is being drawn, in_group: they wait together
-- with others)  rank  due  record.
--#include moves_in_line
local number, many, seen = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local t, reply = fetch(number), {}

local function step_back()
  local rank = call('ZRANK', LINE, number)
  if seen and rank + 1 > seen then return end
  local behind = call('ZRANGE', LINE, rank + 1, rank + many)
  if #behind == 0 then return end
  local free = t.place
  for _, other in ipairs(behind) do
    local o = fetch(other)
    o.place, free = free, o.place
    call('ZADD', LINE, o.place, other)
    save(o)
  end
  t.place = free
  call('ZADD', LINE, free, number)
  save(t)
  if t.level > 0 then -- an arrival of the same level that comes later stays behind
    local last = tonumber(call('HGET', QUEUE, 'turn:' .. t.level))
    local turn = floor(free / PLACE_SPAN)
    if not last or turn > last then call('HSET', QUEUE, 'turn:' .. t.level, turn) end
  end
  event('stepped_back', number, #behind)
end

reply[1] = reason_against_move(t, 'step_back') or 'done'
if reply[1] == 'done' then step_back() end
put(reply, number, call('HGET', TICKETS, number))
return answer(reply)
