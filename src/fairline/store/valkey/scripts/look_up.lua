-- look_up.lua: read tickets, and change nothing.
-- ARGV  1 now  2… numbers
-- Returns for each: rank or -1, deadline or '', record or ''.
--#include queue
local reply = {}
if #ARGV > 1 then
  local records, dues = records_of(ARGV, 2), call('ZMSCORE', DUE, unpack(ARGV, 2))
  for i = 2, #ARGV do
    put(reply, ARGV[i], records[i - 1], dues[i - 1])
  end
end
return answer(reply)
