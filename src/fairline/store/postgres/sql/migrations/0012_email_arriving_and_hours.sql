-- 0012: whether the form for taking a number asks for an e-mail address; where those come from who are being transferred;
-- hours that are older than two days.

ALTER TABLE queues ADD COLUMN ask_email text NOT NULL DEFAULT 'no';

ALTER TABLE tickets ADD COLUMN came json;
CREATE INDEX tickets_arriving ON tickets (queue, number) WHERE on_hold AND came IS NOT NULL;

-- The counts of each hour, by name, once it is not at hand in `stats` any more.
CREATE TABLE hours (
  queue bigint NOT NULL,
  hour bigint NOT NULL,
  counts jsonb NOT NULL,
  PRIMARY KEY (queue, hour)
);
