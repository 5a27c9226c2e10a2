-- desks.lua: which names may be desks, and which desks have counts of their own. Included by call.lua and desk.lua.
--#include count
--#include bounds
read({'desks'})
local NAMED = cjson.decode(Q.desks)
local TALLIES = {'called', 'wait_ms', 'came', 'claim_ms', 'served', 'service_ms', 'no_show'}

-- If a queue names its desks, no other name is one.
local function is_desk(name)
  for _, each in ipairs(NAMED) do
    if each == name then return true end
  end
  return #NAMED == 0
end

-- Add the counts of a desk to those of the others, so that the sum stays the same.
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

-- Whether a desk has counts of its own. A queue that names no desks counts MOST_DESKS of them. If there are that many
-- already, the desks that were last seen in an hour that is no longer kept make way: only their sums are left.
local function has_counts(name)
  if #NAMED > 0 or call('ZSCORE', DESKS, name) or call('ZCARD', DESKS) < MOST_DESKS then return true end
  local oldest = text(max(0, floor(now / HOUR_MS) - HOURS_KEPT) * HOUR_MS) -- closed ones are below 0
  for _, each in ipairs(call('ZRANGEBYSCORE', DESKS, '(-' .. oldest, '(' .. oldest)) do forget_desk(each) end
  return call('ZCARD', DESKS) < MOST_DESKS
end
