-- 60_keeping.sql: sweeping what is due, the end of the day, limits, priority passes.

-- sweep: end the tickets whose deadline has passed, and clear away what has been kept long enough. `_every` is the ms
-- between sweeps; nothing is done if another keeper did it less than `_lease` ms ago.
-- If nobody swept for much longer than the interval, Fairline was down: the queue's clock stood still meanwhile. It
-- also stands still while people who wait cannot reach Fairline (`_stalled`).
-- Returns how many were due, and the number and reason of each ticket that lapsed.
CREATE FUNCTION sweep(_id text, _at bigint, _at_most bigint, _every bigint, _lease bigint, _stalled boolean)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _away bigint := _now - _tallies.swept_at;
  _clock double precision;
  _due record;
  _rows tid[];
  _lapsed bigint[];
  _why reason[];
BEGIN
  IF _away >= 0 AND _away < _lease THEN
    RETURN json_build_array(snapshot_of(_q.key, _now), json_build_array(0, '[]'::json));
  END IF;
  IF _away < 0 OR _stalled THEN
    -- The store's clock was set back, or people cannot reach Fairline: the queue's clock continues from where it was.
    _tallies.stopped := _tallies.stopped + _away;
  ELSIF _away > 1.5 * _every THEN
    _tallies.stopped := _tallies.stopped + _away - _every;
    PERFORM record_events(_q.key, _now, ARRAY['clock_stopped'],
      _details => ARRAY[((_away - _every) / 1000.0::float8)::text]);
  END IF;
  UPDATE tallies SET stopped = _tallies.stopped, swept_at = _now WHERE queue = _q.key;
  _clock := _now - _tallies.stopped;

  PERFORM update_sweep_at(_q.key, _clock);
  _due := all_due(_q.key, _clock, _at_most);
  -- A heartbeat may have come since. The tickets that are locked now, and still due, lapse.
  _rows := lock_tickets(_q.key, _due.tickets);
  SELECT array_agg(a.number ORDER BY a.i), array_agg(t.why ORDER BY a.i) INTO _lapsed, _why
  FROM unnest(_due.tickets) WITH ORDINALITY a(number, i)
  CROSS JOIN LATERAL (
    SELECT lapse_reason(t, _q) AS why FROM tickets t
    WHERE t.queue = _q.key AND t.number = a.number AND t.ended = 0 AND t.due <= _clock OFFSET 0
  ) t;
  PERFORM clear(_q.key, _clock, _rows, _due.call_keys, _due.revoked, _due.passes);
  IF _lapsed IS NOT NULL THEN
    PERFORM move(_q, _now, _clock, _lapsed, 'lapse', _why);
  END IF;
  PERFORM trim_stats(_tallies, _now);
  -- A minute in which nothing happened also records how many wait and are inside.
  PERFORM tally_minute(_q.key, _now, '{}', '{}', 0);
  RETURN json_build_array(snapshot_of(_q.key, _now), json_build_array(_due.many, coalesce((
    SELECT json_agg(json_build_array(number, why) ORDER BY i)
    FROM unnest(_lapsed, _why) WITH ORDINALITY l(number, why, i)), '[]')));
END $$;

-- Bring `sweep_at` up to date for tickets whose deadline was extended by heartbeats since. Tickets with a heartbeat at
-- this moment are skipped, and so are more than 10,000, which would hold up the queue for long: the next sweep does
-- those.
CREATE FUNCTION update_sweep_at(_queue bigint, _clock double precision) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _late tid[] := ARRAY(
    SELECT t.ctid FROM tickets t
    WHERE t.queue = _queue AND t.sweep_at <= _clock AND t.sweep_at < t.due
    ORDER BY t.sweep_at LIMIT 10000 FOR NO KEY UPDATE SKIP LOCKED);
BEGIN
  UPDATE tickets SET sweep_at = due WHERE ctid = ANY (_late);
END $$;

