-- inside.lua: whether people who are inside may continue; it changes nothing.
-- ARGV  1 now  then for each: number  by (who, digest)
-- Returns for each: outcome (done, taken; '' if they are not inside: visit.lua decides)  rank  due
-- record.
--#include ticket
local reply, numbers = {}, {}
for i = 2, #ARGV, 2 do
  numbers[#numbers + 1] = ARGV[i]
end
local records = records_of(numbers, 1)
local dues = #numbers > 0 and call('ZMSCORE', DUE, unpack(numbers)) or {}
for i, number in ipairs(numbers) do
  local record, outcome = records[i], ''
  if record and string.byte(record, 1) == STATUS.active then
    outcome = is_by(started_by(record), ARGV[2 * i + 1]) and 'done' or 'taken'
  end
  reply[#reply + 1] = outcome
  put(reply, number, record, dues[i])
end
return answer(reply)
