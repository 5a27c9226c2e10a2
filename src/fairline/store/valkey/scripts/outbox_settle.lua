-- outbox_settle.lua: record the result of a claim.
-- ARGV  1 now  2 id  3 tries (which claim it was)  4 result (sent, retry, dead)
--       5 retry: in how many ms; dead: how many are kept  6 the error
-- Returns 1; 0 if it was claimed again since, or is gone.
--#include outbox
local id, result = ARGV[2], ARGV[4]
local tries, made = mark_of(id)
if tries ~= tonumber(ARGV[3]) or not call('ZSCORE', PENDING, id) then return 0 end
tried(id)
if result == 'sent' then
  forget(id)
  return 1
end
mark(id, tries, made, ARGV[6])
if result == 'retry' then
  call('ZADD', PENDING, text(now + tonumber(ARGV[5])), id)
else
  call('ZREM', PENDING, id)
  call('ZADD', DEAD, text(now), id)
  local over = call('ZCARD', DEAD) - tonumber(ARGV[5])
  if over > 0 then
    for _, oldest in ipairs(call('ZRANGE', DEAD, '0', text(over - 1))) do forget(oldest) end
  end
end
return 1
