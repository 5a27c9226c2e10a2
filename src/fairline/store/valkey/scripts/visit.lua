-- visit.lua: someone is inside: start the session, or note their activity.
-- ARGV  1 now  2 what (start, touch, or visit: start if need be, then touch)  then for each: number  by (who, digest)
--       page views (0: only ask whether they may)
-- Returns for each: outcome (done, taken, refused, missing)  rank  due  record. A session belongs to who started it.
--#include step
local what, reply = ARGV[2], {}

local function visit(t, by, views)
  if t.state == STATUS.admitted and what ~= 'touch' then
    t.by = by
    move(t, 'start')
  end
  if not TRANSITIONS[t.state].touch then return 'refused' end
  if t.by ~= by then return 'taken' end
  if what ~= 'start' and views > 0 then
    t.views = min(t.views + views, 4294967295)
    set_due(t.number, active_due(t))
    save(t)
  end
  return 'done'
end

for i = 3, #ARGV, 3 do
  local t, outcome = fetch(ARGV[i]), 'missing'
  if t then outcome = visit(t, ARGV[i + 1], tonumber(ARGV[i + 2])) end
  reply[#reply + 1] = outcome
  put(reply, ARGV[i], call('HGET', TICKETS, ARGV[i]))
end
return answer(reply)
