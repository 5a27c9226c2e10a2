-- freeze_draw.lua: write down who is in the draw of an opening: those who wait and are not past their deadline. The
-- next turns of the line are set aside for them, so that everyone who joins later is behind. It is done once: after
-- that the answer is the same.
-- KEYS  1… the queue's  21 draws  22 members
-- ARGV  1 now  2 opening
-- Returns how many they are, and the first of their turns.
--#include queue
--#include groups
local DRAWS, MEMBERS, field = KEYS[21], KEYS[22], ARGV[2] .. ':frozen'
read({'number', 'moves'})

-- A group is in the draw once: by the first of them who is in it.
local function draw_groups_once()
  for _, name in ipairs(call('HKEYS', GROUPS)) do
    local kind, first = string.sub(name, 1, 1), string.sub(name, 2)
    if kind == 'd' then call('HDEL', GROUPS, name) end
    if kind == 'g' then
      local numbers, entry = read_group(first), nil
      for i, place in ipairs(call('ZMSCORE', MEMBERS, unpack(numbers))) do
        if place and entry then call('ZREM', MEMBERS, numbers[i]) end
        entry = entry or place and numbers[i]
      end
      if entry then call('HSET', GROUPS, 'd' .. entry, first) end
    end
  end
end

local kept = call('HGET', DRAWS, field)
if not kept then
  call('ZUNIONSTORE', MEMBERS, 2, LINE, ON_HOLD)
  local overdue = call('ZRANGEBYSCORE', DUE, '-inf', clock)
  for i = 1, #overdue, 1000 do
    call('ZREM', MEMBERS, unpack(overdue, i, min(i + 999, #overdue)))
  end
  draw_groups_once()
  local count, moves = call('ZCARD', MEMBERS), Q.moves or 0
  kept = text(count) .. ' ' .. text((Q.number or 0) + moves + 1)
  call('HSET', QUEUE, 'moves', text(moves + count))
  call('HSET', DRAWS, field, kept)
end
return answer({kept})
