-- sliding.lua: a limit over a sliding window: at most so many in any window, exactly. A list holds the times of the
-- hits still inside it. The expiry only clears away what no longer counts. Included by join.lua,
-- limit.lua and try.lua.

-- How long until one more is allowed, in ms; 0 is now. Hits before `from` were in a queue that had the name before.
local function blocked(key, limit, window, from)
  local gone = math.max(now - window, from and from <= now and from - 1 or 0)
  local oldest = call('LINDEX', key, 0)
  while oldest and tonumber(oldest) <= gone do
    call('LPOP', key)
    oldest = call('LINDEX', key, 0)
  end
  if call('LLEN', key) < limit then return 0 end
  -- After a limit was lowered there may be more hits than it allows: as many as must leave first.
  return tonumber(call('LINDEX', key, -limit)) + window - now
end

local function hit(key, window)
  call('RPUSH', key, now)
  call('PEXPIRE', key, text(window))
end
