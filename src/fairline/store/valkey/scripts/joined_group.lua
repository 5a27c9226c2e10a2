-- joined_group.lua: an arrival that joins the group of someone who waits. Included by join.lua.
--#include groups

-- Why an arrival cannot join the group that it names; nothing if it can, and then its place, its level and the group are
-- noted with it. After the draw of an opening nobody can: they would have a place that was drawn for somebody else.
local function reason_against_group(extra)
  if (Q.group_size or 0) == 0 then return 'group_off' end
  local first, joined = string.match(extra.group, '^(%d+):(%d+)$')
  local numbers, kept = read_group(first)
  if #numbers == 0 then numbers, kept = {first}, joined end
  if kept ~= joined or Q.phase == 'drawing' then return 'group_gone' end
  local least, level
  for _, record in ipairs(records_of(numbers, 1)) do
    local state, _, at_level, flags, place, at, _, _, _, _, after = struct.unpack(HEAD, record or string.rep('\0', 25))
    if state ~= STATUS.waiting or #numbers == 1 and numbers[1] == first and text(at) ~= joined then
      return 'group_gone'
    end
    if flags % 8 >= HAS_EXTRA then
      local _, _, rank = struct.unpack(EXTRA_PART, record, after)
      if rank > 0 then return 'group_gone' end
    end
    if not least or place < least then least, level = place, at_level end
  end
  if #numbers >= Q.group_size then return 'group_full' end
  local place = place_beside(least)
  while taken(place) do place = place + 1 end
  extra.level, extra.beside = level, {first = first, joined = joined, numbers = numbers, place = place}
end

local function add_to_group(number, beside)
  local first, numbers = beside.first, beside.numbers
  local added = call('HSET', GROUPS, number, first)
  if #numbers == 1 and numbers[1] == first then added = added + call('HSET', GROUPS, first, first) end
  numbers[#numbers + 1] = text(number)
  write_group(first, beside.joined, numbers)
  Q.groups = call('HINCRBY', QUEUE, 'groups', added)
end
