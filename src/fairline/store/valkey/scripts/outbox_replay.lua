-- outbox_replay.lua: make dead deliveries due now, with all their tries ahead of them again.
-- ARGV  1 now  2 at most  3 given up by this time in ms ('' = any)  4 id ('' = all)
-- Returns how many.
--#include outbox
local ids = {ARGV[4]}
if ARGV[4] == '' then
  ids = call('ZRANGEBYSCORE', DEAD, '-inf', ARGV[3] == '' and '+inf' or ARGV[3], 'LIMIT', '0', ARGV[2])
end
local count = 0
for _, id in ipairs(ids) do
  if call('ZREM', DEAD, id) == 1 then
    local _, made, error = mark_of(id)
    mark(id, 0, made, error)
    call('ZADD', PENDING, text(now), id)
    count = count + 1
  end
end
return count
