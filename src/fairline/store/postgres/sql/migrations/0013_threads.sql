-- 0013: deliveries that are tried one after the other.

-- The thread of a delivery until it was tried, and the one before it, as long as that was not.
ALTER TABLE deliveries ADD COLUMN thread text COLLATE "C", ADD COLUMN after text COLLATE "C";
CREATE INDEX deliveries_of_a_thread ON deliveries (box, thread) WHERE thread IS NOT NULL;
