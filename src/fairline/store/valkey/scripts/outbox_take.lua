-- outbox_take.lua: put deliveries in, and move the cursor of their queue on, if it is still where the caller saw it.
-- ARGV  1 now  2 queue  3 seen ('' = none yet)  4 the event to go on from  5 most that may be pending
--       then for each: id  what is to be sent
-- Returns 1, or 0 where the cursor has moved, the outbox is full, or it is not open.
--#include outbox
local queue, seen = ARGV[2], ARGV[3]
if call('HEXISTS', CURSORS, '') == 0 then return 0 end
if (call('HGET', CURSORS, queue) or '') ~= seen then return 0 end
if #ARGV > 5 and call('ZCARD', PENDING) + (#ARGV - 5) / 2 > tonumber(ARGV[5]) then return 0 end
for i = 6, #ARGV, 2 do
  if call('HSETNX', DELIVERIES, ARGV[i], ARGV[i + 1]) == 1 then
    mark(ARGV[i], 0, text(now), '')
    call('ZADD', PENDING, text(now), ARGV[i])
  end
end
call('HSET', CURSORS, queue, ARGV[4])
return 1
