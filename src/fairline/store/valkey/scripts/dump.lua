-- dump.lua: some keys with one hash tag as they are at one moment, for a backup.
-- KEYS  any
-- Returns the store's time in ms, then each key as the server serialises it; nothing for a key that does not exist.
local time = redis.call('TIME')
local reply = {tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
for i, key in ipairs(KEYS) do reply[i + 1] = redis.call('DUMP', key) end
return reply
