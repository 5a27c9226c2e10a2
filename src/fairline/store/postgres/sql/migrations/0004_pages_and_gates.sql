-- 0004: what a queue says of its page, and who passes its gate without a pass.

ALTER TABLE queues
  ADD COLUMN passthrough boolean NOT NULL DEFAULT false,
  ADD COLUMN bypass_paths text[] NOT NULL DEFAULT '{}',
  ADD COLUMN bypass_agents text[] NOT NULL DEFAULT '{}',
  ADD COLUMN bypass_addresses text[] NOT NULL DEFAULT '{}',
  ADD COLUMN opens_at text NOT NULL DEFAULT '',
  ADD COLUMN logo text NOT NULL DEFAULT '',
  ADD COLUMN accent_colour text NOT NULL DEFAULT '',
  ADD COLUMN background_colour text NOT NULL DEFAULT '',
  ADD COLUMN texts jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN page_template text NOT NULL DEFAULT '';
