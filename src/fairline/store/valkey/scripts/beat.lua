-- beat.lua: a sign of life from people who wait; their deadline moves on.
-- ARGV  1 now  2 1 if the signs may have come before they closed their page, else 0  3… numbers
-- Returns for each: rank or -1, deadline or '', record or ''. Whoever does not wait is only looked up; so is whoever has
-- closed the page, where the sign may have come before that.
--#include ticket
local reply, alive, due, late = {}, {}, waiting_due(), ARGV[2] == '1'
local due_text = due and text(due) or ''
local records = records_of(ARGV, 3)
for i = 3, #ARGV do
  local number, record = ARGV[i], records[i - 2]
  local is_waiting = record and string.byte(record, 1) == STATUS.waiting
  local is_leaving = is_waiting and string.byte(record, 4) % 2 == LEAVING
  if is_waiting and not (is_leaving and late) then
    if is_leaving then -- came back after the page was closed
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
