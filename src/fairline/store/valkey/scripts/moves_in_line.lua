-- moves_in_line.lua: whether a ticket may move in the line. Included by prioritise.lua and step_back.lua.
--#include step

-- Why it may not; nothing if it may. While an order is drawn nobody moves, and who waits together with others moves with
-- all of them or not at all.
local function reason_against_move(t, action)
  if not t then return 'missing' end
  if not goes_to(t, action) then return 'refused' end
  if Q.phase == 'drawing' then return 'held_back' end
  if has_company(t.number) then return 'in_group' end
end
