-- look.lua: tickets as they are now, changing nothing.
-- ARGV  1 now  2… numbers
-- Returns for each: rank or -1, deadline or '', record or ''.
local reply = {}
for i = 2, #ARGV do
  put(reply, ARGV[i], call('HGET', TICKETS, ARGV[i]))
end
return answer(reply)
