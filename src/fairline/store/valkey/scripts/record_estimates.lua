-- record_estimates.lua: keep the waits that some people were shown, to be compared with the real ones at admission.
-- ARGV  1 now  then for each: number  the wait  the least  the most (in ms)
-- Returns nothing. A ticket that was admitted since is compared at once; one that is gone is left out.
--#include step
for i = 2, #ARGV, 4 do
  local t = fetch(ARGV[i])
  local seconds, low, high = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  if t and t.state == STATUS.waiting then
    call('HSET', ESTIMATES, t.number, cmsgpack.pack({t.joined - (Q.stopped or 0), seconds, low, high}))
  elseif t and t.admitted > 0 then
    compare(max(0, t.admitted - t.joined), seconds, low, high)
  end
end
return answer({})
