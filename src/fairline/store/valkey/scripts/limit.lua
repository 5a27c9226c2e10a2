-- limit.lua: count one try against a limit over a sliding window.
-- KEYS  1… the queue's, then the limit's
-- ARGV  1 now  2 limit  3 window in ms
-- Returns the ms until a try is allowed again; 0 means that this one was allowed and counted.
--#include queue
read({'created_at'})
local created = text(Q.created_at)
--#include sliding
local key, limit, window = KEYS[#KEYS], tonumber(ARGV[2]), tonumber(ARGV[3])
local wait = blocked(key, limit, window)
if wait == 0 then hit(key, window) end
return answer({text(wait)})
