-- outbox_claim.lua: claim the deliveries that are due, each until its claim lapses. Old dead deliveries are removed.
-- ARGV  1 now  2 at most  3 ms until a claim lapses  4 ms for which dead deliveries are kept
-- Returns for each: id  payload  mark  when the claim lapses.
--#include outbox
for _, id in ipairs(call('ZRANGEBYSCORE', DEAD, '-inf', text(now - tonumber(ARGV[4])), 'LIMIT', '0', '100')) do
  forget(id)
end
local reply, lapses = {}, text(now + tonumber(ARGV[3]))
for _, id in ipairs(call('ZRANGEBYSCORE', PENDING, '-inf', text(now), 'LIMIT', '0', ARGV[2])) do
  local tries, made, error = mark_of(id)
  mark(id, tries + 1, made, error)
  call('ZADD', PENDING, lapses, id)
  put(reply, id, lapses)
end
return reply
