-- revoke.lua: end a ticket, and remember why for as long as its session token would have been valid.
-- ARGV  1 now  2 number  3 reason
-- Returns outcome (done, refused, missing)  rank  due  record. A ticket that has ended is refused: nothing is left to
-- revoke.
--#include step
local number, reason, reply = ARGV[2], ARGV[3], {}
local t = fetch(number)
local record = t and move(t, 'revoke', REASON_CODE.revoked)
reply[1] = record and 'done' or t and 'refused' or 'missing'
if record then
  call('HSET', REVOKED, number, reason)
  call('ZADD', DUE, clock + Q.session_max_seconds * 1000, 'r' .. number)
end
put(reply, number, record or call('HGET', TICKETS, number))
return answer(reply)
