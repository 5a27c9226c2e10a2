-- outbox_open.lua: make an outbox that is not there yet.
-- ARGV  1 now  then for each queue: its name  the event to go on from
-- Returns 1, or 0 where there is one already.
--#include outbox
if call('HSETNX', CURSORS, '', text(now)) == 0 then return 0 end
for i = 2, #ARGV, 2 do
  call('HSET', CURSORS, ARGV[i], ARGV[i + 1])
end
return 1
