-- join.lua: give each arrival a ticket at its place in the line, or the one its holder has already.
-- KEYS  1… the queue's, then the limits' keys that the arrivals name
-- ARGV  1 now  2 the version of the settings that the terms are from ('' = no terms)  3 when days begin (a,b,…)
--       4 when it is open (from-to,from-to,…; '' = always)  5 the longest line that can be served today ('' = any)
--       then for each arrival: client, address (digests or '')  limit key of the address (index in KEYS, 0 = none)
--       person (packed)  how many more things are told of them, and of each its name and value (arrivals.py):
--       user, phone (digests)  phone_key (as that of the address)  key, fingerprint (of the idempotency key and the
--       body)  level  pass (its id)  unlimited (the limits do not hold for them)  through (straight, or not at all)
--       series  held (to be put aside)  came (from where, as record.py packs it)
-- Returns for each: outcome  detail  number  rank  due  record; or for several who are new and stand in a row: row  how
-- many  number, rank, due and place of the first. Outcomes: joined, held (by its holder), again (by its
-- idempotency key), or why not: conflict, maintenance, full, pass, limited (detail: who, and ms to wait), no_room,
-- closed, closing, series. Nothing at all where the terms are those of other settings.
--#include step
--#include bucket
--#include place
--#include sliding
local PER_ADDRESS, PER_PHONE = 60000, 3600000
local DAY_AT_LEAST = 72000000 -- a change of the time zone begins no day
read({
  'status', 'max_queue_size', 'one_per', 'join_limit_per_ip', 'join_limit_per_phone', 'label_restart', 'series',
  'number', 'moves',
})
local one_per, per_address, per_phone, restart = Q.one_per, Q.join_limit_per_ip, Q.join_limit_per_phone, Q.label_restart
local all_series = Q.series and cjson.decode(Q.series) or {}
local longest = tonumber(ARGV[5])
local last, moves = Q.number or 0, Q.moves or 0
local waiting = waiting_before
local reply = {}

if ARGV[2] ~= '' and tonumber(ARGV[2]) ~= Q.version then return answer({}) end

-- The day it is by the store's clock, by when it began; 0 where labels are not counted by the day.
local function today()
  local day = 0
  for began in string.gmatch(restart == 'daily' and ARGV[3] or '', '%d+') do
    if tonumber(began) <= now then day = max(day, tonumber(began)) end
  end
  return day
end

local function is_open()
  if ARGV[4] == '' then return true end
  for from, to in string.gmatch(ARGV[4], '(%d+)-(%d+)') do
    if tonumber(from) <= now and now < tonumber(to) then return true end
  end
  return false
end

local function has_series(name)
  if name == '' then return true end
  for _, each in ipairs(all_series) do
    if each == name then return true end
  end
  return false
end

-- What is printed instead of the number: the count of the series, anew each day where the queue says so. A count never
-- goes back to an earlier day, goes on through the day on which the rule is changed, and past the numbers that were
-- printed themselves meanwhile: no two are alike on one day.
local function next_serial(series, number)
  if series == '' then series = all_series[1] or '' end
  if series == '' and restart ~= 'daily' then return '' end
  local day, count_field, day_field = today(), 'serial:' .. series, 'serial_day:' .. series
  local given, last, before = unpack(call('HMGET', QUEUE, count_field, day_field, 'serial_number'))
  given, last = tonumber(given) or 0, tonumber(last) or 0
  local new_day = day - last >= DAY_AT_LEAST
  if series == '' and number ~= (tonumber(before) or 0) + 1 then
    given = max(given + 1, number)
  elseif new_day and last > 0 then
    given = 1
  else
    given = given + 1
  end
  call('HSET', QUEUE, count_field, given, day_field, text(new_day and day or last))
  if series == '' then call('HSET', QUEUE, 'serial_number', number) end
  return string.format(series == '' and '%s%06d' or '%s%04d', series, given)
end

local function put_outcome(outcome, detail, number, record, due, rank)
  local size = #reply
  reply[size + 1], reply[size + 2], reply[size + 3] = outcome, detail, number
  put(reply, number, record, due, rank)
end

