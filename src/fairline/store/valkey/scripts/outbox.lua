-- outbox.lua: the beginning of every script on an outbox: its keys and its clock. Included by outbox_open.lua,
-- outbox_take.lua, outbox_due.lua, outbox_claim.lua, outbox_settle.lua, outbox_replay.lua and outbox_list.lua.
-- KEYS  1 cursors  2 deliveries  3 marks  4 pending  5 dead  6 threads
local CURSORS, DELIVERIES, MARKS, PENDING, DEAD, THREADS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local call = redis.call

local function text(number)
  return string.format('%.17g', number)
end

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- The mark of a delivery: how many tries it had, when it was made, the last try's error.
local function mark_of(id)
  local tries, made, error = string.match(call('HGET', MARKS, id) or '', '^(%d+) (%d+) (.*)$')
  return tonumber(tries), made, error
end

local function mark(id, tries, made, error)
  call('HSET', MARKS, id, text(tries) .. ' ' .. made .. ' ' .. error)
end

-- Add a delivery at the end of its thread; returns the one before it. Of a thread, its last delivery is kept, and of
-- each delivery its thread and the next one, until it was tried.
local function append(thread, id)
  local before = call('HGET', THREADS, 'last ' .. thread)
  call('HSET', THREADS, 'last ' .. thread, id, 'of ' .. id, thread)
  if before then call('HSET', THREADS, 'next ' .. before, id) end
  return before
end

-- A delivery was tried, so the next one of its thread is due.
local function tried(id)
  local thread, after = call('HGET', THREADS, 'of ' .. id), call('HGET', THREADS, 'next ' .. id)
  if not thread then return end
  if after and mark_of(after) == 0 then call('ZADD', PENDING, 'XX', text(now), after) end
  if call('HGET', THREADS, 'last ' .. thread) == id then call('HDEL', THREADS, 'last ' .. thread) end
  call('HDEL', THREADS, 'of ' .. id, 'next ' .. id)
end

local function forget(id)
  call('ZREM', PENDING, id)
  call('ZREM', DEAD, id)
  call('HDEL', MARKS, id)
  call('HDEL', DELIVERIES, id)
end

-- A delivery in an answer.
local function put(reply, id, at)
  reply[#reply + 1] = id
  reply[#reply + 1] = call('HGET', DELIVERIES, id)
  reply[#reply + 1] = call('HGET', MARKS, id)
  reply[#reply + 1] = at
end
