-- heartbeat.lua: a heartbeat of people who wait: their deadlines are extended.
-- ARGV  1 now  2… numbers
-- Returns for each: rank or -1, deadline or '', record or ''. A ticket that does not wait is only read.
--#include ticket
local reply, alive, due = {}, {}, waiting_due()
local due_text = due and text(due) or ''
local records = records_of(ARGV, 2)
for i = 2, #ARGV do
  local number, record = ARGV[i], records[i - 1]
  if record and string.byte(record, 1) == STATUS.waiting then
    if string.byte(record, 4) % 2 == LEAVING then -- came back after the page was closed
      local t = fetch(number)
      t.leaving = false
      record = save(t)
    end
    if due then alive[#alive + 1] = due_text end
    alive[#alive + 1] = number
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = call('ZRANK', LINE, number) or -1, due_text, record
  else
    put(reply, number, record)
  end
end
if #alive > 0 then call(due and 'ZADD' or 'ZREM', DUE, unpack(alive)) end
return answer(reply)