-- What is due, oldest first: tickets, and idempotency keys of calls, revocations and passes.
CREATE FUNCTION all_due(
  _queue bigint, _clock double precision, _at_most bigint,
  OUT many bigint, OUT tickets bigint[], OUT call_keys bytea[], OUT revoked bigint[], OUT passes text[]
) LANGUAGE sql STABLE AS $$
  SELECT count(*), array_agg(number ORDER BY due, member) FILTER (WHERE kind = 't'),
    array_agg(key) FILTER (WHERE kind = 'k'), array_agg(number) FILTER (WHERE kind = 'r'),
    array_agg(id) FILTER (WHERE kind = 'p')
  FROM (
    (SELECT 't' AS kind, t.sweep_at AS due, t.number::text COLLATE "C" AS member, t.number, NULL::bytea AS key,
      NULL AS id FROM tickets t
      WHERE t.queue = _queue AND t.sweep_at <= _clock AND t.due <= _clock
      ORDER BY t.sweep_at, t.number::text COLLATE "C" LIMIT _at_most)
    UNION ALL
    (SELECT 'k', k.due, 'k' || encode(k.key, 'hex'), NULL, k.key, NULL FROM call_keys k
      WHERE k.queue = _queue AND k.due <= _clock)
    UNION ALL
    (SELECT 'r', r.due, 'r' || r.number, r.number, NULL, NULL FROM revoked r
      WHERE r.queue = _queue AND r.due <= _clock)
    UNION ALL
    (SELECT 'p', p.due, 'p' || p.id, NULL, NULL, p.id FROM passes p WHERE p.queue = _queue AND p.due <= _clock)
    ORDER BY due, member LIMIT _at_most
  ) found
$$;

-- Why a ticket lapses follows from the state that ends.
CREATE FUNCTION lapse_reason(_t tickets, _q queues) RETURNS reason LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE _t.status
    WHEN 'waiting' THEN CASE WHEN _t.leaving THEN 'left' ELSE 'heartbeat_timeout' END
    WHEN 'admitted' THEN CASE WHEN _q.admission = 'manual' THEN 'no_show' ELSE 'claim_timeout' END
    ELSE 'session_timeout' END)::reason
$$;

