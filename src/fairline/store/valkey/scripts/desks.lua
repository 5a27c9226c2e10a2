-- desks.lua: which names may be desks, and of which there are figures. Included by call.lua and desk.lua.
--#include count
--#include bounds
local NAMED = cjson.decode(call('HGET', QUEUE, 'desks') or '[]')
local TALLIES = {'called', 'wait_ms', 'came', 'claim_ms', 'served', 'service_ms', 'no_show'}

-- Where a queue names its desks, no other will do.
local function is_desk(name)
  for _, each in ipairs(NAMED) do
    if each == name then return true end
  end
  return #NAMED == 0
end

-- What a desk did so far goes to the others, so that the sum stays what it was.
local function forget_desk(name)
  call('ZREM', DESKS, name)
  call('HDEL', QUEUE, 'called:' .. name)
  if name == 'other' then return end
  for _, what in ipairs(TALLIES) do
    local field = 'total:desk:' .. what .. ':' .. name
    local counted = call('HGET', STATS, field)
    if counted then
      call('HINCRBY', STATS, 'total:desk:' .. what .. ':other', counted)
      call('HDEL', STATS, field)
    end
  end
end

-- Where any name will do, there are figures for so many of them. If there is no room for one more, those are forgotten
-- that were last seen in an hour that is not kept any more: all that is left of them is what they did so far.
local function has_place(name)
  if #NAMED > 0 or call('ZSCORE', DESKS, name) or call('ZCARD', DESKS) < MOST_DESKS then return true end
  local oldest = text(max(0, floor(now / HOUR_MS) - HOURS_KEPT) * HOUR_MS) -- closed ones are below 0
  for _, each in ipairs(call('ZRANGEBYSCORE', DESKS, '(-' .. oldest, '(' .. oldest)) do forget_desk(each) end
  return call('ZCARD', DESKS) < MOST_DESKS
end
