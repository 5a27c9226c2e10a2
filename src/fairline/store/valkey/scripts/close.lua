-- close.lua: at the end of the day, end everyone who still waits and joined before it; once for each day.
-- ARGV  1 now  2 the end of the day in ms  3 how many to look at  4 cursor ('' = from the start)
-- Returns the cursor to go on from ('' = all is done), then the number of each ticket that was ended.
--#include step
local ends, many, cursor = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local PARTS = {LINE, HELD}
local part, seen = string.match(cursor, '^(%d):(.+)$')
part = tonumber(part) or 1
local after = seen and '(' .. seen or '-inf'
local reply = {''}

if (tonumber(call('HGET', QUEUE, 'closed_day')) or 0) >= ends then return answer(reply) end
while part <= 2 and many > 0 do
  local found = call('ZRANGEBYSCORE', PARTS[part], after, '+inf', 'WITHSCORES', 'LIMIT', 0, many)
  for i = 1, #found, 2 do
    local t = fetch(found[i])
    if t.joined <= ends then
      move(t, 'close', REASON_OF.close)
      reply[#reply + 1] = t.number
    end
    reply[1] = part .. ':' .. found[i + 1]
  end
  many = many - #found / 2
  if many > 0 then
    part, after = part + 1, '-inf'
  end
end
if part > 2 then
  reply[1] = ''
  call('HSET', QUEUE, 'closed_day', ends)
end
return answer(reply)
