-- sliding.lua: a limit over a sliding window: at most so many in any window, exactly. A list holds the times of the
-- hits still inside it, each with `created`, the moment at which its queue was: those of a queue that had the name before
-- do not count. The expiry only clears away what no longer counts. Included by join.lua, limit.lua and try.lua.

local function time_of(hit)
  local time, of = string.match(hit, '^([^:]+):?(.*)$')
  return of == created and tonumber(time) or 0
end

-- How long until one more is allowed, in ms; 0 is now.
local function blocked(key, limit, window)
  local oldest = call('LINDEX', key, 0)
  while oldest and time_of(oldest) <= now - window do
    call('LPOP', key)
    oldest = call('LINDEX', key, 0)
  end
  if call('LLEN', key) < limit then return 0 end
  -- After a limit was lowered there may be more hits than it allows: as many as must leave first.
  return time_of(call('LINDEX', key, -limit)) + window - now
end

local function hit(key, window)
  call('RPUSH', key, text(now) .. ':' .. created)
  call('PEXPIRE', key, text(window))
end
