-- outbox_due.lua: whether a delivery is due now.
-- ARGV  1 now
-- Returns 1 or 0.
--#include outbox
return #call('ZRANGEBYSCORE', PENDING, '-inf', text(now), 'LIMIT', '0', '1')
