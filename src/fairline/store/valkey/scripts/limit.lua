-- limit.lua: count one try against a limit over a sliding window.
-- KEYS  1–14 the queue's  15 the limit's
-- ARGV  1 now  2 limit  3 window in ms
-- Returns the ms until it is allowed again; 0 means it was allowed, and counted.
--#include sliding
local wait = blocked(KEYS[15], tonumber(ARGV[2]), tonumber(ARGV[3]))
if wait == 0 then hit(KEYS[15], tonumber(ARGV[3])) end
return answer({text(wait)})
