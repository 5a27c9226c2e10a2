-- outbox_open.lua: create an outbox, unless it exists.
-- ARGV  1 now  then for each queue: its name  the event to continue from
-- Returns 1; 0 if it exists.
--#include outbox
if call('HSETNX', CURSORS, '', text(now)) == 0 then return 0 end
for i = 2, #ARGV, 2 do
  call('HSET', CURSORS, ARGV[i], ARGV[i + 1])
end
return 1
