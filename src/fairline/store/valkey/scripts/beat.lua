-- beat.lua: a sign of life from people who wait; their deadline moves on.
-- ARGV  1 now  2… numbers
-- Returns for each: rank or -1, deadline or '', record or ''. Whoever does not wait is only looked up.
local reply, due = {}, waiting_due()
local due_text = due and text(due) or ''
for i = 2, #ARGV do
  local number = ARGV[i]
  local record = call('HGET', TICKETS, number)
  if record and string.byte(record, 1) == STATUS.waiting then
    if string.byte(record, 4) % 2 == LEAVING then -- came back after the page was closed
      local t = unpack_ticket(number, record)
      t.leaving = false
      record = save(t)
    end
    set_due(number, due)
    reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = call('ZRANK', LINE, number) or -1, due_text, record
  else
    put(reply, number, record)
  end
end
return answer(reply)
