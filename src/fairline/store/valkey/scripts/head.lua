-- head.lua: what is kept of a ticket from its beginning on: the head that every record has, and an extra part where its
-- flags say so (how often it moved to another device, and its serial). What comes later is in ticket.lua; record.py
-- reads the same. Included by ticket.lua and join.lua.
--#include queue
local HEAD, EXTRA_PART = '<BBBBddBc0Bc0Bc0I2c0', '<BBc0'
local IS_ON_HOLD, HAS_EXTRA = 2, 4

local function packed_head(state, reason, level, flags, place, joined, client, holder, key, person)
  return struct.pack(HEAD, state, reason, level, flags, place, joined, #client, client, #holder, holder, #key, key,
    #person, person)
end
