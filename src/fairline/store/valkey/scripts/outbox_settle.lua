-- outbox_settle.lua: say what became of a claim.
-- ARGV  1 now  2 id  3 tries (which claim it was)  4 what (sent, retry, dead)  5 retry: in how many ms; dead: how many
--       are kept  6 what the try met
-- Returns 1, or 0 where it was claimed again meanwhile, or is gone.
--#include outbox
local id, what = ARGV[2], ARGV[4]
local tries, made = marked(id)
if tries ~= tonumber(ARGV[3]) or not call('ZSCORE', PENDING, id) then return 0 end
tried(id)
if what == 'sent' then
  forget(id)
  return 1
end
mark(id, tries, made, ARGV[6])
if what == 'retry' then
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
