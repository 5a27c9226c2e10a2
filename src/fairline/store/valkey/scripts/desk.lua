-- desk.lua: a desk says that it is open, or that it is not.
-- ARGV  1 now  2 its name  3 1 if it is open, else 0
-- Returns 'done', or why not: 'desk' and the names there are, or 'full' where there are too many desks.
--#include queue
--#include desks
local name, open = ARGV[2], ARGV[3] == '1'
if not is_desk(name) then return answer({'desk', unpack(NAMED)}) end
if not has_place(name) then return answer({'full'}) end
call('ZADD', DESKS, open and now or -now, name)
-- The time between its last call and its next one says nothing of how fast it is.
call('HDEL', QUEUE, 'called:' .. name)
return answer({'done'})
