-- join.lua: give each arrival a ticket at its place in the line, or the one its holder has already.
-- KEYS  1… the queue's, then the limits' keys that the arrivals name
-- ARGV  1 now  2 the version of the settings that the terms are from ('' = no terms)  3 when days begin (a,b,…)
--       4 when it is open (from-to,from-to,…; '' = always)  5 the longest line that can be served today ('' = any)
--       6 how many come, then of all of them the clients, the addresses (digests or ''), the addresses' limit keys
--       (index in KEYS, 0 = none) and the persons (packed); then what only some tell: who (from 1), name, value:
--       user, phone (digests)  phone_key, email_key (as that of the address)  key, fingerprint (of the idempotency key and the
--       body)  level  pass (its id)  unlimited (the limits do not hold for them)  through (straight, or not at all)
--       series  on_hold (to be put aside)  came (from where, as record.py packs it)  missing (the field they left out)
-- Returns for each: outcome  detail  number  rank  due  record; or for several who are new and stand in a row: row  how
-- many  number, rank, due and place of the first. Outcomes: joined, existing (of its holder), repeated (by its
-- idempotency key), or why not: conflict, maintenance, full, pass, limited (detail: who, and ms to wait), at_capacity,
-- closed, closing, series, missing (detail: the field). Nothing at all where the terms are those of other settings.
-- What a batch in a rush does not need is defined inside what needs it: a script is defined anew with each call.
--#include head
--#include count
--#include place
read({
  'status', 'max_queue_size', 'one_per', 'join_limit_per_ip', 'join_limit_per_phone', 'join_limit_per_email',
  'label_restart', 'series', 'number', 'moves', 'created_at',
})
local created = text(Q.created_at)
--#include sliding
if ARGV[2] ~= '' and tonumber(ARGV[2]) ~= Q.version then return answer({}) end

local per_address, restart = Q.join_limit_per_ip, Q.label_restart
local per_phone, per_email = Q.join_limit_per_phone, Q.join_limit_per_email or 3
local in_maintenance, longest_line, longest_today = Q.status == 'maintenance', Q.max_queue_size, tonumber(ARGV[5])
local last, moves = Q.number or 0, Q.moves or 0
local waiting = waiting_before
local reply = {}

local is_open = ARGV[4] == ''
for from, to in string.gmatch(ARGV[4], '(%d+)-(%d+)') do
  is_open = is_open or tonumber(from) <= now and now < tonumber(to)
end

local all_series = Q.series and cjson.decode(Q.series) or {}
local has_serials = #all_series > 0 or restart == 'daily'

-- What is printed instead of the number: the count of the series, anew each day where the queue says so. A count never
-- goes back to an earlier day, goes on through the day on which the rule is changed, and past the numbers that were
-- printed themselves meanwhile: no two are alike on one day.
local function next_serial(series, number)
  if series == '' then series = all_series[1] or '' end
  local day = 0 -- the day it is by the store's clock, by when it began; 0 where labels are not counted by the day
  for began in string.gmatch(restart == 'daily' and ARGV[3] or '', '%d+') do
    if tonumber(began) <= now then day = max(day, tonumber(began)) end
  end
  local count_field, day_field = 'serial:' .. series, 'serial_day:' .. series
  local given, last, before = unpack(call('HMGET', QUEUE, count_field, day_field, 'serial_number'))
  given, last = tonumber(given) or 0, tonumber(last) or 0
  local new_day = day - last >= SHORTEST_DAY_MS
  if series == '' and number ~= (tonumber(before) or 0) + 1 then
    given = max(given + 1, number)
  elseif new_day and last > 0 then
    given = 1
  else
    given = given + 1
  end
  call('HSET', QUEUE, count_field, given, day_field, new_day and day or last)
  if series == '' then call('HSET', QUEUE, 'serial_number', number) end
  return string.format(series == '' and '%s%06d' or '%s%04d', series, given)
end

local function put_outcome(outcome, detail, number, record, due, rank)
  local size = #reply
  reply[size + 1], reply[size + 2], reply[size + 3] = outcome, detail, number
  put(reply, number, record, due, rank)
end

-- Straight in, or not at all: nobody goes past people who wait, and room and rate are those of everyone.
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

