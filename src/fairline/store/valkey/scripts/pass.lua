-- pass.lua: issue or withdraw a priority pass. Kept are the uses it has, and how many of them were made.
-- ARGV  1 now  2 pass id  3 level ('' = withdraw)  4 uses  5 expires in ms
-- Returns 1; 0 if there was nothing to withdraw.
--#include queue
local id, level = ARGV[2], ARGV[3]
if level == '' then
  local ends = tonumber(string.match(call('HGET', PASSES, id) or '', '%d+$')) or 0
  call('ZREM', DUE, 'p' .. id)
  call('HDEL', PASSES, id)
  return answer({ends > now and 1 or 0})
end
local lasts = tonumber(ARGV[5])
call('HSET', PASSES, id, level .. ' ' .. ARGV[4] .. ' 0 ' .. text(now + lasts))
call('ZADD', DUE, clock + lasts, 'p' .. id)
return answer({1})
