-- 51_inside.sql: inside, and out: sessions, what staff and people do with a ticket, revocation.

-- visit: someone is inside: start the session, or note their activity. `_what` is start, touch, or visit (start if need
-- be, then touch); `_by` says who comes, and `_views` how many page views that were, for each: without any, a session
-- that runs already is only asked for. A session belongs to who started it.
-- Returns for each: outcome (done, taken, refused, missing) and where the ticket stands.
CREATE FUNCTION visit(_id text, _at bigint, _what text, _numbers bigint[], _by bytea[], _views bigint[])
RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _c counters := seen(_id);
  _q queues := settings_of(_c.queue);
  _now bigint;
  _clock double precision;
  _t tickets;
  _outcome text;
  _items json[] := '{}';
BEGIN
  -- Who is active can only stay so or leave: then nothing but their own row changes. Else someone may have to be
  -- started, which is a step of the queue.
  IF _what <> 'touch' AND EXISTS (
    SELECT 1 FROM tickets t WHERE t.queue = _q.key AND t.number = ANY (_numbers) AND t.status <> 'active'
  ) THEN
    _c := locked(_id);
    _q := settings_of(_c.queue);
  END IF;
  _now := moment(_at);
  _clock := clock_of(_c, _now);
  IF 0 < ANY (_views) THEN
    PERFORM 1 FROM tickets t WHERE t.queue = _q.key AND t.number = ANY (_numbers) ORDER BY t.number FOR NO KEY UPDATE;
  END IF;
  FOR _i IN 1 .. cardinality(_numbers) LOOP
    SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _numbers[_i];
    IF NOT FOUND THEN
      _items := _items || '["missing", null]'::json;
      CONTINUE;
    END IF;
    IF _t.status = 'admitted' AND _what <> 'touch' THEN
      PERFORM move(_q, _now, _clock, ARRAY[_t.number], 'start', _by => _by[_i]);
      SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _numbers[_i];
    END IF;
    IF NOT EXISTS (SELECT 1 FROM transitions WHERE status = _t.status AND action = 'touch') THEN
      _outcome := 'refused';
    ELSIF _t.started_by IS DISTINCT FROM _by[_i] THEN
      _outcome := 'taken';
    ELSE
      _outcome := 'done';
      IF _what <> 'start' AND _views[_i] > 0 THEN
        _t.due := least(_clock + _q.session_seconds * 1000, _t.cap);
        _t.sweep_at := least(_t.sweep_at, _t.due);
        UPDATE tickets SET page_views = page_views + _views[_i], due = _t.due, sweep_at = _t.sweep_at
        WHERE queue = _q.key AND number = _t.number;
      END IF;
    END IF;
    _items := _items || json_build_array(_outcome, standing(_t, rank_of(_t), _c.stopped));
  END LOOP;
  RETURN json_build_array(view_of(_q.key, _now), array_to_json(_items));
END $$;

-- The position of one ticket, null where it does not wait.
CREATE FUNCTION rank_of(_t tickets) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF _t.status <> 'waiting' THEN
    RETURN NULL;
  END IF;
  RETURN (ranks(_t.queue, ARRAY[_t.number]))[1];
END $$;

-- act: one action on each ticket: recall, return, complete, leave, cancel, no_show, terminate.
-- Returns for each: outcome (done, refused, missing) and where the ticket stands.
CREATE FUNCTION act(_id text, _at bigint, _action text, _why reason, _numbers bigint[]) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _c counters := locked(_id);
  _q queues := settings_of(_c.queue);
  _now bigint := moment(_at);
  _clock double precision := clock_of(_c, _now);
  _first int := 1;
  _last int;
  _apart boolean := _action = 'return' OR _action <> 'recall'
    AND (SELECT count(DISTINCT number) FROM unnest(_numbers) number) < cardinality(_numbers);
  _batch bigint[];
  _moved bigint[];
  _items json[] := '{}';
BEGIN
  -- All at once; but one by one those who return, since each is told the position found, and where someone is named
  -- twice, since what was done first decides what can be done then.
  WHILE _first <= cardinality(_numbers) LOOP
    _last := CASE WHEN _apart THEN _first ELSE cardinality(_numbers) END;
    _batch := _numbers[_first:_last];
    _moved := move(_q, _now, _clock, _batch, _action, array_fill(_why, ARRAY[cardinality(_batch)]));
    _items := _items || (
      SELECT array_agg(json_build_array(
        CASE WHEN t.number IS NULL THEN 'missing' WHEN t.number = ANY (_moved) THEN 'done' ELSE 'refused' END,
        CASE WHEN t.number IS NOT NULL THEN standing(t, rank_of(t), _c.stopped) END) ORDER BY a.i)
      FROM unnest(_batch) WITH ORDINALITY a(number, i)
      LEFT JOIN tickets t ON t.queue = _q.key AND t.number = a.number);
    _first := _last + 1;
  END LOOP;
  RETURN json_build_array(view_of(_q.key, _now), array_to_json(_items));
END $$;

-- revoke: end a ticket, and remember why for as long as its pass would have lived.
-- Returns outcome (done, refused, missing) and the ticket. An ended ticket is refused: nothing is left to revoke.
CREATE FUNCTION revoke(_id text, _at bigint, _number bigint, _reason text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _c counters := locked(_id);
  _q queues := settings_of(_c.queue);
  _now bigint := moment(_at);
  _clock double precision := clock_of(_c, _now);
  _outcome text := 'missing';
BEGIN
  IF EXISTS (SELECT 1 FROM tickets WHERE queue = _q.key AND number = _number) THEN
    _outcome := 'refused';
  END IF;
  IF cardinality(move(_q, _now, _clock, ARRAY[_number], 'revoke', ARRAY['revoked'::reason])) > 0 THEN
    _outcome := 'done';
    INSERT INTO revoked (queue, number, reason, due)
    VALUES (_q.key, _number, _reason, _clock + _q.session_max_seconds * 1000);
  END IF;
  RETURN json_build_array(view_of(_q.key, _now), json_build_array(_outcome, whole_tickets(_q.key, ARRAY[_number]) -> 0));
END $$;

-- all_revoked: what is revoked, and why, by number.
CREATE FUNCTION all_revoked(_id text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _c counters := seen(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(number, reason) ORDER BY number), '[]')
    FROM revoked WHERE queue = _c.queue);
END $$;
