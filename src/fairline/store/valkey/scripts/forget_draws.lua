-- forget_draws.lua: remove all that is kept of the draws of some openings.
-- KEYS  1… the queue's  21 draws
-- ARGV  1 now  2… openings
-- Returns nothing.
--#include queue
local gone = {}
for i = 2, #ARGV do gone[ARGV[i]] = true end
for _, field in ipairs(call('HKEYS', KEYS[21])) do
  if gone[string.match(field, '^[^:]*')] then call('HDEL', KEYS[21], field) end
end
return answer({})