-- Where those who come stand in ARGV. `told` has what most do not tell.
local MANY = tonumber(ARGV[6])
local CLIENTS, ADDRESSES, ADDRESS_KEYS, PERSONS, TOLD = 6, 6 + MANY, 6 + 2 * MANY, 6 + 3 * MANY, 6 + 4 * MANY
local NOTHING = {key = '', fingerprint = '', level = 0, pass = '', series = '', came = '', missing = ''}
local told = {}
for at = TOLD + 1, #ARGV, 3 do
  local who, name, value = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2]
  told[who] = told[who] or setmetatable({}, {__index = NOTHING})
  local is_key = name == 'phone_key' or name == 'email_key'
  told[who][name] = name == 'level' and tonumber(value) or is_key and KEYS[tonumber(value)] or value
end

-- A table of this size: one that grows is made anew time and again. What is in it is to be overwritten.
local function sized(size)
  return {unpack(ARGV, 1, size)}
end

-- What makes two of them the same person here, as fields of the holders, and who holds a ticket by it: one for each who
-- comes, then those of the idempotency keys. Where someone leaves out what the queue goes by, their client counts; ''
-- where nothing makes them the same.
local one_per, KIND = Q.one_per, string.sub(Q.one_per, 1, 1)
local DIGESTS = ({client = CLIENTS, ip = ADDRESSES})[one_per]
local fields = sized(MANY)
for i = 1, MANY do
  local digest = DIGESTS and ARGV[DIGESTS + i] or told[i] and told[i][one_per] or ''
  if digest ~= '' then
    fields[i] = KIND .. digest
  else
    fields[i] = one_per ~= 'none' and ARGV[CLIENTS + i] ~= '' and 'c' .. ARGV[CLIENTS + i] or ''
  end
end
for _, more in pairs(told) do
  if more.key ~= '' then
    more.key_at = #fields + 1
    fields[more.key_at] = 'j' .. more.key
  end
end
local holding, holding_now = MANY > 0 and call('HMGET', HOLDERS, unpack(fields)), {}

-- Who is given a ticket that is not written yet: in a rush nearly everyone joins behind all others, and all of them are
-- written by one command for each key, told of by one event, and answered by one row. Whatever needs to find them has
-- them written first.
local function nobody_new(size)
  return {
    size = 0, set = LINE, places = sized(2 * size), dues = sized(2 * size), records = sized(2 * size), holders = {},
  }
end
local new = nobody_new(MANY)
local due = waiting_due()
local due_text = due and text(due) or ''