local function let_through(number)
  keep_tokens(tokens_now(0) - 1, false)
  return move(fetch(number), 'admit')
end

-- What makes two arrivals the same person here, as a field of the holders; '' where nothing does.
local TOLD_BY = ({client = 'client', user = 'user', phone = 'phone', ip = 'address'})[one_per]
local KIND = string.sub(one_per, 1, 1)
local function holder_of(a)
  local digest = TOLD_BY and a[TOLD_BY] or ''
  return digest ~= '' and KIND .. digest or ''
end

-- Who is given a ticket that is not written yet: in a rush nearly everyone joins behind all others, and all of them are
-- written by one command for each key, told of by one event, and answered by one row. Whatever needs to find them has
-- them written first.
local function nobody_new()
  return {numbers = {}, set = LINE, places = {}, dues = {}, records = {}, holders = {}, in_series = false}
end
local new = nobody_new()
local due = waiting_due()
local due_text = due and text(due) or ''

local function add_new(number, a)
  local place, serial = next_place(number + moves, a.level), next_serial(a.series, number)
  local record = packed_head(STATUS.waiting, 0, a.level, (a.held and IS_HELD or 0) + (serial ~= '' and HAS_EXTRA or 0),
    place, now, a.client, KIND == 'c' and a.holder ~= '' and 'c' or a.holder, a.key, a.person)
  if serial ~= '' then
    record, new.in_series = record .. struct.pack(EXTRA, 0, #serial, serial), true
  end
  if a.held then new.set = HELD end
  local i, places, dues, records, holders = #new.numbers + 1, new.places, new.dues, new.records, new.holders
  new.numbers[i] = number
  places[2 * i - 1], places[2 * i] = text(place), number
  dues[2 * i - 1], dues[2 * i] = due_text, number
  records[2 * i - 1], records[2 * i] = number, record
  if a.holder ~= '' then holders[#holders + 1], holders[#holders + 2] = a.holder, number end
  if a.key ~= '' then
    holders[#holders + 1], holders[#holders + 2] = 'j' .. a.key, number .. ' ' .. a.fingerprint
  end
end

local function put_new(level)
  local numbers, size = new.numbers, #reply
  local first, final = call('ZRANK', LINE, numbers[1]), call('ZRANK', LINE, numbers[#numbers])
  local in_a_row = first and final - first == #numbers - 1 -- so that nobody needs to be asked for in between
  if in_a_row and level == 0 and not new.in_series then -- all the rest is known to whoever asked
    reply[size + 1], reply[size + 2], reply[size + 3] = 'row', #numbers, numbers[1]
    reply[size + 4], reply[size + 5], reply[size + 6] = first, due_text, new.places[1]
    return
  end
  for i, number in ipairs(numbers) do
    put_outcome('joined', '', number, new.records[2 * i], due_text, in_a_row and first + i - 1)
  end
end

local function write_new(level, through)
  local first, size, set = new.numbers[1], #new.numbers, new.set
  if size == 0 then return end
  call('HSET', QUEUE, 'number', last)
  call('ZADD', set, unpack(new.places))
  if due then call('ZADD', DUE, unpack(new.dues)) end
  call('HSET', TICKETS, unpack(new.records))
  if #new.holders > 0 then call('HSET', HOLDERS, unpack(new.holders)) end
  count('joined', size)
  event('joined', size == 1 and first or first .. '-' .. last, level > 0 and level or '')
  if through then put_outcome('joined', '', first, let_through(first)) else put_new(level) end
  new = nobody_new()
end

local function existing(outcome, number)
  write_new(0)
  put_outcome(outcome, '', number, call('HGET', TICKETS, number))
end

local function refused(outcome, detail)
  write_new(0)
  put_outcome(outcome, detail, '')
end

local function refusal(a)
  if Q.status == 'maintenance' then return 'maintenance', '' end
  if not has_series(a.series) then return 'series', table.concat(all_series, ', ') end
  if not (a.unlimited or is_open()) then return 'closed', '' end
  if not a.unlimited and longest and waiting >= longest then return 'closing', '' end
  if waiting >= Q.max_queue_size then return 'full', waiting end
  if a.pass ~= '' then
    local level, uses, used, ends = string.match(call('HGET', PASSES, a.pass) or '', '^(%d+) (%d+) (%d+) (%d+)$')
    if not level or tonumber(ends) <= now then return 'pass', 'it has ended or was withdrawn' end
    if tonumber(used) >= tonumber(uses) then return 'pass', 'it is used up' end
    a.level = tonumber(level)
  end
  local wait = a.address_key and per_address > 0 and blocked(a.address_key, per_address, PER_ADDRESS) or 0
  if wait > 0 then return 'limited', 'address ' .. text(wait) end
  wait = a.phone_key and per_phone > 0 and blocked(a.phone_key, per_phone, PER_PHONE) or 0
  if wait > 0 then return 'limited', 'phone ' .. text(wait) end
  -- Nobody goes past people who wait, and room and rate are those of everyone.
  if a.through and not (lets_in() and waiting == 0 and room() > 0 and tokens_now(0) >= 1) then return 'no_room', '' end
end

local function use_up(a)
  if a.pass ~= '' then
    local head, used, tail = string.match(call('HGET', PASSES, a.pass), '^(%d+ %d+) (%d+)(.*)$')
    call('HSET', PASSES, a.pass, head .. ' ' .. text(tonumber(used) + 1) .. tail)
  end
  if a.address_key and per_address > 0 then hit(a.address_key, PER_ADDRESS) end
  if a.phone_key and per_phone > 0 then hit(a.phone_key, PER_PHONE) end
end

-- Who holds a ticket by which field, as far as these arrivals ask; those who join here are added.
local function read_holders(arrivals)
  local fields, held = {}, {}
  for _, a in ipairs(arrivals) do
    if a.key ~= '' then fields[#fields + 1] = 'j' .. a.key end
    if a.holder ~= '' then fields[#fields + 1] = a.holder end
  end
  for i, value in ipairs(#fields > 0 and call('HMGET', HOLDERS, unpack(fields)) or {}) do
    held[fields[i]] = value or nil
  end
  return held
end

local function join(a, held)
  local behind_all = a.level == 0 and not (a.held or a.through)
  if not behind_all then write_new(0) end
  last = last + 1
  add_new(last, a)
  waiting = waiting + 1
  if a.holder ~= '' then held[a.holder] = last end
  if a.key ~= '' then held['j' .. a.key] = last .. ' ' .. a.fingerprint end
  if a.came ~= '' then call('HSET', ARRIVING, last, a.came) end
  use_up(a)
  if not behind_all then
    write_new(a.level, a.through)
    waiting = call('ZCARD', LINE)
  end
end

-- What is not told by most.
local PLAIN = {__index = {
  user = '', phone = '', key = '', fingerprint = '', level = 0, pass = '', series = '', came = '',
}}

local function read_arrival(at)
  local a = setmetatable({
    client = ARGV[at], address = ARGV[at + 1], address_key = KEYS[tonumber(ARGV[at + 2])], person = ARGV[at + 3],
  }, PLAIN)
  local after = at + 5 + 2 * tonumber(ARGV[at + 4])
  if after > at + 5 then
    for name = at + 5, after - 1, 2 do a[ARGV[name]] = ARGV[name + 1] end
    a.level, a.phone_key = tonumber(a.level), a.phone_key and KEYS[tonumber(a.phone_key)]
  end
  a.holder = holder_of(a)
  return a, after
end

local arrivals, at = {}, 6
while at <= #ARGV do
  arrivals[#arrivals + 1], at = read_arrival(at)
end

local held = read_holders(arrivals)
for _, a in ipairs(arrivals) do
  local again = a.key ~= '' and held['j' .. a.key]
  if again then
    local number, fingerprint = string.match(again, '^(%d+) (.*)$')
    if fingerprint == a.fingerprint then existing('again', number) else refused('conflict', '') end
  elseif held[a.holder] then
    existing('held', held[a.holder])
  else
    local outcome, detail = refusal(a)
    if outcome then refused(outcome, detail) else join(a, held) end
  end
end
write_new(0)
return answer(reply)
