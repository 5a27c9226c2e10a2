-- keep_draw.lua: keep parts of what belongs to the draw of an opening.
-- KEYS  1… the queue's  21 draws
-- ARGV  1 now  2 opening  3 1 to leave a part as it is that is kept already  then for each: part  content
-- Returns for each: its content as it is kept.
--#include queue
local write, reply = ARGV[3] == '1' and 'HSETNX' or 'HSET', {}
for i = 4, #ARGV, 2 do
  local field = ARGV[2] .. ':' .. ARGV[i]
  call(write, KEYS[21], field, ARGV[i + 1])
  reply[#reply + 1] = ARGV[3] == '1' and call('HGET', KEYS[21], field) or ARGV[i + 1]
end
return answer(reply)
