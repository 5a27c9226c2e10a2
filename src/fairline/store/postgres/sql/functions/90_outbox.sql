-- 90_outbox.sql: webhooks, and the outboxes with the deliveries to other systems.

-- all_webhooks: oldest first; one alone by its id.
CREATE FUNCTION all_webhooks(_id text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(webhook ORDER BY created, id), '[]') FROM webhooks WHERE _id IS NULL OR id = _id
$$;

-- put_webhook: add a webhook, or replace the one with its id.
CREATE FUNCTION put_webhook(_id text, _created bigint, _webhook jsonb) RETURNS json LANGUAGE sql AS $$
  INSERT INTO webhooks (id, created, webhook) VALUES (_id, _created, _webhook)
  ON CONFLICT (id) DO UPDATE SET webhook = excluded.webhook, created = excluded.created;
  SELECT 'null'::json;
$$;

-- remove_webhook: returns whether there was one.
CREATE FUNCTION remove_webhook(_id text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM webhooks WHERE id = _id;
  RETURN to_json(FOUND);
END $$;

-- A delivery in an answer.
CREATE FUNCTION delivery(_d deliveries) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT json_build_object('id', _d.id, 'payload', _d.payload, 'made', _d.made, 'tries', _d.tries, 'at', _d.at,
    'error', _d.error)
$$;

-- outbox_open: create an outbox, unless it exists.
CREATE FUNCTION outbox_open(_box text, _at bigint, _queues text[], _events text[]) RETURNS json
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO outboxes (box, made) VALUES (_box, moment(_at)) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    INSERT INTO outbox_cursors (box, queue, event)
    SELECT _box, queue, event FROM unnest(_queues, _events) c(queue, event);
  END IF;
  RETURN 'null';
END $$;

-- outbox_drop: remove an outbox with its deliveries.
CREATE FUNCTION outbox_drop(_box text) RETURNS json LANGUAGE sql AS $$
  DELETE FROM outboxes WHERE box = _box;
  SELECT 'null'::json;
$$;

-- outbox_cursor: the last event taken from a queue, null if none was.
CREATE FUNCTION outbox_cursor(_box text, _queue text) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT to_json(event) FROM outbox_cursors WHERE box = _box AND queue = _queue), 'null');
END $$;

-- outbox_take: add deliveries and advance the cursor of their queue, if it is still where the caller saw it.
-- A delivery of a thread waits until the one before it was tried, but not for ever. That one is locked: a claim of it
-- that is settled at this moment is either done, and there is nothing to wait for, or sees the delivery that follows.
-- Returns whether that was done: it is not if the cursor has moved, or the outbox is full or not open.
CREATE FUNCTION outbox_take(
  _box text, _at bigint, _queue text, _seen text, _to text, _most bigint, _put_off bigint, _ids text[],
  _payloads text[], _threads text[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
BEGIN
  PERFORM 1 FROM outboxes WHERE box = _box FOR NO KEY UPDATE;
  IF NOT FOUND
    OR (SELECT event FROM outbox_cursors WHERE box = _box AND queue = _queue) IS DISTINCT FROM _seen
    OR (cardinality(_ids) > 0
      AND cardinality(_ids) + (SELECT count(*) FROM deliveries WHERE box = _box AND NOT dead) > _most)
  THEN
    RETURN 'false';
  END IF;
  WITH fresh AS (
    SELECT id, payload, nullif(thread, '') AS thread, i
    FROM unnest(_ids, _payloads, _threads) WITH ORDINALITY p(id, payload, thread, i)
    WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.box = _box AND d.id = p.id)
  ), following AS (
    SELECT f.*, CASE WHEN thread IS NOT NULL THEN coalesce(lag(id) OVER (PARTITION BY thread ORDER BY i), (
      SELECT d.id FROM deliveries d WHERE d.box = _box AND d.thread = f.thread
        AND NOT EXISTS (SELECT 1 FROM deliveries n WHERE n.box = _box AND n.thread = f.thread AND n.after = d.id)
      ORDER BY d.made DESC LIMIT 1 FOR NO KEY UPDATE))
    END AS after
    FROM fresh f
  )
  INSERT INTO deliveries (box, id, payload, made, at, thread, after)
  SELECT _box, id, payload, _now, CASE WHEN after IS NULL THEN _now ELSE _now + _put_off END, thread, after
  FROM following
  ON CONFLICT DO NOTHING;
  INSERT INTO outbox_cursors (box, queue, event) VALUES (_box, _queue, _to)
  ON CONFLICT (box, queue) DO UPDATE SET event = excluded.event;
  RETURN 'true';
END $$;

-- outbox_due: which of these outboxes have a delivery that is due.
CREATE FUNCTION outbox_due(_at bigint, _boxes text[]) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _now bigint := moment(_at);
BEGIN
  RETURN (SELECT coalesce(json_agg(box), '[]') FROM unnest(_boxes) b(box)
    WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.box = b.box AND NOT d.dead AND d.at <= _now));
