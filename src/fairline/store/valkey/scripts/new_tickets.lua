-- new_tickets.lua: collects new tickets and writes them together. Included by join.lua.
-- In a rush nearly everyone joins behind all others. Their tickets are written by one command for each key, recorded as
-- one event, and answered by one row. Before anything needs to find them, they are written. One by one, 24 joins would
-- take 150 % more instructions; without the row, 22 % more here, and 20 % more of the worker.
local function no_new_tickets(size)
  return {
    size = 0, set = LINE, places = sized(2 * size), dues = sized(2 * size), records = sized(2 * size), holders = {},
  }
end
local new = no_new_tickets(COUNT)
local due = waiting_due()
local due_text = due and text(due) or ''

local function note_holder(field, value)
  local holders = new.holders
  given_since[field] = value
  holders[#holders + 1], holders[#holders + 2] = field, value
end

local function add_new_ticket(i, number, extra)
  local place, field = extra.beside and extra.beside.place or next_place(number + moves, extra.level), fields[i]
  local flags = (extra.on_hold and IS_ON_HOLD or 0) + (has_serials and HAS_EXTRA or 0)
  local record = packed_head(STATUS.waiting, 0, extra.level, flags, place, now, ARGV[CLIENTS + 4 * i],
    string.sub(field, 1, 1) == 'c' and 'c' or field, extra.key, ARGV[PERSONS + 4 * i])
  if has_serials then
    local serial = next_serial(extra.series, number)
    record = record .. struct.pack(EXTRA_PART, 0, #serial, serial, 0, 0, '')
  end
  local at, places, dues, records = 2 * new.size, new.places, new.dues, new.records
  places[at + 1], places[at + 2] = place, number
  dues[at + 1], dues[at + 2] = due_text, number
  records[at + 1], records[at + 2] = number, record
  if field ~= '' then note_holder(field, number) end
  if extra.key ~= '' then note_holder(fields[extra.key_at], number .. ' ' .. extra.fingerprint) end
  if extra.on_hold then new.set = ON_HOLD end
  new.goes_ahead = extra.level > 0 or extra.beside
  new.size = new.size + 1
end

local function put_outcome(outcome, detail, number, record, due, rank)
  local size = #reply
  reply[size + 1], reply[size + 2], reply[size + 3] = outcome, detail, number
  put(reply, number, record, due, rank)
end

local function put_new_tickets(first, level)
  local at, rank = #reply, call('ZRANK', LINE, first)
  if new.goes_ahead and rank then note_passed(waiting - new.size - rank) end
  local in_a_row = rank == waiting - new.size -- then the rank of each follows from that of the first
  if in_a_row and level == 0 and not has_serials then -- the caller knows everything else about them
    reply[at + 1], reply[at + 2], reply[at + 3] = 'row', new.size, first
    reply[at + 4], reply[at + 5], reply[at + 6] = rank, due_text, text(new.places[1])
    return
  end
  for i = 1, new.size do
    put_outcome('joined', '', first + i - 1, new.records[2 * i], due_text, in_a_row and rank + i - 1)
  end
end

local function write_new_tickets(level, through)
  local size, first, set = new.size, last_number - new.size + 1, new.set
  if size == 0 then return end
  call('HSET', QUEUE, 'number', last_number)
  call('ZADD', set, unpack(new.places, 1, 2 * size))
  if due then call('ZADD', DUE, unpack(new.dues, 1, 2 * size)) end
  call('HSET', TICKETS, unpack(new.records, 1, 2 * size))
  if #new.holders > 0 then call('HSET', HOLDERS, unpack(new.holders)) end
  count('joined', size)
  event('joined', size == 1 and first or first .. '-' .. last_number, level > 0 and level or '')
  if through then
    put_outcome('joined', '', first, going_straight().let_in(first))
  else
    put_new_tickets(first, level)
  end
  new = no_new_tickets(0)
end
