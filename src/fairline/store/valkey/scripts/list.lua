-- list.lua: tickets in order, a page at a time: those who wait and then those on hold by place, the others by number.
-- ARGV  1 now  2 status ('' = all)  3 cursor ('' = from the start)  4 how many
-- Returns the cursor to continue from ('' = the end), then for each: number  rank  due  record.
-- A page reads a bounded number of tickets, so a page of one status may be short and still not be the last.
--#include page
local status, cursor, many = ARGV[2], ARGV[3], tonumber(ARGV[4])
local PARTS = {LINE, ON_HOLD, ADMITTED, ACTIVE, ENDED}
local PART_OF = {waiting = 1, admitted = 3, active = 4, completed = 5, expired = 5}
local LAST_OF = {waiting = 2}
local reply = {''}
local first = PART_OF[status] or 1
local last = LAST_OF[status] or PART_OF[status] or 5

reply[1] = turn_page(PARTS, first, last, cursor, many, function(number)
  local record = call('HGET', TICKETS, number)
  if status == '' or string.byte(record, 1) == STATUS[status] then
    reply[#reply + 1] = number
    put(reply, number, record)
  end
end) or ''
return answer(reply)
