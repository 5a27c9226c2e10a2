-- 0002_waits.sql: what the estimates of waits are made from.

ALTER TABLE tallies
  ADD COLUMN head_joined bigint NOT NULL DEFAULT 0,  -- when the last person who was let in had joined
  ADD COLUMN flow_passed double precision NOT NULL DEFAULT 0, -- how many people others have gone ahead of
  ADD COLUMN passed_at bigint NOT NULL DEFAULT 0,
  ADD COLUMN slowed_at bigint NOT NULL DEFAULT 0,    -- when the line was last slowed, and why: see waits.py
  ADD COLUMN slowed bigint NOT NULL DEFAULT 0,
  ADD COLUMN aged_at bigint,                         -- when the ages of those who wait were last measured
  ADD COLUMN left_by_age double precision[] NOT NULL DEFAULT '{}',
  ADD COLUMN waited_by_age double precision[] NOT NULL DEFAULT '{}';

-- A sample of a wait that was shown: at joining, or later. It stands for `weight` people.
ALTER TABLE estimates
  ADD COLUMN later boolean NOT NULL DEFAULT false,
  ADD COLUMN weight bigint NOT NULL DEFAULT 1,
  DROP CONSTRAINT estimates_pkey,
  ADD PRIMARY KEY (queue, number, later);
