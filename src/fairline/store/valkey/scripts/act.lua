-- act.lua: one action on each ticket: recall, return, complete, leave, cancel, no_show, terminate.
-- ARGV  1 now  2 action  3… numbers
-- Returns for each: outcome (done, refused, missing)  rank  due  record.
local action, reply = ARGV[2], {}
for i = 3, #ARGV do
  local t = fetch(ARGV[i])
  local record = t and move(t, action, REASON_OF[action])
  reply[#reply + 1] = record and 'done' or t and 'refused' or 'missing'
  put(reply, ARGV[i], record or call('HGET', TICKETS, ARGV[i]))
end
return answer(reply)
