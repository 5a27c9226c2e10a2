-- place_drawn.lua: give people the places that were drawn for them. A ticket that has a rank in this draw already keeps
-- its place: it may have moved in the line since.
-- KEYS  1… the queue's  21 draws
-- ARGV  1 now  2 opening  3 for each, as three doubles: number, place, rank in the draw
-- Returns nothing. Someone who no longer waits has a rank all the same.
--#include step
local opening, drawn = ARGV[2], ARGV[3]
local numbers, places, ranks, last_turns = {}, {}, {}, {}

-- The record of a ticket with its place and rank, its level, and the set it is in; nil if it has a rank already. Nearly
-- all wait and have nothing but a head, of which only the flags and the place change.
local function drawn_record(number, record, place, rank)
  local state, _, level, flags = string.byte(record, 1, 4)
  if state == STATUS.waiting and flags % 8 < HAS_EXTRA then
    local changed = string.sub(record, 1, 3) .. struct.pack('<Bd', flags + HAS_EXTRA, place) .. string.sub(record, 13)
      .. struct.pack(EXTRA_PART, 0, 0, '', rank, #opening, opening)
    return changed, level, flags % 4 >= IS_ON_HOLD and ON_HOLD or LINE
  end
  local t = unpack_ticket(number, record)
  if t.drawn_in == opening then return nil end
  t.place, t.rank, t.drawn_in = place, rank, opening
  return packed(t), t.level, set_of(t)
end

-- The others of a group get places beside the one who was in the draw for all of them, and the same rank.
local function add_company(number, first, place, rank)
  local beside = place_beside(place)
  for i, other in ipairs((read_group(first))) do
    if other ~= number then
      call('HSETNX', KEYS[21], opening .. ':for:' .. other, number)
      numbers[#numbers + 1], places[#places + 1], ranks[#ranks + 1] = other, beside + i, rank
    end
  end
end

for i = 1, #drawn / 24 do
  local number, place, rank = struct.unpack('<ddd', drawn, 24 * i - 23)
  numbers[i], places[i], ranks[i] = string.format('%d', number), place, rank
end
if (Q.groups or 0) > 0 then
  for i = 1, #drawn / 24 do
    local first = call('HGET', GROUPS, 'd' .. numbers[i])
    if first then add_company(numbers[i], first, places[i], ranks[i]) end
  end
end
-- Some of them at a time: groups may make them more than one command takes.
local AT_ONCE = 1000
local function place_some(from)
  local written, lines = {}, {[LINE] = {}, [ON_HOLD] = {}}
  local some = {unpack(numbers, from, min(from + AT_ONCE - 1, #numbers))}
  for at, record in ipairs(records_of(some, 1)) do
    if record then
      local i = from + at - 1
      local changed, level, set = drawn_record(numbers[i], record, places[i], ranks[i])
      if changed then
        written[#written + 1], written[#written + 2] = numbers[i], changed
        local line = lines[set]
        if line then line[#line + 1], line[#line + 2] = places[i], numbers[i] end
        if level > 0 then
          last_turns[level] = max(last_turns[level] or -PLACE_BAND, floor(places[i] / PLACE_SPAN))
        end
      end
    end
  end
  if #written > 0 then call('HSET', TICKETS, unpack(written)) end
  for set, line in pairs(lines) do
    if #line > 0 then call('ZADD', set, 'XX', unpack(line)) end
  end
end
for from = 1, #numbers, AT_ONCE do place_some(from) end
for level, turn in pairs(last_turns) do
  local before = tonumber(call('HGET', QUEUE, 'turn:' .. level)) or -PLACE_BAND
  call('HSET', QUEUE, 'turn:' .. level, text(max(before, turn)))
end
return answer({})
