-- 0011: notices: which of them a queue sends, and who has been told that it is nearly their turn.

ALTER TABLE queues
  ADD COLUMN notices text[] NOT NULL DEFAULT '{}',
  ADD COLUMN notice_place integer NOT NULL DEFAULT 3;

ALTER TABLE tickets ADD COLUMN nearly boolean NOT NULL DEFAULT false;
