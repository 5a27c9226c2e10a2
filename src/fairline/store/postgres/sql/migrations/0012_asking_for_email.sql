-- 0012: whether the form for taking a number asks for an e-mail address.

ALTER TABLE queues ADD COLUMN ask_email text NOT NULL DEFAULT 'no';
