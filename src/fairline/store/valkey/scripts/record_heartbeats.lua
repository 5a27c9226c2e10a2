-- record_heartbeats.lua: people who wait gave a sign of life a moment ago; their deadline moves on.
-- ARGV  1 now  2… numbers
-- Returns nothing of them. Whoever does not wait any more, or has closed the page since, is left as they are.
--#include ticket
local alive, due = {}, waiting_due()
local due_text = due and text(due) or ''
for i, record in ipairs(records_of(ARGV, 2)) do
  local state, _, _, flags = string.byte(record or '', 1, 4)
  if state == STATUS.waiting and flags % 2 ~= LEAVING then
    if due then alive[#alive + 1] = due_text end
    alive[#alive + 1] = ARGV[i + 1]
  end
end
if #alive > 0 then call(due and 'ZADD' or 'ZREM', DUE, unpack(alive)) end
return answer({})
