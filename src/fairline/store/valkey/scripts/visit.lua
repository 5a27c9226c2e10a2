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

local numbers = {}
for i = 3, #ARGV, 3 do
  numbers[#numbers + 1] = ARGV[i]
end
local records = records_of(numbers, 1)
local dues = #numbers > 0 and call('ZMSCORE', DUE, unpack(numbers)) or {}
for i, number in ipairs(numbers) do
  local record, due, outcome = records[i], dues[i], 'missing'
  local by, views = ARGV[3 * i + 1], tonumber(ARGV[3 * i + 2])
  if record and views == 0 and what == 'visit' and string.byte(record, 1) == STATUS.active then
    outcome = started_by(record) == by and 'done' or 'taken' -- nearly always: a page view of someone who is inside
  elseif record then
    outcome = visit(fetch(number), by, views)
    record, due = call('HGET', TICKETS, number), nil
  end
  reply[#reply + 1] = outcome
  put(reply, number, record, due)
end
return answer(reply)