local function note_holder(field, value)
  local holders = new.holders
  holding_now[field] = value
  holders[#holders + 1], holders[#holders + 2] = field, value
end

local function add_new(i, number, more)
  local place, field = next_place(number + moves, more.level), fields[i]
  local flags = (more.on_hold and IS_ON_HOLD or 0) + (has_serials and HAS_EXTRA or 0)
  local record = packed_head(STATUS.waiting, 0, more.level, flags, place, now, ARGV[CLIENTS + i],
    string.sub(field, 1, 1) == 'c' and 'c' or field, more.key, ARGV[PERSONS + i])
  if has_serials then
    local serial = next_serial(more.series, number)
    record = record .. struct.pack(EXTRA, 0, #serial, serial)
  end
  local at, places, dues, records = 2 * new.size, new.places, new.dues, new.records
  places[at + 1], places[at + 2] = place, number
  dues[at + 1], dues[at + 2] = due_text, number
  records[at + 1], records[at + 2] = number, record
  if field ~= '' then note_holder(field, number) end
  if more.key ~= '' then note_holder(fields[more.key_at], number .. ' ' .. more.fingerprint) end
  if more.on_hold then new.set = ON_HOLD end
  new.size = new.size + 1
end

local function put_new(first, level)
  local at, rank = #reply, call('ZRANK', LINE, first)
  local in_a_row = rank == waiting - new.size -- so that nobody needs to be asked for in between
  if in_a_row and level == 0 and not has_serials then -- all the rest is known to whoever asked
    reply[at + 1], reply[at + 2], reply[at + 3] = 'row', new.size, first
    reply[at + 4], reply[at + 5], reply[at + 6] = rank, due_text, text(new.places[1])
    return
  end
  for i = 1, new.size do
    put_outcome('joined', '', first + i - 1, new.records[2 * i], due_text, in_a_row and rank + i - 1)
  end
end

local function write_new(level, through)
  local size, first, set = new.size, last - new.size + 1, new.set
  if size == 0 then return end
  call('HSET', QUEUE, 'number', last)
  call('ZADD', set, unpack(new.places, 1, 2 * size))
  if due then call('ZADD', DUE, unpack(new.dues, 1, 2 * size)) end
  call('HSET', TICKETS, unpack(new.records, 1, 2 * size))
  if #new.holders > 0 then call('HSET', HOLDERS, unpack(new.holders)) end
  count('joined', size)
  event('joined', size == 1 and first or first .. '-' .. last, level > 0 and level or '')
  if through then put_outcome('joined', '', first, going_straight().let_in(first)) else put_new(first, level) end
  new = nobody_new(0)
end

local function existing(outcome, number)
  write_new(0)
  put_outcome(outcome, '', number, call('HGET', TICKETS, number))
end

local function refused(outcome, detail)
  write_new(0)
  put_outcome(outcome, detail, '')
end

local function is_series(name)
  for _, each in ipairs(all_series) do
    if each == name then return true end
  end
  return false
end

local function refusal(address_key, more)
  if in_maintenance then return 'maintenance', '' end
  if more.missing ~= '' then return 'missing', more.missing end
  if more.series ~= '' and not is_series(more.series) then return 'series', table.concat(all_series, ', ') end
  if not more.unlimited then
    if not is_open then return 'closed', '' end
    if longest_today and waiting >= longest_today then return 'closing', '' end
  end
  if waiting >= longest_line then return 'full', waiting end
  if more.pass ~= '' then
    local level, uses, used, ends = string.match(call('HGET', PASSES, more.pass) or '', '^(%d+) (%d+) (%d+) (%d+)$')
    if not level or tonumber(ends) <= now then return 'pass', 'it has ended or was withdrawn' end
    if tonumber(used) >= tonumber(uses) then return 'pass', 'it is used up' end
    more.level = tonumber(level)
  end
  local wait = address_key and blocked(address_key, per_address, MINUTE_MS) or 0
  if wait > 0 then return 'limited', 'address ' .. text(wait) end
  wait = more.phone_key and per_phone > 0 and blocked(more.phone_key, per_phone, HOUR_MS) or 0
  if wait > 0 then return 'limited', 'phone ' .. text(wait) end
  wait = more.email_key and per_email > 0 and blocked(more.email_key, per_email, HOUR_MS) or 0
  if wait > 0 then return 'limited', 'email ' .. text(wait) end
  if more.through and not going_straight().is_free() then return 'at_capacity', '' end
end

local function use_up(address_key, more)
  if more.pass ~= '' then
    local head, used, tail = string.match(call('HGET', PASSES, more.pass), '^(%d+ %d+) (%d+)(.*)$')
    call('HSET', PASSES, more.pass, head .. ' ' .. text(tonumber(used) + 1) .. tail)
  end
  if address_key then hit(address_key, MINUTE_MS) end
  if more.phone_key and per_phone > 0 then hit(more.phone_key, HOUR_MS) end
  if more.email_key and per_email > 0 then hit(more.email_key, HOUR_MS) end
end

local function join(i, address_key, more)
  local behind_all = more.level == 0 and not (more.on_hold or more.through)
  if not behind_all then write_new(0) end
  last, waiting = last + 1, waiting + 1
  add_new(i, last, more)
  if more.came ~= '' then call('HSET', ARRIVING, last, more.came) end
  use_up(address_key, more)
  if not behind_all then
    write_new(more.level, more.through)
    waiting = call('ZCARD', LINE)
  end
end

for i = 1, MANY do
  local more = told[i] or NOTHING
  local again = more.key_at and (holding_now[fields[more.key_at]] or holding[more.key_at])
  local before = holding_now[fields[i]] or holding[i]
  if again then
    local number, fingerprint = string.match(again, '^(%d+) (.*)$')
    if fingerprint == more.fingerprint then existing('repeated', number) else refused('conflict', '') end
  elseif before then
    existing('existing', before)
  else
    local address_key = per_address > 0 and KEYS[tonumber(ARGV[ADDRESS_KEYS + i])]
    local outcome, detail = refusal(address_key, more)
    if outcome then refused(outcome, detail) else join(i, address_key, more) end
  end
end
write_new(0)
return answer(reply)
