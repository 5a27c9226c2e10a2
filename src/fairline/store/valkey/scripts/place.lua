-- place.lua: the place of a ticket in the line (reference: tests/model/order.py). Used by join.lua and prioritise.lua.
local SPAN, BAND = 2 ^ 24, 2 ^ 51

local function place_of(turn, turns)
  return turn * SPAN + min(turns - turn, SPAN - 1)
end

-- The place that goes ahead of `share` of the line, never before the last turn of an equal or higher level.
local function skip(turns, level, share)
  local function turn_at(rank)
    return floor(tonumber(call('ZRANGE', LINE, rank, rank, 'WITHSCORES')[2]) / SPAN)
  end

  local function taken(place)
    return call('ZCOUNT', LINE, place, place) + call('ZCOUNT', ON_HOLD, place, place) > 0
  end

  local waiting, turn = call('ZCARD', LINE), turns
  local rank = waiting - floor(share * waiting)
  if rank < waiting then
    turn = turn_at(rank) - 1
    if rank > 0 then turn = max(turn, turn_at(rank - 1)) end
  end
  local bottom = -BAND
  for at = level, 3 do
    bottom = max(bottom, tonumber(call('HGET', QUEUE, 'turn:' .. at)) or -BAND)
  end
  if turn <= bottom then
    turn = turns - bottom < SPAN and bottom or bottom + 1
  end
  -- Places within one turn run out after SPAN arrivals (or a change from strict): take the next turn then.
  while turns - turn >= SPAN - 1 and taken(place_of(turn, turns)) do
    turn = turn + 1
  end
  return place_of(turn, turns)
end

local function next_place(turns, level)
  if level == 0 then return turns * SPAN end -- behind everyone
  local policy, shares = unpack(call('HMGET', QUEUE, 'priority_policy', 'priority_skip'))
  local place
  if policy == 'strict' then
    place = place_of(turns, turns) - level * BAND
  else
    place = skip(turns, level, cjson.decode(shares)[level + 1])
  end
  local last = tonumber(call('HGET', QUEUE, 'turn:' .. level)) or -BAND
  call('HSET', QUEUE, 'turn:' .. level, max(last, floor(place / SPAN)))
  return place
end
