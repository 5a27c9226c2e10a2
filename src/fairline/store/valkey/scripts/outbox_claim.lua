-- outbox_claim.lua: take what is due, and put it off until its claim lapses. Clears away what was given up long ago.
-- ARGV  1 now  2 at most  3 ms until a claim lapses  4 ms that dead ones are kept
-- Returns for each: id  what is to be sent  mark  when the claim lapses.
--#include outbox
for _, id in ipairs(call('ZRANGEBYSCORE', DEAD, '-inf', text(now - tonumber(ARGV[4])), 'LIMIT', '0', '100')) do
  forget(id)
end
local reply, lapses = {}, text(now + tonumber(ARGV[3]))
for _, id in ipairs(call('ZRANGEBYSCORE', PENDING, '-inf', text(now), 'LIMIT', '0', ARGV[2])) do
  local tries, made, met = marked(id)
  mark(id, tries + 1, made, met)
  call('ZADD', PENDING, lapses, id)
  put(reply, id, lapses)
end
return reply
