-- heartbeat.lua: a heartbeat of people who wait: their deadlines are extended, and never shortened.
-- ARGV  1 now  2 1 if their pages are closing: the places are kept for closed_page_seconds  3… numbers
-- Returns for each: rank or -1, deadline or '', record or ''. A ticket that does not wait is only read; nor does the
-- page of someone who has just left bring them back by closing.
--#include ticket
local reply, alive, numbers, due = {}, {}, {}, waiting_due()
local closing = ARGV[2] == '1'
if due and closing then due = max(due, clock + Q.closed_page_seconds * 1000) end
local due_text = due and text(due) or ''
local records = records_of(ARGV, 3)
for i = 3, #ARGV do
  local number, record = ARGV[i], records[i - 2]
  if record and string.byte(record, 1) == STATUS.waiting then
    local left = string.byte(record, 4) % 2 == LEAVING
    if left and not closing then -- came back
      local t = fetch(number)
      t.leaving = false
      records[i - 2] = save(t)
    end
    if not (left and closing) then
      if due then alive[#alive + 1] = due_text end
      alive[#alive + 1] = number
    end
  end
  numbers[#numbers + 1] = number
end
if #alive > 0 then
  if due then call('ZADD', DUE, 'GT', unpack(alive)) else call('ZREM', DUE, unpack(alive)) end
end
for i, number in ipairs(numbers) do
  put(reply, number, records[i])
end
return answer(reply)
