-- place_drawn.lua: give people the places that were drawn for them. Whoever has a rank in this draw already keeps their
-- place: they may have moved in the line since.
-- ARGV  1 now  2 opening  then, each as often as there are people: numbers, places, ranks in the draw
-- Returns nothing. Someone who no longer waits has a rank all the same.
--#include step
local many = (#ARGV - 2) / 3
local lines, records, last_turns = {[LINE] = {}, [ON_HOLD] = {}}, {}, {}
for i, record in ipairs(call('HMGET', TICKETS, unpack(ARGV, 3, many + 2))) do
  local t = record and unpack_ticket(ARGV[i + 2], record)
  if t and t.drawn_in ~= ARGV[2] then
    local place = ARGV[many + i + 2]
    t.place, t.rank, t.drawn_in = tonumber(place), tonumber(ARGV[2 * many + i + 2]), ARGV[2]
    records[#records + 1], records[#records + 2] = t.number, packed(t)
    local line = lines[set_of(t)]
    if line then line[#line + 1], line[#line + 2] = place, t.number end
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
