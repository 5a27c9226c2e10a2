-- arrivals.lua: read the arrivals of a join, and find those whose holder has a ticket already. Included by join.lua.
-- ARGV  6 how many there are
--       then for each of them: client (digest or '')  address (digest or '')  limit key of the address (index in
--       KEYS, 0 = none)  person (packed)
--       then what only some of them have, one by one: which arrival (from 1)  name  value. The names:
--       user, phone (digests)  phone_key, email_key (limit keys, as that of the address)
--       key, fingerprint (of the idempotency key, and of the body)  level  pass (id)  series
--       unlimited (the limits of the queue do not apply)  through (straight in, or no ticket)  on_hold (joins on hold)
--       came (where from, as record.py packs it)  missing (a required field that was left out)
--       group (the number of its first ticket, and when that one joined)
local COUNT = tonumber(ARGV[6])
-- Where the parts of arrival `i` are in ARGV, less 4 * i; and where the extras begin.
local CLIENTS, ADDRESSES, ADDRESS_KEYS, PERSONS, EXTRAS = 3, 4, 5, 6, 6 + 4 * COUNT
local NO_EXTRAS = {key = '', fingerprint = '', level = 0, pass = '', series = '', came = '', missing = '', group = ''}

local extras = {}
for at = EXTRAS + 1, #ARGV, 3 do
  local i, name, value = tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2]
  extras[i] = extras[i] or setmetatable({}, {__index = NO_EXTRAS})
  local is_key = name == 'phone_key' or name == 'email_key'
  extras[i][name] = name == 'level' and tonumber(value) or is_key and KEYS[tonumber(value)] or value
end

-- A table of this size, because one that grows is copied again and again: 24 joins would take 7 % more instructions.
-- Its content is there to be overwritten.
local function sized(size)
  return {unpack(ARGV, 1, size)}
end

-- The fields of HOLDERS to look up: one for each arrival, then those of the idempotency keys. An arrival that leaves
-- out what the queue goes by counts by its client; '' is for one that cannot hold a ticket already.
local one_per, KIND = Q.one_per, string.sub(Q.one_per, 1, 1)
local DIGESTS = ({client = CLIENTS, ip = ADDRESSES})[one_per]
local fields = sized(COUNT)
for i = 1, COUNT do
  local digest = DIGESTS and ARGV[DIGESTS + 4 * i] or extras[i] and extras[i][one_per] or ''
  if digest ~= '' then
    fields[i] = KIND .. digest
  else
    fields[i] = one_per ~= 'none' and ARGV[CLIENTS + 4 * i] ~= '' and 'c' .. ARGV[CLIENTS + 4 * i] or ''
  end
end
for _, extra in pairs(extras) do
  if extra.key ~= '' then
    extra.key_at = #fields + 1
    fields[extra.key_at] = 'j' .. extra.key
  end
end

-- The ticket that is found by one of the fields: one from before this step, or one that the step has given out since.
local found_before, given_since = COUNT > 0 and call('HMGET', HOLDERS, unpack(fields)), {}
local function ticket_of(at)
  return given_since[fields[at]] or found_before[at]
end
