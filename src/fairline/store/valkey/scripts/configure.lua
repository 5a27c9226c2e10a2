-- configure.lua: write all settings of a queue, and add them to its history.
-- ARGV  1 now  2 version expected  3 revisions to keep  4 by (the id of an admin key)  5 the settings as JSON
--       6 an event to write, or ''  7 its detail  then for each setting: field  value ('\0' = unset)
-- Returns the version found. The settings were written if it is the one expected.
--#include step
--#include slowed
local SLOWER = {'status', 'admission_rate', 'max_active'}
local before = {status = Q.status, admission_rate = Q.admission_rate, max_active = Q.max_active}

if Q.version == tonumber(ARGV[2]) then
  for i = 8, #ARGV, 2 do
    if ARGV[i + 1] == '\0' then call('HDEL', QUEUE, ARGV[i]) else call('HSET', QUEUE, ARGV[i], ARGV[i + 1]) end
  end
  call('HINCRBY', QUEUE, 'version', 1)
  read(SLOWER)
  if before.status == 'active' and Q.status ~= 'active' then
    note_slowed(CAUSE.paused)
  elseif 100 * Q.admission_rate < MUCH_LESS_PERCENT * before.admission_rate then
    note_slowed(CAUSE.rate_changed)
  elseif 100 * Q.max_active < MUCH_LESS_PERCENT * before.max_active then
    note_slowed(CAUSE.capacity_reduced)
  end
  call('XADD', HISTORY, 'MAXLEN', ARGV[3], text(Q.version + 1) .. '-0', 'at', text(now), 'by', ARGV[4],
    'settings', ARGV[5])
  event('settings_changed', '', Q.version + 1)
  if ARGV[6] ~= '' then event(ARGV[6], '', ARGV[7]) end
end
return answer({text(Q.version)})
