-- 0006: figures by the minute for a day, what people were told of their wait, and who comes out of the inside.

-- The counts of each minute, by name.
CREATE TABLE minutes (
  queue bigint NOT NULL,
  minute bigint NOT NULL,
  counts jsonb NOT NULL,
  PRIMARY KEY (queue, minute)
) WITH (fillfactor = 50);

DELETE FROM stats WHERE span LIKE 'm%';

-- The wait in ms that was shown at joining, until it is compared; `joined` is in the queue's own time.
CREATE TABLE shown (
  queue bigint NOT NULL,
  number bigint NOT NULL,
  joined bigint NOT NULL,
  seconds bigint NOT NULL,
  low bigint NOT NULL,
  high bigint NOT NULL,
  PRIMARY KEY (queue, number)
);

ALTER TABLE tallies
  ADD COLUMN flow_inside double precision NOT NULL DEFAULT 0,
  ADD COLUMN flow_out double precision NOT NULL DEFAULT 0;
