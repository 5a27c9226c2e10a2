-- create.lua: create a queue, unless it exists.
-- KEYS  1 queue  … 9 events  … 13 history, as in queue.lua
-- ARGV  1 now  2 by (the id of an admin key)  3 the settings as JSON  then for each: field  value
-- Returns 1; 0 if it exists.
if redis.call('HEXISTS', KEYS[1], 'version') == 1 then return 0 end
local micros = ARGV[1] ~= '' and tonumber(ARGV[1]) * 1000
if not micros then
  local time = redis.call('TIME')
  micros = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local first, now = string.format('%.17g', micros), string.format('%.17g', math.floor(micros / 1000))
-- The version starts at the microsecond of creation. An earlier queue of the same name cannot have come that far, so
-- nothing that anyone remembers of it fits this queue.
redis.call('HSET', KEYS[1], 'version', first, 'created_at', first, 'swept_at', now)
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] ~= '' then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
redis.call('XADD', KEYS[13], first .. '-0', 'at', now, 'by', ARGV[2], 'settings', ARGV[3])
redis.call('XADD', KEYS[9], '*', 'type', 'queue_created', 'at', now, 'ticket', '', 'detail', '')
return 1
