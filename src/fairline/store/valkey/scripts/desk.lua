-- desk.lua: a desk says that it is open, or that it is not.
-- ARGV  1 now  2 its name  3 1 if it is open, else 0
-- Returns 'done', or why not: 'desk' and the names there are, or 'full' where there are too many desks.
--#include queue
--#include bounds
local name, open = ARGV[2], ARGV[3] == '1'
local desks = cjson.decode(call('HGET', QUEUE, 'counters') or '[]')
local found = #desks == 0
for _, each in ipairs(desks) do
  if each == name then found = true end
end
if not found then return answer({'desk', unpack(desks)}) end
if not call('ZSCORE', DESKS, name) and #desks == 0 and call('ZCARD', DESKS) >= MOST_DESKS then
  return answer({'full'})
end
call('ZADD', DESKS, open and now or -now, name)
-- The time between its last call and its next one says nothing of how fast it is.
call('HDEL', QUEUE, 'called:' .. name)
return answer({'done'})
