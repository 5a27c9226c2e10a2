-- 0012: whether the form for taking a number asks for an e-mail address; where those come from who are being transferred.

ALTER TABLE queues ADD COLUMN ask_email text NOT NULL DEFAULT 'no';

ALTER TABLE tickets ADD COLUMN came json;
CREATE INDEX tickets_arriving ON tickets (queue, number) WHERE held AND came IS NOT NULL;
