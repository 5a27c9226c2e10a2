-- 0008: the walk-in line: people put aside, transferred or moved to another device; labels by series and by day; desks;
-- opening hours.

ALTER TYPE reason ADD VALUE 'transferred';
ALTER TYPE reason ADD VALUE 'closed';

ALTER TABLE queues
  ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC',
  ADD COLUMN label_restart text NOT NULL DEFAULT 'never',
  ADD COLUMN series text[] NOT NULL DEFAULT '{}',
  ADD COLUMN desks text[] NOT NULL DEFAULT '{}',
  ADD COLUMN wait_sample integer NOT NULL DEFAULT 20,
  ADD COLUMN desk_idle_seconds double precision NOT NULL DEFAULT 900,
  ADD COLUMN opening_hours jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN closed_dates text[] NOT NULL DEFAULT '{}',
  ADD COLUMN close_early boolean NOT NULL DEFAULT true,
  ADD COLUMN clear_after_minutes integer,
  ADD COLUMN phone_region text NOT NULL DEFAULT '',
  ADD COLUMN max_party_size integer NOT NULL DEFAULT 20;

ALTER TABLE tallies
  ADD COLUMN on_hold bigint NOT NULL DEFAULT 0 CHECK (on_hold >= 0),  -- who waits but is on_hold
  ADD COLUMN empty_at bigint NOT NULL DEFAULT 0,                          -- until when nobody waited, the last time
  ADD COLUMN cycles bigint[] NOT NULL DEFAULT '{}',                       -- ms a desk took for one call, newest first
  ADD COLUMN closed_day bigint NOT NULL DEFAULT 0;                        -- the last end of a day that was cleared

ALTER TABLE tickets
  ADD COLUMN on_hold boolean NOT NULL DEFAULT false,
  ADD COLUMN serial text NOT NULL DEFAULT '',
  ADD COLUMN moved smallint NOT NULL DEFAULT 0,
  ADD COLUMN went json;
CREATE INDEX tickets_on_hold ON tickets (queue, place) WHERE on_hold;

-- Whoever is on_hold has rules of their own.
ALTER TABLE transitions ADD COLUMN on_hold boolean NOT NULL DEFAULT false;
ALTER TABLE transitions DROP CONSTRAINT transitions_pkey;
ALTER TABLE transitions ADD PRIMARY KEY (status, action, on_hold);

-- The counts that labels are made from, each with the day it is of (0 where days do not matter) and the last ticket
-- that had one.
CREATE TABLE serials (
  queue bigint NOT NULL,
  series text COLLATE "C" NOT NULL,
  day bigint NOT NULL,
  given bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (queue, series)
) WITH (fillfactor = 50);

-- When a desk last called or opened (below 0: closed), and its last call with how many it called.
CREATE TABLE desks (
  queue bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  seen bigint NOT NULL,
  called bigint,
  many bigint,
  PRIMARY KEY (queue, name)
) WITH (fillfactor = 50);
