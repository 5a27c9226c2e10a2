-- create.lua: make a queue that is not there yet.
-- KEYS  1 queue  … 9 events  … 13 history, as in queue.lua
-- ARGV  1 now  2 by whom  3 the settings as JSON  then for each: field  value
-- Returns 1, or 0 where there is one already.
if redis.call('HEXISTS', KEYS[1], 'version') == 1 then return 0 end
local now = ARGV[1]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.17g', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
end
-- The version counts on from the moment of creation: a queue made anew never looks like the one before it.
redis.call('HSET', KEYS[1], 'version', now, 'created_at', now, 'swept_at', now)
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] ~= '' then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
redis.call('XADD', KEYS[13], now .. '-0', 'at', now, 'by', ARGV[2], 'settings', ARGV[3])
redis.call('XADD', KEYS[9], '*', 'type', 'queue_created', 'at', now, 'ticket', '', 'detail', '')
return 1
