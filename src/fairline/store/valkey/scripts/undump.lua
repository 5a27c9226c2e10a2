-- undump.lua: replace some keys with one hash tag by what a backup has of them.
-- KEYS  any
-- ARGV  for each key what dump.lua returned for it ('' = it did not exist)
for i, key in ipairs(KEYS) do
  redis.call('DEL', key)
  if ARGV[i] ~= '' then redis.call('RESTORE', key, 0, ARGV[i]) end
end
return #KEYS
