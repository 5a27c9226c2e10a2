-- outbox_take.lua: put deliveries in, and move the cursor of their queue on, if it is still where the caller saw it.
-- ARGV  1 now  2 queue  3 seen ('' = none yet)  4 the event to go on from  5 most that may be pending
--       6 ms that one of a thread is put off at most  then for each: id  what is to be sent  its thread ('' = none)
-- Returns 1, or 0 where the cursor has moved, the outbox is full, or it is not open.
--#include outbox
local queue, seen = ARGV[2], ARGV[3]
if call('HEXISTS', CURSORS, '') == 0 then return 0 end
if (call('HGET', CURSORS, queue) or '') ~= seen then return 0 end
if #ARGV > 6 and call('ZCARD', PENDING) + (#ARGV - 6) / 3 > tonumber(ARGV[5]) then return 0 end
for i = 7, #ARGV, 3 do
  local id, thread = ARGV[i], ARGV[i + 2]
  if call('HSETNX', DELIVERIES, id, ARGV[i + 1]) == 1 then
    mark(id, 0, text(now), '')
    local before = thread ~= '' and follow(thread, id)
    call('ZADD', PENDING, text(before and now + tonumber(ARGV[6]) or now), id)
  end
end
call('HSET', CURSORS, queue, ARGV[4])
return 1
