-- freeze_draw.lua: write down who is in the draw of an opening: those who wait and are not past their deadline. The
-- next turns of the line are set aside for them, so that everyone who joins later is behind. It is done once: after
-- that the answer is the same.
-- KEYS  1… the queue's  20 draws  21 members
-- ARGV  1 now  2 opening
-- Returns how many they are, and the first of their turns.
--#include queue
local DRAWS, MEMBERS, field = KEYS[20], KEYS[21], ARGV[2] .. ':frozen'
read({'number', 'moves'})
local kept = call('HGET', DRAWS, field)
if not kept then
  call('ZUNIONSTORE', MEMBERS, 2, LINE, ON_HOLD)
  local overdue = call('ZRANGEBYSCORE', DUE, '-inf', clock)
  for i = 1, #overdue, 1000 do
    call('ZREM', MEMBERS, unpack(overdue, i, min(i + 999, #overdue)))
  end
  local count, moves = call('ZCARD', MEMBERS), Q.moves or 0
  kept = text(count) .. ' ' .. text((Q.number or 0) + moves + 1)
  call('HSET', QUEUE, 'moves', text(moves + count))
  call('HSET', DRAWS, field, kept)
end
return answer({kept})
