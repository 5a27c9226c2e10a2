-- refusals.lua: why an arrival gets no ticket, and what a join counts against. Included by join.lua.
local per_address, per_phone, per_email = Q.join_limit_per_ip, Q.join_limit_per_phone, Q.join_limit_per_email
local in_maintenance, longest_line, longest_today = Q.status == 'maintenance', Q.max_queue_size, tonumber(ARGV[5])

local is_open = ARGV[4] == ''
for from, to in string.gmatch(ARGV[4], '(%d+)-(%d+)') do
  is_open = is_open or tonumber(from) <= now and now < tonumber(to)
end

-- Going straight in needs an empty line, a free place and a token: nobody overtakes people who wait, and the capacity
-- and the rate are the same for everyone.
-- What a rush of plain joins does not need is defined when it is needed, because every call of a script defines its
-- functions again: 24 joins would take 10 % more instructions, a single one 16 %.
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

-- The key of the limit on joins per address; false if it does not apply.
local function limited_address(i)
  return per_address > 0 and KEYS[tonumber(ARGV[ADDRESS_KEYS + 4 * i])]
end

-- Why an arrival gets no ticket; nothing if it gets one. A priority pass sets its level.
local function reason_against(address_key, extra)
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
  if extra.group ~= '' then
    local reason = reason_against_group(extra)
    if reason then return reason, '' end
  end
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
