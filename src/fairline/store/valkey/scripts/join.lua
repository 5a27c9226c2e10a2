-- join.lua: give each arrival a new ticket at its place in the line, or the ticket that its holder already has.
-- KEYS  1… the queue's, then the keys of the limits that the arrivals name
-- ARGV  1 now  2 the version of the settings that the calendar was worked out from ('' = no calendar)
--       3 when days begin (a,b,…)  4 when the queue is open (from-to,from-to,…; '' = always)
--       5 the longest line that can still be served today ('' = any)
--       6… the arrivals, as arrivals.lua reads them
-- Returns for each: outcome  detail  number  rank  due  record; or once for several new tickets in a row: 'row', how
-- many, and number, rank, due and place of the first. Nothing if the calendar was worked out from other settings.
-- Outcomes: joined, existing (its holder has one), repeated (by its idempotency key), or why there is no ticket:
-- conflict, maintenance, full, pass, limited (detail: who, and the ms to wait), at_capacity, closed, closing, series,
-- missing (detail: the field), group_off, group_gone, group_full.
--#include head
--#include count
--#include place
read({
  'status', 'max_queue_size', 'one_per', 'join_limit_per_ip', 'join_limit_per_phone', 'join_limit_per_email',
  'label_restart', 'series', 'number', 'moves', 'created_at', 'group_size', 'groups', 'phase',
})
if ARGV[2] ~= '' and tonumber(ARGV[2]) ~= Q.version then return answer({}) end

local created = text(Q.created_at)
local last_number, moves, waiting = Q.number or 0, Q.moves or 0, waiting_before
local reply = {}
--#include sliding
--#include serial
--#include arrivals
--#include joined_group
--#include refusals
--#include new_tickets

local function answer_ticket(outcome, number)
  write_new_tickets(0)
  put_outcome(outcome, '', number, call('HGET', TICKETS, number))
end

local function refuse(reason, detail)
  write_new_tickets(0)
  put_outcome(reason, detail, '')
end

-- The ticket that a join with the same idempotency key got, if the rest of that join was the same too.
local function repeat_answer(kept, extra)
  local number, fingerprint = string.match(kept, '^(%d+) (.*)$')
  if fingerprint == extra.fingerprint then answer_ticket('repeated', number) else refuse('conflict', '') end
end

local function take_place(i, address_key, extra)
  local behind_all = extra.level == 0 and not (extra.on_hold or extra.through or extra.beside)
  if not behind_all then write_new_tickets(0) end
  last_number, waiting = last_number + 1, waiting + 1
  add_new_ticket(i, last_number, extra)
  if extra.came ~= '' then call('HSET', ARRIVING, last_number, extra.came) end
  use_up(address_key, extra)
  if not behind_all then
    write_new_tickets(extra.level, extra.through)
    if extra.beside then add_to_group(last_number, extra.beside) end
    waiting = call('ZCARD', LINE)
  end
end

-- A repeated join gets the answer of the first. A holder gets the ticket they have. Anyone else hears why there is no
-- ticket for them, or takes a place in the line.
for i = 1, COUNT do
  local extra = extras[i] or NO_EXTRAS
  local repeated, held = extra.key_at and ticket_of(extra.key_at), ticket_of(i)
  if repeated then
    repeat_answer(repeated, extra)
  elseif held then
    answer_ticket('existing', held)
  else
    local address_key = limited_address(i)
    local reason, detail = reason_against(address_key, extra)
    if reason then refuse(reason, detail) else take_place(i, address_key, extra) end
  end
end
write_new_tickets(0)
return answer(reply)
