-- serial.lua: what is printed on a ticket instead of its number. Included by join.lua.
local restart, all_series = Q.label_restart, cjson.decode(Q.series)
local has_serials = #all_series > 0 or restart == 'daily'

local function is_series(name)
  for _, each in ipairs(all_series) do
    if each == name then return true end
  end
  return false
end

-- The next serial of a series. It counts from 1 each day if the queue says so. It never goes back to an earlier day, it
-- continues on the day on which that setting or the time zone is changed, and it goes past the plain numbers that were
-- printed in between: no two serials of one day are the same.
local function next_serial(series, number)
  if series == '' then series = all_series[1] or '' end
  local day = 0 -- when the present day began, by the store's clock; 0 if serials do not restart daily
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
