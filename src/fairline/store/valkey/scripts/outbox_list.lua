-- outbox_list.lua: the deliveries of an outbox, a page at a time.
-- ARGV  1 now  2 state (pending, dead)  3 time and  4 id of the last one seen ('' = from the start)  5 at most
-- Returns for each: id  payload  mark  when it is due, or was given up.
--#include outbox
local LISTED = ARGV[2] == 'dead' and DEAD or PENDING
local from = 0
if ARGV[4] ~= '' then
  from = call('ZCOUNT', LISTED, '-inf', '(' .. ARGV[3])
  -- Deliveries of the same time are in the order of their ids.
  local score = call('ZSCORE', LISTED, ARGV[4])
  if score and tonumber(score) == tonumber(ARGV[3]) then from = call('ZRANK', LISTED, ARGV[4]) + 1 end
end
local reply = {}
local found = call('ZRANGE', LISTED, text(from), text(from + tonumber(ARGV[5]) - 1), 'WITHSCORES')
for i = 1, #found, 2 do
  put(reply, found[i], found[i + 1])
end
return reply
