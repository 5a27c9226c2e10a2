-- groups.lua: people who wait as a group. They stand beside each other in the line, and go in together. Included by
-- step.lua, and by join.lua, freeze_draw.lua and group.lua.
-- GROUPS has of everyone in a group the number of its first ticket, who gave the code; `g` and that number has when the
-- first joined and who waits in the group, in the order of joining; `d` and the number of a ticket that is in a draw for
-- its group has the number of the first too. Q.groups is how many people are in groups: without any, nothing is read.
--#include queue
local GROUPS = KEYS[20]

-- Who waits in a group, and when its first had joined.
local function read_group(first)
  local joined, list = string.match(call('HGET', GROUPS, 'g' .. first) or '', '^(%d+):(.*)$')
  local numbers = {}
  for number in string.gmatch(list or '', '%d+') do numbers[#numbers + 1] = number end
  return numbers, joined
end

local function write_group(first, joined, numbers)
  if #numbers > 0 then
    call('HSET', GROUPS, 'g' .. first, joined .. ':' .. table.concat(numbers, ','))
  else
    call('HDEL', GROUPS, 'g' .. first)
  end
end

-- Someone in a group no longer waits. The others keep their places, and the code goes on working for them.
local function leave_group(number)
  local first = call('HGET', GROUPS, number)
  if not first then return end
  local numbers, joined = read_group(first)
  local others = {}
  for _, each in ipairs(numbers) do
    if tonumber(each) ~= tonumber(number) then others[#others + 1] = each end
  end
  call('HDEL', GROUPS, number)
  write_group(first, joined, others)
  Q.groups = call('HINCRBY', QUEUE, 'groups', -1)
end

-- The first of a group waits again, whose code it is: they are in it again.
local function rejoin_group(number)
  local numbers, joined = read_group(number)
  if #numbers == 0 then return end
  call('HSET', GROUPS, number, number)
  table.insert(numbers, 1, number)
  write_group(number, joined, numbers)
  Q.groups = call('HINCRBY', QUEUE, 'groups', 1)
end

-- Whether someone waits together with others.
local function has_company(number)
  local first = (Q.groups or 0) > 0 and call('HGET', GROUPS, number)
  return first and #read_group(first) > 1
end

-- The place of one more in a group, in the turn of this place: behind those who have a place in that turn of their own.
local function place_beside(place)
  return floor(place / PLACE_SPAN) * PLACE_SPAN + PLACE_SPAN / 2
end
