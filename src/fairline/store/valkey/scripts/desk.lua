-- desk.lua: a desk opens, or closes.
-- ARGV  1 now  2 its name  3 1 if it is open, else 0
-- Returns 'done', or why not: 'desk' and the queue's desks, or 'full' if there are too many desks.
--#include queue
--#include slowed
--#include desks
local name, open = ARGV[2], ARGV[3] == '1'
if not is_desk(name) then return answer({'desk', unpack(NAMED)}) end
if not has_counts(name) then return answer({'full'}) end
if not open and (tonumber(call('ZSCORE', DESKS, name)) or 0) > 0 then note_slowed(CAUSE.desk_closed) end
call('ZADD', DESKS, open and now or -now, name)
-- The time from its last call to its next one says nothing about how fast it is.
call('HDEL', QUEUE, 'called:' .. name)
return answer({'done'})
