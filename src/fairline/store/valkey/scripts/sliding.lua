-- sliding.lua: an exact limit over a sliding window: no window has more hits than the limit. Included by join.lua,
-- limit.lua and try.lua.
-- A list holds the times of the hits inside the window, each with `created`, the time at which its queue was created:
-- hits of an earlier queue of the same name do not count. The expiry only clears away what no longer counts.

local function time_of(hit)
  local time, of = string.match(hit, '^([^:]+):?(.*)$')
  return of == created and tonumber(time) or 0
end

-- The ms until one more hit is allowed; 0 is now.
local function blocked(key, limit, window)
  local oldest = call('LINDEX', key, 0)
  while oldest and time_of(oldest) <= now - window do
    call('LPOP', key)
    oldest = call('LINDEX', key, 0)
  end
  if call('LLEN', key) < limit then return 0 end
  -- After a limit was lowered there may be more hits than it allows. Then wait until enough of them have left.
  return time_of(call('LINDEX', key, -limit)) + window - now
end

local function hit(key, window)
  call('RPUSH', key, text(now) .. ':' .. created)
  call('PEXPIRE', key, text(window))
end
