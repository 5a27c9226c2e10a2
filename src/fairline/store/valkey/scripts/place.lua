-- place.lua: the place a ticket takes in the line (reference: tests/model/order.py). Used by join.lua, prioritise.lua
-- and act.lua.
--#include bounds

local function place_of(turn, turns)
  return turn * PLACE_SPAN + min(turns - turn, PLACE_SPAN - 1)
end

local function taken(place)
  return call('ZCOUNT', LINE, place, place) + call('ZCOUNT', ON_HOLD, place, place) > 0
end

-- The place that goes ahead of `share` of the line, never before the last turn of an equal or higher level.
local function skip(turns, level, share)
  local function turn_at(rank)
    return floor(tonumber(call('ZRANGE', LINE, rank, rank, 'WITHSCORES')[2]) / PLACE_SPAN)
  end

  local waiting, turn = call('ZCARD', LINE), turns
  local rank = waiting - floor(share * waiting)
  if rank < waiting then
    turn = turn_at(rank) - 1
    if rank > 0 then turn = max(turn, turn_at(rank - 1)) end
  end
  local bottom = -PLACE_BAND
  for at = level, 3 do
    bottom = max(bottom, tonumber(call('HGET', QUEUE, 'turn:' .. at)) or -PLACE_BAND)
  end
  if turn <= bottom then
    turn = turns - bottom < PLACE_SPAN and bottom or bottom + 1
  end
  -- Places within one turn run out after PLACE_SPAN arrivals (or after a change from strict): then take the next turn.
  while turns - turn >= PLACE_SPAN - 1 and taken(place_of(turn, turns)) do
    turn = turn + 1
  end
  return place_of(turn, turns)
end

-- Some went ahead of this many people.
local function note_passed(many)
  if many <= 0 then return end
  Q.flow_passed, Q.passed_at = (Q.flow_passed or 0) + many, now
  call('HSET', QUEUE, 'flow_passed', Q.flow_passed, 'passed_at', now)
end

local function next_place(turns, level)
  if level == 0 then return turns * PLACE_SPAN end -- behind everyone
  read({'priority_policy', 'priority_skip'})
  local place
  if Q.priority_policy == 'strict' then
    place = place_of(turns, turns) - level * PLACE_BAND
  else
    place = skip(turns, level, cjson.decode(Q.priority_skip)[level + 1])
  end
  local last = tonumber(call('HGET', QUEUE, 'turn:' .. level)) or -PLACE_BAND
  call('HSET', QUEUE, 'turn:' .. level, max(last, floor(place / PLACE_SPAN)))
  return place
end
