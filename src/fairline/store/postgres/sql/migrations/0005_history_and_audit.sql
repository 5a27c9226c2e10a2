-- 0005: who changed what: the settings as they were, what was done with admin keys, and which processes are there.

CREATE TABLE revisions (
  queue bigint NOT NULL,
  version bigint NOT NULL,
  at bigint NOT NULL,
  by text NOT NULL,                          -- the id of an admin key; empty for Fairline itself
  settings jsonb NOT NULL,
  PRIMARY KEY (queue, version)
);

-- A queue that was there before has its present settings to go back to.
INSERT INTO revisions (queue, version, at, by, settings)
SELECT q.key, q.version,
  coalesce((SELECT max(e.at) FROM events e WHERE e.queue = q.key AND e.type = 'settings_changed'), q.created), '',
  to_jsonb(q) - ARRAY['key', 'id', 'version', 'created']
FROM queues q;

CREATE TABLE audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  queue text COLLATE "C",
  deed jsonb NOT NULL
);
CREATE INDEX audit_queue ON audit (queue, id);

CREATE TABLE workers (
  part text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (part, name)
);
