-- outbox_due.lua: whether there is something to send now.
-- ARGV  1 now
-- Returns 1 or 0.
--#include outbox
return #call('ZRANGEBYSCORE', PENDING, '-inf', text(now), 'LIMIT', '0', '1')
