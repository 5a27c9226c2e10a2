-- 0015: whether a queue takes only people whose site says, signed, who they are.

ALTER TABLE queues ADD COLUMN require_user_token boolean NOT NULL DEFAULT false;
