-- 0007: webhooks, and the outbox from which they are sent.

CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  created bigint NOT NULL,
  webhook jsonb NOT NULL
);

-- One for each receiver.
CREATE TABLE outboxes (
  box text COLLATE "C" PRIMARY KEY,
  made bigint NOT NULL
);

-- The last event that an outbox has taken of each queue.
CREATE TABLE outbox_cursors (
  box text COLLATE "C" NOT NULL REFERENCES outboxes ON DELETE CASCADE,
  queue text COLLATE "C" NOT NULL,
  event text COLLATE "C" NOT NULL,
  PRIMARY KEY (box, queue)
);

-- What is to be sent (`at` is when it is due), and what was given up (`at` is when that was).
CREATE TABLE deliveries (
  box text COLLATE "C" NOT NULL REFERENCES outboxes ON DELETE CASCADE,
  id text COLLATE "C" NOT NULL,
  payload text NOT NULL,
  made bigint NOT NULL,
  tries int NOT NULL DEFAULT 0,
  dead boolean NOT NULL DEFAULT false,
  at bigint NOT NULL,
  error text NOT NULL DEFAULT '',
  PRIMARY KEY (box, id)
);
CREATE INDEX deliveries_in_order ON deliveries (box, dead, at, id);
