-- head.lua: the beginning of a ticket's record: the head that every record has, and an extra part if its flags say so
-- (how often the ticket moved to another device, its serial, and its rank in a draw with the opening of that draw). The
-- rest is in ticket.lua, and record.py reads the same. Included by ticket.lua and join.lua.
--#include queue
local HEAD, EXTRA_PART = '<BBBBddBc0Bc0Bc0I2c0', '<BBc0I4Bc0'
local IS_ON_HOLD, HAS_EXTRA = 2, 4

local function packed_head(state, reason, level, flags, place, joined, client, holder, key, person)
  return struct.pack(HEAD, state, reason, level, flags, place, joined, #client, client, #holder, holder, #key, key,
    #person, person)
end
