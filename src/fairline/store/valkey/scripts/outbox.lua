-- outbox.lua: what the scripts on an outbox begin with: its keys and its clock. Included by outbox_open.lua,
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

-- What is marked of a delivery: its tries, when it was made, what the last try met.
local function marked(id)
  local tries, made, met = string.match(call('HGET', MARKS, id) or '', '^(%d+) (%d+) (.*)$')
  return tonumber(tries), made, met
end

local function mark(id, tries, made, met)
  call('HSET', MARKS, id, text(tries) .. ' ' .. made .. ' ' .. met)
end

-- Threads, as long as something in them was not tried yet: their last one, and of each delivery its thread and the next.
local function follow(thread, id)
  local before = call('HGET', THREADS, 'last ' .. thread)
  call('HSET', THREADS, 'last ' .. thread, id, 'of ' .. id, thread)
  if before then call('HSET', THREADS, 'next ' .. before, id) end
  return before
end

-- A delivery was tried: the next one of its thread is due.
local function tried(id)
  local thread, after = call('HGET', THREADS, 'of ' .. id), call('HGET', THREADS, 'next ' .. id)
  if not thread then return end
  if after and marked(after) == 0 then call('ZADD', PENDING, 'XX', text(now), after) end
  if call('HGET', THREADS, 'last ' .. thread) == id then call('HDEL', THREADS, 'last ' .. thread) end
  call('HDEL', THREADS, 'of ' .. id, 'next ' .. id)
end

local function forget(id)
  call('ZREM', PENDING, id)
  call('ZREM', DEAD, id)
  call('HDEL', MARKS, id)
  call('HDEL', DELIVERIES, id)
end

-- A delivery as answers have it.
local function put(reply, id, at)
  reply[#reply + 1] = id
  reply[#reply + 1] = call('HGET', DELIVERIES, id)
  reply[#reply + 1] = call('HGET', MARKS, id)
  reply[#reply + 1] = at
end
