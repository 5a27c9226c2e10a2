-- 0003: what belongs to the server rather than to a queue: admin keys, generations of signing keys, who is there.

CREATE TABLE admin_keys (
  id text COLLATE "C" PRIMARY KEY,
  role text NOT NULL,
  name text NOT NULL,
  digest text NOT NULL,
  created bigint NOT NULL
);

CREATE TABLE generations (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  generation bigint NOT NULL
);
INSERT INTO generations (generation) VALUES (1);

CREATE TABLE alive (
  part text COLLATE "C" PRIMARY KEY,
  at bigint NOT NULL
);
