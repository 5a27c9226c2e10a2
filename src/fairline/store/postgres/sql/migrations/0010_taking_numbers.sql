-- 0010: what the form for taking a number asks.

ALTER TABLE queues
  ADD COLUMN ask_name text NOT NULL DEFAULT 'optional',
  ADD COLUMN ask_phone text NOT NULL DEFAULT 'optional',
  ADD COLUMN ask_party_size text NOT NULL DEFAULT 'no';
