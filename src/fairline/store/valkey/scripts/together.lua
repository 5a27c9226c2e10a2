-- together.lua: the next people in the line, with each group whole. Included by admit.lua and call.lua.
--#include step
--#include groups

-- Those of a group who are in the line, in the order of joining; someone without a group alone.
local function company_in_line(number)
  local first = call('HGET', GROUPS, number)
  if not first then return {number} end
  local there, numbers = {}, read_group(first)
  for i, place in ipairs(call('ZMSCORE', LINE, unpack(numbers))) do
    if place then there[#there + 1] = numbers[i] end
  end
  return there
end

-- The first `many` in the line. A group goes whole as soon as it is the turn of one of them, so they may be more than
-- `many`, but never more than there are free places. If a group does not fit, nobody behind it goes, so that its places
-- become free; only of a group that can never fit, those go who do.
local function next_in_line(many, free)
  local numbers = many > 0 and call('ZRANGE', LINE, 0, many - 1) or {}
  if (Q.groups or 0) == 0 then return numbers end
  local most = min(Q.max_active, Q.stock and Q.stock - (Q.completed or 0) or Q.max_active)
  local going, is_going = {}, {}
  for _, number in ipairs(numbers) do
    if #going >= many then break end
    local together = is_going[number] and {} or company_in_line(number)
    local room = free - #going
    if #together > room and (#going > 0 or #together <= most) then break end
    for i = 1, min(#together, room) do
      going[#going + 1] = together[i]
      is_going[together[i]] = true
    end
  end
  return going
end
