-- try.lua: count one try at something that belongs to the server, such as signing in, against a limit over a sliding
-- window.
-- KEYS  1 the limit's
-- ARGV  1 now in ms  2 limit  3 window in ms
-- Returns the ms until a try is allowed again; 0 means that this one was allowed and counted.
local call = redis.call
local now = tonumber(ARGV[1])
local function text(number)
  return string.format('%.17g', number)
end
local created = ''
--#include sliding
local wait = blocked(KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
if wait == 0 then hit(KEYS[1], tonumber(ARGV[3])) end
return wait
