-- 0003_draws.sql: openings, and the draws of their pre-queues.

-- The openings of a queue are kept with its settings, and so is what the one in progress does to it.
ALTER TABLE queues
  ADD COLUMN openings jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN phase text NOT NULL DEFAULT '';

-- The rank of a ticket in a draw, and the opening of that draw; null if it was in none.
ALTER TABLE tickets
  ADD COLUMN drawn_rank bigint,
  ADD COLUMN drawn_in text;

-- What belongs to draws, by opening, in named parts.
CREATE TABLE draws (
  queue bigint NOT NULL,
  opening text COLLATE "C" NOT NULL,
  part text COLLATE "C" NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (queue, opening, part)
);

-- The tickets in the draw that was frozen last, from 0.
CREATE TABLE members (
  queue bigint NOT NULL,
  at bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (queue, at)
);
