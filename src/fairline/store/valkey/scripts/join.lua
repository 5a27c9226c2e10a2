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
-- missing (detail: the field).
-- Every call defines all functions of its script again. So what a rush of plain joins does not need is defined inside
-- the function that needs it.
--#include head
--#include count
--#include place
read({
  'status', 'max_queue_size', 'one_per', 'join_limit_per_ip', 'join_limit_per_phone', 'join_limit_per_email',
  'label_restart', 'series', 'number', 'moves', 'created_at',
})
if ARGV[2] ~= '' and tonumber(ARGV[2]) ~= Q.version then return answer({}) end

local created = text(Q.created_at)
local per_address, per_phone, per_email = Q.join_limit_per_ip, Q.join_limit_per_phone, Q.join_limit_per_email
local in_maintenance, longest_line, longest_today = Q.status == 'maintenance', Q.max_queue_size, tonumber(ARGV[5])
local last_number, moves, waiting = Q.number or 0, Q.moves or 0, waiting_before
local reply = {}
--#include sliding
--#include serial
--#include arrivals

local is_open = ARGV[4] == ''
for from, to in string.gmatch(ARGV[4], '(%d+)-(%d+)') do
  is_open = is_open or tonumber(from) <= now and now < tonumber(to)
end

-- Going straight in needs an empty line, a free place and a token: nobody overtakes people who wait, and the capacity
-- and the rate are the same for everyone.
local straight
local function going_straight()
  if straight then return straight end
  --#include step
  --#include bucket
  straight = {
    is_free = function() return lets_in() and waiting == 0 and capacity() > 0 and tokens_now(0) >= 1 end,
    let_in = function(number)
      keep_tokens(tokens_now(0) - 1, false)
      return move(fetch(number), 'admit')
    end,
  }
  return straight
end
--#include new_tickets

local function answer_ticket(outcome, number)
  write_new_tickets(0)
  put_outcome(outcome, '', number, call('HGET', TICKETS, number))
end

local function refuse(outcome, detail)
  write_new_tickets(0)
  put_outcome(outcome, detail, '')
end

-- Why an arrival gets no ticket; nothing if it gets one. A priority pass sets its level.
local function refusal(address_key, extra)
  if in_maintenance then return 'maintenance', '' end
  if extra.missing ~= '' then return 'missing', extra.missing end
  if extra.series ~= '' and not is_series(extra.series) then return 'series', table.concat(all_series, ', ') end
  if not extra.unlimited then
    if not is_open then return 'closed', '' end
    if longest_today and waiting >= longest_today then return 'closing', '' end
  end
  if waiting >= longest_line then return 'full', waiting end
  if extra.pass ~= '' then
    local level, uses, used, ends = string.match(call('HGET', PASSES, extra.pass) or '', '^(%d+) (%d+) (%d+) (%d+)$')
    if not level or tonumber(ends) <= now then return 'pass', 'it has ended or was withdrawn' end
    if tonumber(used) >= tonumber(uses) then return 'pass', 'it is used up' end
    extra.level = tonumber(level)
  end
  local wait = address_key and blocked(address_key, per_address, MINUTE_MS) or 0
  if wait > 0 then return 'limited', 'address ' .. text(wait) end
  wait = extra.phone_key and per_phone > 0 and blocked(extra.phone_key, per_phone, HOUR_MS) or 0
  if wait > 0 then return 'limited', 'phone ' .. text(wait) end
  wait = extra.email_key and per_email > 0 and blocked(extra.email_key, per_email, HOUR_MS) or 0
  if wait > 0 then return 'limited', 'email ' .. text(wait) end
  if extra.through and not going_straight().is_free() then return 'at_capacity', '' end
end

-- Count the join against the priority pass and the limits that it used.
local function use_up(address_key, extra)
  if extra.pass ~= '' then
    local head, used, tail = string.match(call('HGET', PASSES, extra.pass), '^(%d+ %d+) (%d+)(.*)$')
    call('HSET', PASSES, extra.pass, head .. ' ' .. text(tonumber(used) + 1) .. tail)
  end
  if address_key then hit(address_key, MINUTE_MS) end
  if extra.phone_key and per_phone > 0 then hit(extra.phone_key, HOUR_MS) end
  if extra.email_key and per_email > 0 then hit(extra.email_key, HOUR_MS) end
end

local function join(i, address_key, extra)
  local behind_all = extra.level == 0 and not (extra.on_hold or extra.through)
  if not behind_all then write_new_tickets(0) end
  last_number, waiting = last_number + 1, waiting + 1
  add_new_ticket(i, last_number, extra)
  if extra.came ~= '' then call('HSET', ARRIVING, last_number, extra.came) end
  use_up(address_key, extra)
  if not behind_all then
    write_new_tickets(extra.level, extra.through)
    waiting = call('ZCARD', LINE)
  end
end

for i = 1, COUNT do
  local extra = extras[i] or NO_EXTRAS
  local by_key, by_holder = extra.key_at and ticket_of(extra.key_at), ticket_of(i)
  if by_key then
    local number, fingerprint = string.match(by_key, '^(%d+) (.*)$')
    if fingerprint == extra.fingerprint then answer_ticket('repeated', number) else refuse('conflict', '') end
  elseif by_holder then
    answer_ticket('existing', by_holder)
  else
    local address_key = per_address > 0 and KEYS[tonumber(ARGV[ADDRESS_KEYS + i])]
    local outcome, detail = refusal(address_key, extra)
    if outcome then refuse(outcome, detail) else join(i, address_key, extra) end
  end
end
write_new_tickets(0)
return answer(reply)
