-- 0004_groups.sql: people who wait as a group.

-- Everyone in a group, with the number of its first ticket, and when that one had joined.
CREATE TABLE groups (
  queue bigint NOT NULL,
  number bigint NOT NULL,
  first bigint NOT NULL,
  first_joined bigint NOT NULL,
  PRIMARY KEY (queue, number)
);
CREATE INDEX groups_by_first ON groups (queue, first);

-- How many people are in groups: without any, no step reads them.
ALTER TABLE tallies ADD COLUMN groups bigint NOT NULL DEFAULT 0;

-- The group for which someone is in the draw.
ALTER TABLE members ADD COLUMN first bigint;
