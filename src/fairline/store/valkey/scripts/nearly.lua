-- nearly.lua: mark the first in line as nearly there: once for each ticket, with an event.
-- ARGV  1 now  2 how many of the first
-- Returns the numbers that were not marked before, in order; nobody is nearly there before an opening has started.
--#include step
local reply = {}
if HELD_BACK[Q.phase] then return answer(reply) end
for rank, number in ipairs(call('ZRANGE', LINE, 0, tonumber(ARGV[2]) - 1)) do
  local t = fetch(number)
  if not t.nearly then
    t.nearly = true
    save(t)
    event('nearly', number, rank)
    reply[#reply + 1] = number
  end
end
return answer(reply)
