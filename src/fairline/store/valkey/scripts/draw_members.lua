-- draw_members.lua: some of those who are in the draw that was frozen last, in an order that stays.
-- KEYS  1… the queue's  21 draws  22 members
-- ARGV  1 now  2 the first, from 0  3 how many
-- Returns for each: number  level.
--#include queue
local first, reply = tonumber(ARGV[2]), {}
local numbers = call('ZRANGE', KEYS[22], first, first + tonumber(ARGV[3]) - 1)
for i, record in ipairs(records_of(numbers, 1)) do
  reply[2 * i - 1], reply[2 * i] = tonumber(numbers[i]), record and string.byte(record, 3) or 0
end
return answer(reply)
