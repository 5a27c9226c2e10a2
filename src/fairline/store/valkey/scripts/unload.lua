-- unload.lua: people who wait closed their page: they have left unless they come back within the grace time.
-- ARGV  1 now  2… numbers
-- Returns for each: rank or -1, deadline or '', record or ''.
--#include ticket
local reply = {}
for i = 2, #ARGV do
  local t = fetch(ARGV[i])
  local record = t and t.state == STATUS.waiting and not t.leaving
  if record then
    t.leaving = true
    record = save(t)
    set_due(t.number, clock + Q.grace_seconds * 1000)
  end
  put(reply, ARGV[i], record or call('HGET', TICKETS, ARGV[i]))
end
return answer(reply)
