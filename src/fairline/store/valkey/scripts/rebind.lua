-- rebind.lua: move a live ticket to another device, whose client holds it from now on.
-- ARGV  1 now  2 number  3 when it joined  4 how often it had moved when the link was made  5 client (digest)
-- Returns outcome (done, refused, missing, moved, holder_in_line)  rank  due  record. If two devices use one link, one
-- of them gets the ticket.
--#include step
local number, joined, moved, client, reply = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], {}
local t = fetch(number)

local function rebind()
  if t.joined ~= joined then return 'missing' end
  if t.ended > 0 then return 'refused' end
  if t.moved ~= moved then return 'moved' end
  if t.holder == 'c' then
    local holds = call('HGET', HOLDERS, 'c' .. client)
    if holds and holds ~= number then return 'holder_in_line' end
    free_holder(t)
    call('HSET', HOLDERS, 'c' .. client, number)
  end
  -- The ticket keeps the idempotency key it joined with, so that the same form makes no second ticket: the answer to
  -- that form is that the ticket has moved. So the count of moves never returns to 0.
  t.client, t.moved = client, t.moved % 255 + 1
  event('moved', number)
  save(t)
  return 'done'
end

reply[1] = t and rebind() or 'missing'
put(reply, number, call('HGET', TICKETS, number))
return answer(reply)
