-- arriving.lua: the tickets that are on hold until their holders have left the queue they come from, by number.
-- ARGV  1 now  2 how many
-- Returns for each: where it comes from (packed)  number  rank  due  record.
--#include queue
local reply, numbers = {}, call('HKEYS', ARRIVING)
table.sort(numbers, function(a, b) return tonumber(a) < tonumber(b) end)
for i = 1, min(#numbers, tonumber(ARGV[2])) do
  reply[#reply + 1], reply[#reply + 2] = call('HGET', ARRIVING, numbers[i]), numbers[i]
  put(reply, numbers[i], call('HGET', TICKETS, numbers[i]))
end
return answer(reply)
