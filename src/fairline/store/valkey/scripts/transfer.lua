-- transfer.lua: end a ticket whose holder has a ticket in another queue now, and remember which.
-- ARGV  1 now  2 number  3 where they went (as record.py packs it)  4 the same as text, for the event
-- Returns outcome (done, refused, missing)  rank  due  record. A ticket that was already transferred there is done.
--#include step
local number, went, reply = ARGV[2], ARGV[3], {}
local t = fetch(number)
if not t then
  reply[1] = 'missing'
elseif t.went == went then
  reply[1] = 'done'
elseif not goes_to(t, 'transfer') then
  reply[1] = 'refused'
else
  reply[1] = 'done'
  t.went = went
  move(t, 'transfer', REASON_OF.transfer, ARGV[4])
end
put(reply, number, call('HGET', TICKETS, number))
return answer(reply)
