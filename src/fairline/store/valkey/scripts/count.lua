-- count.lua: the counts and events of a step. Included by step.lua and join.lua.
--#include queue
--#include bounds

-- Writes the ages of those who left; ages.lua defines it.
local write_ages

local tally = {} -- the counts of this step, added to the statistics at its end
local function count(name, by)
  tally[name] = (tally[name] or 0) + (by or 1)
end

local now_text = text(now)
local function event(type, number, detail)
  call('XADD', EVENTS, 'MAXLEN', '~', EVENTS_KEPT, '*', 'type', type, 'at', now_text, 'ticket', number or '',
    'detail', detail or '')
end

-- A minute is one field: its counts, its waits, and how many waited and were inside at the last step in it.
local function write_minute(waiting, inside)
  local minute = floor(now / MINUTE_MS)
  local kept = call('HGET', MINUTES, minute)
  local counts = kept and cmsgpack.unpack(kept) or {}
  for name, by in pairs(tally) do
    if not string.find(name, ':', 1, true) or string.sub(name, 1, 5) == 'wait:' then
      counts[name] = (counts[name] or 0) + by
    end
  end
  counts.waiting, counts.inside = waiting, inside
  counts.peak = max(counts.peak or 0, waiting_before, waiting)
  call('HSET', MINUTES, minute, cmsgpack.pack(counts))
end

-- Add the counts and the longest line to those of this hour and to the totals.
local function write_tally(waiting)
  local hour, longest = 'h' .. text(floor(now / HOUR_MS)) .. ':', max(waiting_before, waiting)
  local names, fields, changed = {'peak'}, {}, {}
  for name in pairs(tally) do names[#names + 1] = name end
  for i, name in ipairs(names) do
    fields[2 * i - 1], fields[2 * i] = hour .. name, 'total:' .. name
  end
  for i, kept in ipairs(call('HMGET', STATS, unpack(fields))) do
    local before, by = tonumber(kept) or 0, tally[names[floor((i + 1) / 2)]]
    changed[2 * i - 1], changed[2 * i] = fields[i], text(by and before + by or max(before, longest))
  end
  call('HSET', STATS, unpack(changed))
end

function write_counts(waiting, inside)
  if not next(tally) then return end
  write_tally(waiting)
  write_minute(waiting, inside)
  if tally.admitted or tally.completed or tally.expired then -- otherwise none of these has changed
    call('HSET', QUEUE, 'completed', Q.completed or 0, 'stay_mean', Q.stay_mean or 0, 'stay_count', Q.stay_count or 0,
      'flow_left', Q.flow_left or 0, 'flow_called', Q.flow_called or 0, 'flow_inside', Q.flow_inside or 0,
      'flow_out', Q.flow_out or 0, 'head_joined', Q.head_joined or 0)
    if write_ages then write_ages() end
  end
  if tally.admitted then call('HSET', QUEUE, 'admitted_at', now_text) end
end
