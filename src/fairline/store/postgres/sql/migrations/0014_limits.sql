-- 0014: how often one mailbox may be named at joining, and how much of an IPv6 address counts as one address.

ALTER TABLE queues
  ADD COLUMN join_limit_per_email integer NOT NULL DEFAULT 3,
  ADD COLUMN ipv6_prefix integer NOT NULL DEFAULT 64;
