-- ticket.lua: the record of a ticket: the head that every record has (head.lua), and a tail once it was admitted or has
-- ended.
--#include head

local TAIL = '<ddddI4Bc0Bc0I2c0'
local LEAVING, IS_NEARLY = 1, 8

local function unpack_ticket(number, record)
  local t = {
    number = number, admitted = 0, started = 0, ended = 0, cap = 0, views = 0, by = '', desk = '', went = '',
    moved = 0, serial = '', rank = 0, drawn_in = '',
  }
  local flags, at
  t.state, t.reason, t.level, flags, t.place, t.joined, t.client, t.holder, t.key, t.person, at =
    struct.unpack(HEAD, record)
  t.leaving, t.on_hold, t.nearly = flags % 2 == 1, flags % 4 >= IS_ON_HOLD, flags >= IS_NEARLY
  if flags % 8 >= HAS_EXTRA then
    t.moved, t.serial, t.rank, t.drawn_in, at = struct.unpack(EXTRA_PART, record, at)
  end
  if at <= #record then
    t.admitted, t.started, t.ended, t.cap, t.views, t.by, t.desk, t.went = struct.unpack(TAIL, record, at)
  end
  return t
end

-- Who started the session of a record that has one, without unpacking the rest.
local function started_by(record)
  local at = 21 -- after the codes and two times come the client, the holder and the key
  for _ = 1, 3 do
    at = at + 1 + string.byte(record, at)
  end
  local low, high = string.byte(record, at, at + 1)
  at = at + 2 + low + 256 * high -- after the person
  if string.byte(record, 4) % 8 >= HAS_EXTRA then
    local _
    _, _, _, _, at = struct.unpack(EXTRA_PART, record, at)
  end
  at = at + 36 -- after the times and the views
  return string.sub(record, at + 1, at + string.byte(record, at))
end

-- Whether a session belongs to `by`: to what started it, or to the end of that, which is the browser at its address.
local function is_by(started, by)
  return started == by or by ~= '' and string.sub(started, -#by) == by
end

local function fetch(number)
  local record = call('HGET', TICKETS, number)
  return record and unpack_ticket(number, record)
end

-- Whether this is a ticket of the same number in a recreated queue, not the one that was issued at `joined` ('' = any).
local function is_another(t, joined)
  return joined ~= '' and tonumber(joined) ~= t.joined
end

local function packed(t)
  local extra = t.moved > 0 or t.serial ~= '' or t.rank > 0
  local flags = (t.leaving and LEAVING or 0) + (t.on_hold and IS_ON_HOLD or 0) + (extra and HAS_EXTRA or 0)
    + (t.nearly and IS_NEARLY or 0)
  local record = packed_head(t.state, t.reason, t.level, flags, t.place, t.joined, t.client, t.holder, t.key, t.person)
  if extra then
    record = record .. struct.pack(EXTRA_PART, t.moved, #t.serial, t.serial, t.rank, #t.drawn_in, t.drawn_in)
  end
  if t.admitted > 0 or t.ended > 0 then
    record = record .. struct.pack(TAIL, t.admitted, t.started, t.ended, t.cap, t.views, #t.by, t.by, #t.desk,
      t.desk, #t.went, t.went)
  end
  return record
end

local function save(t)
  local record = packed(t)
  call('HSET', TICKETS, t.number, record)
  return record
end

-- The one deadline of a ticket, in the queue's time.
local function set_due(number, at)
  if at then
    call('ZADD', DUE, at, number)
  else
    call('ZREM', DUE, number)
  end
end
