-- page.lua: goes through tickets in order, a page at a time. Included by close.lua and list.lua.
--#include queue

-- Give `take` the next `many` numbers of these sets, one set after the other. A cursor is the set it is in and the score
-- it has seen; without one, it begins with the set `first`. Returns the cursor to go on from; nil at the end.
local function turn_page(sets, first, last, cursor, many, take)
  local part, seen = string.match(cursor, '^(%d):(.+)$')
  part = tonumber(part) or first
  local after = seen and '(' .. seen or '-inf'
  while part <= last and many > 0 do
    local set = sets[part]
    local found = call('ZRANGEBYSCORE', set, after, '+inf', 'WITHSCORES', 'LIMIT', 0, many)
    for i = 1, #found, 2 do
      take(found[i])
      cursor = part .. ':' .. found[i + 1]
    end
    many = many - #found / 2
    if many > 0 then
      part, after = part + 1, '-inf'
    end
  end
  return part <= last and cursor or nil
end
