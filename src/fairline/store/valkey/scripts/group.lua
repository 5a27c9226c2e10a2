-- group.lua: the group of someone who waits; someone who waits alone is one of their own.
-- ARGV  1 now  2 number
-- Returns the number of its first ticket, when that one had joined, and how many wait in it; nothing if they do not wait.
--#include ticket
--#include groups
local t = fetch(ARGV[2])
if not t or t.state ~= STATUS.waiting then return answer({}) end
local first = call('HGET', GROUPS, ARGV[2])
if not first then return answer({ARGV[2], text(t.joined), '1'}) end
local numbers, joined = read_group(first)
return answer({first, joined, text(#numbers)})
