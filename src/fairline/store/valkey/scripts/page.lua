-- page.lua: read tickets in order, a page at a time. Included by close.lua and list.lua.
--#include queue

-- Give `take` the next `many` numbers of these sets, one set after the other. A cursor is the set it is in and the last
-- score it gave; without one, the set `first` comes first. Returns the cursor to continue from; nil at the end.
local function turn_page(sets, first, last, cursor, many, take)
  local part, seen = string.match(cursor, '^(%d):(.+)$')
  part = tonumber(part) or first
  local after = seen and '(' .. seen or '-inf'
  while part <= last do
    local set = sets[part]
    -- Read one more than is given, to know whether a full page is the last one.
    local found = call('ZRANGEBYSCORE', set, after, '+inf', 'WITHSCORES', 'LIMIT', 0, many + 1)
    for i = 1, 2 * math.min(many, #found / 2), 2 do
      take(found[i])
      cursor = part .. ':' .. found[i + 1]
    end
    if #found / 2 > many then return cursor end
    many = many - #found / 2
    part, after = part + 1, '-inf'
  end
  return nil
end
