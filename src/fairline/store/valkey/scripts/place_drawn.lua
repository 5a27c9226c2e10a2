-- place_drawn.lua: give people the places that were drawn for them. A ticket that has a rank in this draw already keeps
-- its place: it may have moved in the line since.
-- ARGV  1 now  2 opening  3 for each, as three doubles: number, place, rank in the draw
-- Returns nothing. Someone who no longer waits has a rank all the same.
--#include step
local opening, drawn = ARGV[2], ARGV[3]
local numbers, records, lines, last_turns = {}, {}, {[LINE] = {}, [ON_HOLD] = {}}, {}

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

for i = 1, #drawn / 24 do numbers[i] = string.format('%d', (struct.unpack('<d', drawn, 24 * i - 23))) end
for i, record in ipairs(records_of(numbers, 1)) do
  if record then
    local place, rank = struct.unpack('<dd', drawn, 24 * i - 15)
    local changed, level, set = drawn_record(numbers[i], record, place, rank)
    if changed then
      records[#records + 1], records[#records + 2] = numbers[i], changed
      local line = lines[set]
      if line then line[#line + 1], line[#line + 2] = place, numbers[i] end
      if level > 0 then last_turns[level] = max(last_turns[level] or -PLACE_BAND, floor(place / PLACE_SPAN)) end
    end
  end
end
if #records > 0 then call('HSET', TICKETS, unpack(records)) end
for set, line in pairs(lines) do
  if #line > 0 then call('ZADD', set, 'XX', unpack(line)) end
end
for level, turn in pairs(last_turns) do
  local before = tonumber(call('HGET', QUEUE, 'turn:' .. level)) or -PLACE_BAND
  call('HSET', QUEUE, 'turn:' .. level, text(max(before, turn)))
end
return answer({})
