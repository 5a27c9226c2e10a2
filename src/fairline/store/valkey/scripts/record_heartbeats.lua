-- record_heartbeats.lua: write down heartbeats of a moment ago: the deadlines of people who wait are extended.
-- ARGV  1 now  2… numbers
-- Returns nothing. A ticket that no longer waits, or whose page was closed since, is left as it is.
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
if #alive > 0 then
  if due then call('ZADD', DUE, 'GT', unpack(alive)) else call('ZREM', DUE, unpack(alive)) end
end
return answer({})
