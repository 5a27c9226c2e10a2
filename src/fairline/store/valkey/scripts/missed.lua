-- missed.lua: the people who were called and did not come, newest tickets first.
-- ARGV  1 now  2 ended at this time or later, in ms  3 how many  4 how many ended tickets to read
-- Returns for each: number  rank  due  record.
--#include step
local since, many = tonumber(ARGV[2]), tonumber(ARGV[3])
local reply, found = {}, 0
for _, number in ipairs(call('ZREVRANGE', ENDED, 0, tonumber(ARGV[4]) - 1)) do
  local t = found < many and fetch(number)
  local why = t and REASON[t.reason]
  if (why == 'no_show' or why == 'claim_timeout') and t.ended >= since then
    found = found + 1
    reply[#reply + 1] = number
    put(reply, number, call('HGET', TICKETS, number))
  end
end
return answer(reply)