END $$;

-- outbox_claim: claim the deliveries that are due, each until its claim lapses. Old dead deliveries are removed.
CREATE FUNCTION outbox_claim(_box text, _at bigint, _many bigint, _hold bigint, _keep bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
  _claimed json;
BEGIN
  DELETE FROM deliveries WHERE box = _box AND dead AND at <= _now - _keep;
  WITH due AS (
    SELECT id, at FROM deliveries WHERE box = _box AND NOT dead AND at <= _now ORDER BY at, id LIMIT _many
    FOR NO KEY UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE deliveries d SET tries = d.tries + 1, at = _now + _hold FROM due WHERE d.box = _box AND d.id = due.id
    RETURNING delivery(d) AS delivery, due.at AS was_due, d.id
  )
  SELECT coalesce(json_agg(claimed.delivery ORDER BY was_due, id), '[]') INTO _claimed FROM claimed;
  RETURN _claimed;
END $$;

-- outbox_settle: record the result of a claim: sent, retry (due again in `_number` ms) or dead (`_number` are kept).
-- Returns false if it was claimed again since, or is gone. The outbox is locked before its deliveries, as outbox_drop
-- does: otherwise the two could wait for each other.
CREATE FUNCTION outbox_settle(
  _box text, _at bigint, _id text, _tries int, _what text, _number bigint, _error text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
  _done boolean;
  _thread text;
BEGIN
  PERFORM 1 FROM outboxes WHERE box = _box FOR KEY SHARE;
  SELECT thread INTO _thread FROM deliveries WHERE box = _box AND id = _id AND tries = _tries AND NOT dead FOR UPDATE;
  IF _thread IS NOT NULL THEN  -- it was tried, so the next one of its thread is due
    UPDATE deliveries SET thread = NULL WHERE box = _box AND id = _id;
    UPDATE deliveries SET at = _now WHERE box = _box AND thread = _thread AND after = _id AND tries = 0;
  END IF;
  IF _what = 'sent' THEN
    DELETE FROM deliveries WHERE box = _box AND id = _id AND tries = _tries AND NOT dead;
    RETURN to_json(FOUND);
  END IF;
  UPDATE deliveries SET dead = _what = 'dead', error = _error,
    at = CASE WHEN _what = 'dead' THEN _now ELSE _now + _number END
  WHERE box = _box AND id = _id AND tries = _tries AND NOT dead;
  _done := FOUND;
  IF _what = 'dead' AND _done THEN
    DELETE FROM deliveries d USING (
      SELECT id FROM deliveries WHERE box = _box AND dead ORDER BY at DESC, id DESC OFFSET _number
    ) oldest WHERE d.box = _box AND d.id = oldest.id;
  END IF;
  RETURN to_json(_done);
END $$;

-- outbox_replay: make dead deliveries due now, with all their tries ahead of them again: one, or those given up by
-- `_before`.
CREATE FUNCTION outbox_replay(_box text, _at bigint, _many bigint, _before bigint, _one text) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
  _count bigint;
BEGIN
  UPDATE deliveries d SET dead = false, tries = 0, at = _now FROM (
    SELECT id FROM deliveries WHERE box = _box AND dead AND (_one IS NULL OR id = _one)
      AND (_before IS NULL OR at <= _before)
    ORDER BY at, id LIMIT _many FOR NO KEY UPDATE
  ) found WHERE d.box = _box AND d.id = found.id;
  GET DIAGNOSTICS _count = ROW_COUNT;
  RETURN to_json(_count);
END $$;

-- outbox_list: the deliveries of an outbox, a page at a time, after the one of this time and id.
CREATE FUNCTION outbox_list(_box text, _dead boolean, _after bigint, _last text, _many bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(json_agg(delivery(page) ORDER BY at, id), '[]') FROM (
    SELECT * FROM deliveries WHERE box = _box AND dead = _dead
      AND (_after IS NULL OR (at, id) > (_after, _last))
    ORDER BY at, id LIMIT _many) page);
END $$;

-- outbox_counts: how many of each of these outboxes are pending, and how many are dead.
CREATE FUNCTION outbox_counts(_boxes text[]) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(
      (SELECT count(*) FROM deliveries d WHERE d.box = b.box AND NOT d.dead),
      (SELECT count(*) FROM deliveries d WHERE d.box = b.box AND d.dead)) ORDER BY i), '[]')
    FROM unnest(_boxes) WITH ORDINALITY b(box, i));
END $$;
