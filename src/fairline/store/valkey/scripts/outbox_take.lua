-- outbox_take.lua: add deliveries and advance the cursor of their queue, if it is still where the caller saw it.
-- ARGV  1 now  2 queue  3 seen ('' = none yet)  4 the event to continue from  5 the most that may be pending
--       6 the most ms for which one delivery of a thread waits for the one before it
--       then for each: id  payload  its thread ('' = none)
-- Returns 1; 0 if the cursor has moved, or the outbox is full or not open.
--#include outbox
local queue, seen = ARGV[2], ARGV[3]
if call('HEXISTS', CURSORS, '') == 0 then return 0 end
if (call('HGET', CURSORS, queue) or '') ~= seen then return 0 end
if #ARGV > 6 and call('ZCARD', PENDING) + (#ARGV - 6) / 3 > tonumber(ARGV[5]) then return 0 end
for i = 7, #ARGV, 3 do
  local id, thread = ARGV[i], ARGV[i + 2]
  if call('HSETNX', DELIVERIES, id, ARGV[i + 1]) == 1 then
    mark(id, 0, text(now), '')
    local before = thread ~= '' and append(thread, id)
    call('ZADD', PENDING, text(before and now + tonumber(ARGV[6]) or now), id)
  end
end
call('HSET', CURSORS, queue, ARGV[4])
return 1
