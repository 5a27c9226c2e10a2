-- 50_admission.sql: admission: automatic, as rate, capacity and stock allow, or by hand.

-- admit: let the next tickets in, as many as rate, capacity and stock allow; measure how the line drains.
-- `_every` is the ms between ticks; nothing is done if another keeper did it less than `_lease` ms ago.
-- Returns the numbers admitted, in order. Admits nobody while the queue is not active, is called by hand, or waits for
-- the start of an opening.
CREATE FUNCTION admit(_id text, _at bigint, _at_most bigint, _every bigint, _lease bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _seconds double precision := greatest(0, _now - coalesce(_tallies.flow_at, _now)) / 1000.0::double precision;
  _fade double precision;
  _tokens double precision := tokens_of(_q, _tallies, _now, _every);
  _free bigint := capacity_of(_q, _tallies);
  _going bigint := 0;
  _token_bound boolean := false;
  _admitted bigint[] := '{}';
  _next bigint[];
BEGIN
  -- Another keeper has just done it. (If the clock went back this says nothing, or nobody would do it until that time
  -- comes again.)
  IF _now >= _tallies.flow_at AND _now - _tallies.flow_at < _lease THEN
    RETURN json_build_array(snapshot_of(_q.key, _now), '[]'::json);
  END IF;

  IF lets_in(_q) THEN
    _going := greatest(0, least(floor(_tokens)::bigint, _free, _tallies.waiting, _at_most));
    IF _tallies.groups > 0 THEN
      _next := next_together(_q, _tallies, _going, _free);
      _going := cardinality(_next);
    END IF;
    -- A group goes when there is one token, and the tokens of the others are owed: so the rate stays what it is.
    _tokens := _tokens - _going;
    _token_bound := _tallies.waiting > _going AND _free > _going AND (_tokens < 1 OR _going >= _at_most);
  ELSE
    _tokens := least(_tokens, burst_of(_q));
  END IF;

  -- Fade the measured flow, and add the time since the last tick. Time in which nobody kept the queue is not measured,
  -- and nor is the time before an opening has started, in which nobody can be let in.
  IF _seconds > longest_tick_seconds() OR held_back(_q.phase) THEN _seconds := 0; END IF;
  _fade := exp(-_seconds / flow_fade_seconds());
  UPDATE tallies SET
    tokens = _tokens, tokens_at = _now, token_bound = _token_bound, flow_at = _now,
    flow_waited = flow_waited * _fade + waiting * _seconds,
    flow_inside = flow_inside + (admitted + active) * _seconds,
    flow_span = flow_span * _fade + CASE WHEN waiting > 0 THEN _seconds ELSE 0 END,
    flow_left = flow_left * _fade,
    flow_passed = flow_passed * _fade ^ passed_fades(),
    flow_called = flow_called * _fade
  WHERE queue = _q.key;
  PERFORM measure_ages(_tallies, _now);
  IF _going > 0 THEN
    _admitted := move(_q, _now, clock_of(_tallies, _now), coalesce(_next, next_in_line(_q.key, _going)),
      'admit');
  END IF;
  RETURN json_build_array(snapshot_of(_q.key, _now), array_to_json(_admitted));
END $$;

-- Now and then, measure how long people have waited: a few, at equal distances in the line, stand for all of it.
CREATE FUNCTION measure_ages(_tallies tallies, _now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _seconds double precision := (_now - coalesce(_tallies.aged_at, _now)) / 1000.0::double precision;
  _looked bigint := least(_tallies.waiting, ages_looked_at());
  _fade double precision;
  _places bigint[];
  _ages bigint[];
BEGIN
  IF _tallies.waiting = 0 OR _tallies.aged_at IS NOT NULL AND _seconds >= 0 AND _seconds < ages_every_seconds() THEN
    RETURN;
  END IF;
  IF _seconds < 0 OR _seconds > longest_tick_seconds() THEN _seconds := 0; END IF;
  _fade := exp(-_seconds / flow_fade_seconds());
  _places := ARRAY(
    SELECT place_at(_tallies.queue, (2 * i + 1) * _tallies.waiting / (2 * _looked))
    FROM generate_series(0, _looked - 1) i);
  SELECT array_agg(_now - t.joined) INTO _ages FROM unnest(_places) p(place)
  CROSS JOIN LATERAL (SELECT number FROM line l WHERE l.queue = _tallies.queue AND l.place = p.place OFFSET 0) l
  CROSS JOIN LATERAL (
    SELECT t.joined FROM tickets t WHERE t.queue = _tallies.queue AND t.number = l.number OFFSET 0
  ) t;
  UPDATE tallies SET aged_at = _now,
    left_by_age = with_ages(ARRAY(SELECT each * _fade FROM unnest(left_by_age) WITH ORDINALITY a(each, i) ORDER BY i),
      '{}', 0),
    waited_by_age = with_ages(
      ARRAY(SELECT each * _fade FROM unnest(waited_by_age) WITH ORDINALITY a(each, i) ORDER BY i),
      coalesce(_ages, '{}'), _tallies.waiting * _seconds / _looked)
  WHERE queue = _tallies.queue;
END $$;

-- call_next: call people by hand: the next ones in the line, or one by number. A retry with the same key calls the same
-- people.
-- Returns outcome (called, repeated, conflict, paused, held_back, refused, missing, or desk: it is not one of the
-- queue's desks, and the answer has their names instead of tickets) and the tickets.
CREATE FUNCTION call_next(
  _id text, _at bigint, _many bigint, _number bigint, _desk text, _key bytea, _fingerprint text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _clock double precision := clock_of(_tallies, _now);
  _outcome text := 'called';
  _numbers bigint[] := '{}';
  _was tickets;
  _before call_keys;
BEGIN
  IF _key <> '' THEN
    SELECT * INTO _before FROM call_keys WHERE queue = _q.key AND key = _key;
  END IF;
  IF _before.key IS NOT NULL THEN
    _outcome := CASE WHEN _before.fingerprint = _fingerprint THEN 'repeated' ELSE 'conflict' END;
    _numbers := CASE WHEN _outcome = 'repeated' THEN _before.numbers ELSE '{}' END;
  ELSIF _q.status <> 'active' THEN
    _outcome := 'paused';
  ELSIF held_back(_q.phase) THEN
    _outcome := 'held_back';
  ELSIF _desk <> '' AND cardinality(_q.desks) > 0 AND _desk <> ALL (_q.desks) THEN
    RETURN json_build_array(snapshot_of(_q.key, _now), json_build_array('desk', array_to_json(_q.desks)));
  ELSIF _number IS NULL THEN
    _numbers := CASE WHEN _tallies.groups > 0
      THEN next_together(_q, _tallies, least(_many, capacity_of(_q, _tallies)), capacity_of(_q, _tallies))
      ELSE next_in_line(_q.key, least(_many, capacity_of(_q, _tallies))) END;
  ELSE
    SELECT * INTO _was FROM tickets WHERE queue = _q.key AND number = _number;
    IF NOT FOUND THEN
      _outcome := 'missing';
    ELSIF NOT allows(_was, 'call') THEN
      _outcome := 'refused';
      _numbers := ARRAY[_number];
    ELSIF capacity_of(_q, _tallies) > 0 THEN
      _numbers := ARRAY[_number];
    END IF;
  END IF;

  _numbers := coalesce(_numbers, '{}');
  IF _outcome = 'called' AND cardinality(_numbers) > 0 THEN
    PERFORM note_desk(_q, _tallies, _now, _desk, cardinality(_numbers));
    _numbers := move(_q, _now, _clock, _numbers, 'call', _desk => _desk);
    IF _key <> '' THEN
      INSERT INTO call_keys (queue, key, fingerprint, numbers, due)
      VALUES (_q.key, _key, _fingerprint, _numbers, _clock + day_ms());
    END IF;
  END IF;
  RETURN json_build_array(snapshot_of(_q.key, _now), json_build_array(_outcome, full_tickets(_q.key, _numbers)));
END $$;

-- A desk that calls is open. The time since its last call is kept as a cycle if people waited all that time: the newest
-- cycles say how fast the line moves.
CREATE FUNCTION note_desk(_q queues, _tallies tallies, _now bigint, _name text, _many bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  _d desks;
BEGIN
  IF _name = '' OR NOT has_counts(_q, _now, _name) THEN
    RETURN;
  END IF;
  SELECT * INTO _d FROM desks WHERE queue = _q.key AND name = _name;
  IF _d.called < _now AND _now - _d.called < _q.desk_idle_seconds * 1000 AND _tallies.empty_at <= _d.called THEN
    UPDATE tallies SET cycles = (((_now - _d.called) / _d.many) || cycles)[:_q.wait_sample] WHERE queue = _q.key;
  END IF;
  INSERT INTO desks (queue, name, seen, called, many) VALUES (_q.key, _name, _now, _now, _many)
  ON CONFLICT (queue, name) DO UPDATE SET seen = excluded.seen, called = excluded.called, many = excluded.many;
END $$;

-- Whether a desk has counts of its own. A queue that names no desks counts most_desks() of them. If there are that many
-- already, the desks that were last seen in an hour that is no longer kept make way: only their sums are left.
CREATE FUNCTION has_counts(_q queues, _now bigint, _name text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(_q.desks) > 0 OR EXISTS (SELECT 1 FROM desks WHERE queue = _q.key AND name = _name)
    OR (SELECT count(*) FROM desks WHERE queue = _q.key) < most_desks()
  THEN
    RETURN true;
  END IF;
  PERFORM forget_desks(_q.key, (_now / hour_ms() - hours_kept()) * hour_ms());
  RETURN (SELECT count(*) FROM desks WHERE queue = _q.key) < most_desks();
END $$;

-- Forget the desks that were last seen before `_oldest`. Their counts are added to those of the others, so that the sum
-- stays the same.
CREATE FUNCTION forget_desks(_queue bigint, _oldest bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH gone AS (
    DELETE FROM desks WHERE queue = _queue AND abs(seen) < _oldest RETURNING name
  ), did AS (
    DELETE FROM stats s USING gone g
    CROSS JOIN unnest(ARRAY['called', 'wait_ms', 'came', 'claim_ms', 'served', 'service_ms', 'no_show']) what
    WHERE s.queue = _queue AND s.span = 'total' AND s.name = 'desk:' || what || ':' || g.name AND g.name <> 'other'
    RETURNING what, s.value
  )
  INSERT INTO stats AS s (queue, span, name, value)
  SELECT _queue, 'total', 'desk:' || what || ':other', sum(value) FROM did GROUP BY what
  ON CONFLICT (queue, span, name) DO UPDATE SET value = s.value + excluded.value;
END $$;

-- set_desk: a desk opens, or closes.
-- Returns 'done', or why not: 'desk' and the queue's desks if it is none of them, 'full' if there are too many.
CREATE FUNCTION set_desk(_id text, _at bigint, _name text, _open boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
BEGIN
  IF cardinality(_q.desks) > 0 AND _name <> ALL (_q.desks) THEN
    RETURN json_build_array('desk', array_to_json(_q.desks));
  ELSIF NOT has_counts(_q, _now, _name) THEN
    RETURN '["full", []]';
  END IF;
  IF NOT _open AND EXISTS (SELECT 1 FROM desks WHERE queue = _q.key AND name = _name AND seen > 0) THEN
    PERFORM note_slowed(_q.key, _now, cause_desk_closed());
  END IF;
  -- The time from its last call to its next one says nothing about how fast it is.
  INSERT INTO desks (queue, name, seen) VALUES (_q.key, _name, CASE WHEN _open THEN _now ELSE -_now END)
  ON CONFLICT (queue, name) DO UPDATE SET seen = excluded.seen, called = NULL, many = NULL;
  RETURN '["done", []]';
END $$;

-- Note that the line goes more slowly from now on, and why: those who wait are told.
CREATE FUNCTION note_slowed(_queue bigint, _now bigint, _cause bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE tallies SET slowed_at = _now, slowed = _cause WHERE queue = _queue
$$;

-- all_desks: the time, and when each desk last called or opened; below 0, when it closed.
CREATE FUNCTION all_desks(_id text, _at bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN json_build_array(moment(_at), (
    SELECT coalesce(json_agg(json_build_array(name, seen)), '[]') FROM desks WHERE queue = _tallies.queue));
END $$;
