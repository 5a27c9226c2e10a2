-- place_drawn.lua: give people the places that were drawn for them. Doing it again changes nothing.
-- ARGV  1 now  2 opening  then for each: number  place  rank in the draw
-- Returns nothing. Someone who no longer waits has a rank all the same.
--#include step
local lines = {[LINE] = {}, [ON_HOLD] = {}}
local last_turns = {}
for i = 3, #ARGV, 3 do
  local t = fetch(ARGV[i])
  if t then
    t.place, t.rank, t.drawn_in = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[2]
    save(t)
    local line = lines[set_of(t)]
    if line then line[#line + 1], line[#line + 2] = ARGV[i + 1], ARGV[i] end
    if t.level > 0 then
      last_turns[t.level] = max(last_turns[t.level] or -PLACE_BAND, floor(t.place / PLACE_SPAN))
    end
  end
end
for set, line in pairs(lines) do
  if #line > 0 then call('ZADD', set, 'XX', unpack(line)) end
end
for level, turn in pairs(last_turns) do
  local before = tonumber(call('HGET', QUEUE, 'turn:' .. level)) or -PLACE_BAND
  call('HSET', QUEUE, 'turn:' .. level, text(max(before, turn)))
end
return answer({})
