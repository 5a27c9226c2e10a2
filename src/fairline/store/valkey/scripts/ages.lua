-- ages.lua: how many people left the line, and how many seconds people waited, by the age they had: the time since they
-- joined. Included by step.lua and admit.lua. The field is ':', which no number begins with, and a number for each age:
-- the people who left, then the seconds.
--#include bounds
local AGES_PACKED = '<' .. string.rep('d', 2 * AGE_CLASSES)
local ages

local function ages_now()
  if not ages then
    ages = {}
    if Q.ages then ages = {struct.unpack(AGES_PACKED, Q.ages, 2)} end
    for i = 1, 2 * AGE_CLASSES do ages[i] = ages[i] or 0 end
    ages[2 * AGE_CLASSES + 1] = nil
  end
  return ages
end

-- The classes begin at 0, at YOUNGEST_SECONDS, and at twice that of the class before.
local function count_age(ms, from, by)
  local class, ends = 0, YOUNGEST_SECONDS * 1000
  while ms >= ends and class < AGE_CLASSES - 1 do class, ends = class + 1, 2 * ends end
  local at = from + class + 1
  ages_now()[at] = max(0, ages_now()[at] + by)
end

function write_ages()
  if not ages then return end
  Q.ages = ':' .. struct.pack(AGES_PACKED, unpack(ages))
  call('HSET', QUEUE, 'ages', Q.ages)
end
