-- delete.lua: remove a queue with all its tickets.
-- KEYS  1… all keys of the queue
-- ARGV  1 now  2 version expected ('' = any)
-- Returns the version found. The queue was removed if it is the one expected.
--#include queue
local found = answer({text(Q.version)})
if ARGV[2] == '' or Q.version == tonumber(ARGV[2]) then
  for _, key in ipairs(KEYS) do call('UNLINK', key) end
end
return found
