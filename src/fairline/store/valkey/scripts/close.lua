-- close.lua: at the end of the day, end the tickets that joined before it and still wait; once for each day.
-- ARGV  1 now  2 the end of the day in ms  3 how many to read  4 cursor ('' = from the start)
-- Returns the cursor to continue from ('' = done), then the number of each ticket that was ended.
--#include step
--#include page
local ends, many, cursor = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local reply = {''}

if (tonumber(call('HGET', QUEUE, 'closed_day')) or 0) >= ends then return answer(reply) end
local next_cursor = turn_page({LINE, ON_HOLD}, 1, 2, cursor, many, function(number)
  local t = fetch(number)
  if t.joined <= ends then
    move(t, 'close', REASON_OF.close)
    reply[#reply + 1] = number
  end
end)
reply[1] = next_cursor or ''
if not next_cursor then call('HSET', QUEUE, 'closed_day', ends) end
return answer(reply)
