-- visit.lua: people are inside: start their sessions, or record their activity.
-- ARGV  1 now  2 what (start, touch, or visit: start if needed, then touch)
--       then for each: number  by (who, digest)  page views (0: only ask whether they may)  joined (when the ticket
--       was issued; '' = any)
-- Returns for each: outcome (done, taken, refused, missing, another)  rank  due  record. A session belongs to
-- what started it; to start it again takes the whole of `by`.
--#include step
local what, reply, numbers, tickets = ARGV[2], {}, {}, {}
for i = 3, #ARGV, 4 do
  numbers[#numbers + 1] = ARGV[i]
end
for i, record in ipairs(records_of(numbers, 1)) do
  local t = record and unpack_ticket(numbers[i], record)
  if t then t.record = record end
  tickets[numbers[i]] = t
end

local function visit(t, by, views)
  if t.state == STATUS.admitted and what ~= 'touch' then
    t.by = by
    t.record = move(t, 'start')
  end
  if not TRANSITIONS[t.state].touch then return 'refused' end
  if what == 'start' and t.by ~= by or not is_by(t.by, by) then return 'taken' end
  if what ~= 'start' and views > 0 then
    t.views = min(t.views + views, 4294967295)
    t.due = text(active_due(t))
    t.record = packed(t)
  end
  return 'done'
end

for i = 3, #ARGV, 4 do
  local t, outcome = tickets[ARGV[i]], 'missing'
  if t and is_another(t, ARGV[i + 3]) then
    outcome = 'another'
  elseif t then
    outcome = visit(t, ARGV[i + 1], tonumber(ARGV[i + 2]))
  end
  reply[#reply + 1] = outcome
  put(reply, ARGV[i], t and t.record, t and t.due)
end

-- Write all recorded activity by one command for each key.
local records, dues = {}, {}
for number, t in pairs(tickets) do
  if t and t.due then
    records[#records + 1], records[#records + 2] = number, t.record
    dues[#dues + 1], dues[#dues + 2] = t.due, number
  end
end
if #records > 0 then
  call('HSET', TICKETS, unpack(records))
  call('ZADD', DUE, unpack(dues))
end
return answer(reply)
