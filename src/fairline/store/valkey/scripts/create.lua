-- create.lua: create a queue, unless it exists.
-- KEYS  1 queue  … 9 events  … 13 history, as in queue.lua
-- ARGV  1 now  2 by (the id of an admin key)  3 the settings as JSON  then for each: field  value ('\0' = unset)
-- Returns 1; 0 if it exists.
if redis.call('HEXISTS', KEYS[1], 'version') == 1 then return 0 end
local time = redis.call('TIME')
local micros = ARGV[1] ~= '' and tonumber(ARGV[1]) * 1000 or tonumber(time[1]) * 1000000 + tonumber(time[2])
local first, now = string.format('%.17g', micros), string.format('%.17g', math.floor(micros / 1000))
-- The version starts at the microsecond of creation. An earlier queue of the same name cannot have come that far, so
-- nothing that anyone remembers of it fits this queue.
redis.call('HSET', KEYS[1], 'version', first, 'created_at', first, 'swept_at', now)
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] ~= '\0' then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
redis.call('XADD', KEYS[13], first .. '-0', 'at', now, 'by', ARGV[2], 'settings', ARGV[3])
-- An earlier queue of the same name may have had events in this very millisecond. Where somebody stopped reading them
-- has to lie before the first event of this queue, so the microsecond of creation goes into its id.
local event = string.format('%d%03d-%d', time[1], math.floor(time[2] / 1000), time[2] % 1000 * 1000000)
redis.call('XADD', KEYS[9], event, 'type', 'queue_created', 'at', now, 'ticket', '', 'detail', '')
return 1
