-- list.lua: tickets in order, a page at a time: by place those who wait, then those who are held, by number the others.
-- ARGV  1 now  2 status ('' = all)  3 cursor ('' = from the start)  4 how many
-- Returns the cursor to go on from ('' = the end), then for each: number  rank  due  record.
-- A cursor is the part it is in and the score it has seen. A page looks at a bounded number of tickets, so one that
-- filters may be short and still not be the last.
--#include queue
local status, cursor, many = ARGV[2], ARGV[3], tonumber(ARGV[4])
local PARTS = {LINE, HELD, ADMITTED, ACTIVE, ENDED}
local PART_OF = {waiting = 1, admitted = 3, active = 4, completed = 5, expired = 5}
local LAST_OF = {waiting = 2}
local reply = {''}
local from, seen = string.match(cursor, '^(%d):(.+)$')
local part = tonumber(from) or PART_OF[status] or 1
local last = LAST_OF[status] or PART_OF[status] or 5
local after = seen and '(' .. seen or '-inf'

while part <= last and many > 0 do
  local found = call('ZRANGEBYSCORE', PARTS[part], after, '+inf', 'WITHSCORES', 'LIMIT', 0, many)
  for i = 1, #found, 2 do
    local number, record = found[i], call('HGET', TICKETS, found[i])
    if status == '' or string.byte(record, 1) == STATUS[status] then
      reply[#reply + 1] = number
      put(reply, number, record)
    end
    reply[1] = part .. ':' .. found[i + 1]
  end
  many = many - #found / 2
  if many > 0 then
    part, after = part + 1, '-inf'
  end
end
if part > last then reply[1] = '' end
return answer(reply)
