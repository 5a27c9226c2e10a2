-- join.lua: give each arrival a ticket at its place in the line, or the one its holder has already.
-- KEYS  1… the queue's, then the limits' keys that the arrivals name
-- ARGV  1 now  then for each arrival: client  user  phone  address (digests or '')  idempotency key (digest or '')
--       fingerprint of the body  level  pass id or ''  limit key of the address, of the phone (index in KEYS, 0 = none)
--       person (packed)  1 to go straight through or not at all, else 0
-- Returns for each: outcome  detail  number  rank  due  record. Outcomes: joined, held (by its holder), again (by its
-- idempotency key), or why not: conflict, maintenance, full, pass, limited (detail: who, and ms to wait), no_room.
--#include bucket
--#include place
--#include sliding
local PER_ADDRESS, PER_PHONE = 60000, 3600000
local one_per, per_address, per_phone = unpack(call('HMGET', QUEUE, 'one_per', 'join_limit_per_ip', 'join_limit_per_phone'))
per_address, per_phone = tonumber(per_address), tonumber(per_phone)
local reply = {}

local function put_outcome(outcome, detail, number, record)
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = outcome, detail, number
  put(reply, number, record)
end

local function existing(outcome, number)
  put_outcome(outcome, '', number, call('HGET', TICKETS, number))
end

-- What makes two arrivals the same person here, as a field of the holders; '' where nothing does.
local function holder_of(a)
  local digest = ({client = a.client, user = a.user, phone = a.phone, ip = a.address})[one_per] or ''
  return digest ~= '' and string.sub(one_per, 1, 1) .. digest or ''
end

local function refusal(a)
  if Q.status == 'maintenance' then return 'maintenance', '' end
  local waiting = call('ZCARD', LINE)
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

local function join(a, holder)
  local number = call('HINCRBY', QUEUE, 'number', 1)
  local turns = number + (tonumber(call('HGET', QUEUE, 'moves')) or 0)
  local t = {
    number = number, state = STATUS.waiting, reason = 0, level = a.level, leaving = 0,
    place = next_place(turns, a.level), joined = now, client = a.client,
    holder = holder == 'c' .. a.client and 'c' or holder, key = a.key, person = a.person, admitted = 0, ended = 0,
  }
  call('ZADD', LINE, text(t.place), number)
  set_due(number, waiting_due())
  if holder ~= '' then call('HSET', HOLDERS, holder, number) end
  if a.key ~= '' then call('HSET', HOLDERS, 'j' .. a.key, number .. ' ' .. a.fingerprint) end
  use_up(a)
  count('joined')
  event('joined', number, a.level > 0 and a.level or '')
  local record = save(t)
  if a.through then
    keep_tokens(tokens_now(0) - 1, false)
    record = move(fetch(number), 'admit')
  end
  put_outcome('joined', '', number, record)
end

for i = 2, #ARGV, 12 do
  local a = {
    client = ARGV[i], user = ARGV[i + 1], phone = ARGV[i + 2], address = ARGV[i + 3], key = ARGV[i + 4],
    fingerprint = ARGV[i + 5], level = tonumber(ARGV[i + 6]), pass = ARGV[i + 7],
    address_key = KEYS[tonumber(ARGV[i + 8])], phone_key = KEYS[tonumber(ARGV[i + 9])], person = ARGV[i + 10],
    through = ARGV[i + 11] == '1',
  }
  local again = a.key ~= '' and call('HGET', HOLDERS, 'j' .. a.key)
  local holder = holder_of(a)
  local held = not again and holder ~= '' and call('HGET', HOLDERS, holder)
  if again then
    local number, fingerprint = string.match(again, '^(%d+) (.*)$')
    if fingerprint == a.fingerprint then existing('again', number) else put_outcome('conflict', '', '') end
  elseif held then
    existing('held', held)
  else
    local outcome, detail = refusal(a)
    if outcome then put_outcome(outcome, detail, '') else join(a, holder) end
  end
end
return answer(reply)
