-- bucket.lua: the tokens that let people in at the queue's rate. Included by admit.lua and join.lua.
-- The number of tokens is kept as a fraction, with the time at which it was counted. The burst is its limit. But if the
-- line waits for nothing but the next token, a late tick must not lose any: then the limit is the fraction that was
-- left and the tokens of two ticks.
local function burst()
  return Q.burst or max(1, Q.admission_rate)
end

local function tokens_now(every)
  local tokens, limit = Q.tokens or burst(), burst()
  if Q.token_bound == 1 then limit = max(limit, min(1, tokens) + 2 * Q.admission_rate * every / 1000) end
  return min(limit, tokens + Q.admission_rate * max(0, now - (Q.tokens_at or now)) / 1000)
end

local function keep_tokens(tokens, token_bound)
  Q.tokens, Q.tokens_at, Q.token_bound = tokens, now, token_bound and 1 or 0
  call('HSET', QUEUE, 'tokens', tokens, 'tokens_at', now, 'token_bound', Q.token_bound)
end

local function lets_in()
  return Q.status == 'active' and Q.admission == 'auto' and Q.admission_rate > 0 and not HELD_BACK[Q.phase]
end
