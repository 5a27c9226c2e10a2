-- record_estimates.lua: keep the waits that some people were shown, to be compared with the real ones at admission.
-- ARGV  1 now  then for each: number  the wait  the least  the most (in ms)  when they were shown it (0 = at joining)
--       how many people it stands for
-- Returns nothing. A ticket that was admitted since is compared at once; one that is gone is left out. A wait that was
-- shown later is kept beside the one from joining, and the first such wait stays.
--#include step
for i = 2, #ARGV, 6 do
  local t = fetch(ARGV[i])
  local seconds, low, high = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local told, weight = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5])
  local from = t and (told > 0 and told or t.joined)
  if t and t.state == STATUS.waiting then
    local shown = cmsgpack.pack({from - (Q.stopped or 0), seconds, low, high, weight})
    call(told > 0 and 'HSETNX' or 'HSET', ESTIMATES, told > 0 and t.number .. '+' or t.number, shown)
  elseif t and t.admitted > 0 and t.admitted >= from then
    compare(t.admitted - from, seconds, low, high, weight)
  end
end
return answer({})
