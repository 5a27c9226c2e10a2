-- place_drawn.lua: give people the places that were drawn for them. Whoever has a rank in this draw already keeps their
-- place: they may have moved in the line since.
-- ARGV  1 now  2 opening  3 for each, as three doubles: number, place, rank in the draw
-- Returns nothing. Someone who no longer waits has a rank all the same.
--#include step
local opening, drawn = ARGV[2], ARGV[3]
local numbers, records, lines, last_turns = {}, {}, {[LINE] = {}, [ON_HOLD] = {}}, {}
for i = 1, #drawn / 24 do numbers[i] = string.format('%d', (struct.unpack('<d', drawn, 24 * i - 23))) end
for i, record in ipairs(records_of(numbers, 1)) do
  local t = record and unpack_ticket(numbers[i], record)
  if t and t.drawn_in ~= opening then
    t.place, t.rank = struct.unpack('<dd', drawn, 24 * i - 15)
    t.drawn_in = opening
    records[#records + 1], records[#records + 2] = t.number, packed(t)
    local line = lines[set_of(t)]
    if line then line[#line + 1], line[#line + 2] = t.place, t.number end
    if t.level > 0 then
      last_turns[t.level] = max(last_turns[t.level] or -PLACE_BAND, floor(t.place / PLACE_SPAN))
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
