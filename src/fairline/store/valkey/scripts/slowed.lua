-- slowed.lua: note that the line goes more slowly from now on, and why: those who wait are told. Included by
-- configure.lua and desk.lua. The table CAUSE is generated from waits.py.
--#include causes
local function note_slowed(cause)
  Q.slowed_at, Q.slowed = now, cause
  call('HSET', QUEUE, 'slowed_at', now, 'slowed', cause)
end
