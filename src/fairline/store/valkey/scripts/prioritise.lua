-- prioritise.lua: move someone who waits forward by the queue's policy, never back.
-- ARGV  1 now  2 number  3 level
-- Returns outcome (done, refused, missing, held_back: the order is being drawn by the levels as they are, in_group: they
--       wait together with others)  rank  due  record.
--#include moves_in_line
--#include place
local number, level = ARGV[2], tonumber(ARGV[3])
local t, reply = fetch(number), {}
reply[1] = reason_against_move(t, 'prioritise') or 'done'
if reply[1] == 'done' then
  local moves, rank = call('HINCRBY', QUEUE, 'moves', 1), call('ZRANK', LINE, number)
  call('ZREM', LINE, number)
  t.place = min(t.place, next_place(tonumber(call('HGET', QUEUE, 'number')) + moves, level))
  t.level = max(t.level, level)
  call('ZADD', LINE, t.place, number)
  note_passed(rank - call('ZRANK', LINE, number))
  save(t)
  event('prioritised', number, level)
end
put(reply, number, call('HGET', TICKETS, number))
return answer(reply)