-- Remove what was kept long enough: ended tickets with their idempotency keys, and everything else that is due.
CREATE FUNCTION clear(
  _queue bigint, _clock double precision, _tickets tid[], _call_keys bytea[], _revoked bigint[], _passes text[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH purged AS (
    DELETE FROM tickets WHERE ctid = ANY (_tickets) AND ended > 0 AND due <= _clock RETURNING key
  )
  DELETE FROM join_keys WHERE ctid = ANY (ARRAY(
    SELECT k.row FROM purged p
    CROSS JOIN LATERAL (SELECT k.ctid AS row FROM join_keys k WHERE k.queue = _queue AND k.key = p.key OFFSET 0) k));
  IF _call_keys IS NOT NULL THEN DELETE FROM call_keys WHERE queue = _queue AND key = ANY (_call_keys); END IF;
  IF _revoked IS NOT NULL THEN DELETE FROM revoked WHERE queue = _queue AND number = ANY (_revoked); END IF;
  IF _passes IS NOT NULL THEN DELETE FROM passes WHERE queue = _queue AND id = ANY (_passes); END IF;
END $$;

-- Once an hour, pack the hours older than hours_at_hand() into one row each; drop the hours and minutes that are no
-- longer kept, and limits that no longer block anyone.
CREATE FUNCTION trim_stats(_tallies tallies, _now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _hour bigint := _now / hour_ms();
BEGIN
  IF _tallies.stats_hour = _hour THEN
    RETURN;
  END IF;
  UPDATE tallies SET stats_hour = _hour WHERE queue = _tallies.queue;
  WITH older AS (
    DELETE FROM stats
    WHERE queue = _tallies.queue AND span <> 'total' AND substr(span, 2)::bigint < _hour - hours_at_hand()
    RETURNING substr(span, 2)::bigint AS hour, name, value
  )
  INSERT INTO hours AS h (queue, hour, counts)
  SELECT _tallies.queue, hour, jsonb_object_agg(name, value) FROM older WHERE hour >= _hour - hours_kept() GROUP BY hour
  ON CONFLICT (queue, hour) DO UPDATE SET counts = h.counts || excluded.counts;
  DELETE FROM hours WHERE queue = _tallies.queue AND hour < _hour - hours_kept();
  DELETE FROM minutes WHERE queue = _tallies.queue AND minute < _now / minute_ms() - minutes_kept();
  DELETE FROM limits WHERE queue = _tallies.queue AND until <= _now;
END $$;

-- close_day: at the end of the day, end the tickets that joined before it and still wait; once for each day.
-- `_part` and `_after` are where to continue: 1 the line, 2 the tickets on hold; and the last place read.
-- Returns the part and the place to continue from (null: done), and the numbers that were ended.
CREATE FUNCTION close_day(_id text, _at bigint, _ends bigint, _many bigint, _part int, _after bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _found record;
  _numbers bigint[] := '{}';
BEGIN
  IF _tallies.closed_day >= _ends THEN
    RETURN '[null, null, []]';
  END IF;
  _part := coalesce(_part, 1);
  WHILE _part <= 2 AND _many > 0 LOOP
    SELECT array_agg(t.number ORDER BY page.place) FILTER (WHERE t.joined <= _ends) AS numbers,
      max(page.place) AS last, count(*) AS many INTO _found
    FROM (
      (SELECT number, place FROM line WHERE _part = 1 AND queue = _q.key
        AND place > coalesce(_after, -9223372036854775808) ORDER BY place LIMIT _many)
      UNION ALL
      (SELECT number, place FROM tickets WHERE _part = 2 AND queue = _q.key AND on_hold
        AND place > coalesce(_after, -9223372036854775808) ORDER BY place LIMIT _many)
    ) page CROSS JOIN LATERAL (
      SELECT t.number, t.joined FROM tickets t WHERE t.queue = _q.key AND t.number = page.number OFFSET 0
    ) t;
    _numbers := _numbers || coalesce(_found.numbers, '{}');
    _after := coalesce(_found.last, _after);
    _many := _many - _found.many;
    IF _many > 0 THEN
      _part := _part + 1;
      _after := NULL;
    END IF;
  END LOOP;
  IF cardinality(_numbers) > 0 THEN
    PERFORM move(_q, _now, clock_of(_tallies, _now), _numbers, 'close',
      array_fill('closed'::reason, ARRAY[cardinality(_numbers)]));
  END IF;
  IF _part > 2 THEN
    UPDATE tallies SET closed_day = _ends WHERE queue = _q.key;
  END IF;
  RETURN json_build_array(CASE WHEN _part <= 2 THEN _part END, _after, array_to_json(_numbers));
END $$;

-- try_limit: count one try against a limit over a sliding window of `_window` ms.
-- Returns the ms until a try is allowed again; 0 means that this one was allowed and counted.
CREATE FUNCTION try_limit(_id text, _at bigint, _who text, _action text, _limit int, _window bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _now bigint := moment(_at);
  _wait bigint := blocked_for(_tallies.queue, _who, _action, _limit, _window, _now);
BEGIN
  IF _wait = 0 THEN
    PERFORM hit(_tallies.queue, _who, _action, _window, _now);
  END IF;
  RETURN to_json(_wait);
END $$;

-- issue_pass: let a priority pass be used up to `_uses` times, for `_lasts` ms.
CREATE FUNCTION issue_pass(_id text, _at bigint, _pass text, _level int, _uses bigint, _lasts bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _now bigint := moment(_at);
BEGIN
  INSERT INTO passes (queue, id, level, uses, expires, due)
  VALUES (_tallies.queue, _pass, _level, _uses, _now + _lasts, clock_of(_tallies, _now) + _lasts)
  ON CONFLICT (queue, id) DO UPDATE SET
    level = excluded.level, uses = excluded.uses, used = 0, expires = excluded.expires, due = excluded.due;
  RETURN 'null';
END $$;

-- withdraw_pass: remove a priority pass. Returns whether there was one that had not ended.
CREATE FUNCTION withdraw_pass(_id text, _at bigint, _pass text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _ends bigint;
BEGIN
  DELETE FROM passes WHERE queue = _tallies.queue AND id = _pass RETURNING expires INTO _ends;
  RETURN to_json(coalesce(_ends > moment(_at), false));
END $$;

-- all_passes: the priority passes that have not ended, by id.
CREATE FUNCTION all_passes(_id text, _at bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(id, level, uses, used, expires) ORDER BY id), '[]')
    FROM passes WHERE queue = _tallies.queue AND expires > moment(_at));
END $$;
