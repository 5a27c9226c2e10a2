-- 0002: what a step leaves behind: hits under limits, events in the outbox, counts in the statistics.

-- The times of the hits inside a sliding window, oldest first; after `until` none of them counts.
CREATE TABLE limits (
  queue bigint NOT NULL,
  who text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  hits bigint[] NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (queue, who, action)
) WITH (fillfactor = 70);

-- The outbox: what happened, in the order of the steps, numbered without a gap in each queue.
CREATE TABLE events (
  queue bigint NOT NULL,
  id bigint NOT NULL,
  type text NOT NULL,
  at bigint NOT NULL,
  ticket bigint,
  detail text,
  PRIMARY KEY (queue, id)
);

-- Counts by hour (h…), by minute (m…) and so far (total).
CREATE TABLE stats (
  queue bigint NOT NULL,
  span text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value bigint NOT NULL,
  PRIMARY KEY (queue, span, name)
) WITH (fillfactor = 50);
