-- 30_move.sql: move tickets by the table of transitions, with everything that belongs to it: the line, the deadline,
-- the holder, the tallies, the statistics, the events. If the action ends them, `_why` has a reason for each. A ticket
-- that is named more than once is moved once; only a recall has an event each time it is named. The caller has locked
-- the queue. The detail of an event is a reason, a desk, or `_detail`.
-- Returns the numbers that moved, in the order given; those that the table does not allow to move are left as they are.
CREATE FUNCTION move(
  _q queues, _now bigint, _clock double precision, _numbers bigint[], _action text,
  _why reason[] DEFAULT NULL, _desk text DEFAULT NULL, _by bytea DEFAULT NULL, _detail text DEFAULT NULL
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies;
  _m record;
  _stay double precision;
  _keep double precision;
BEGIN
  PERFORM lock_tickets(_q.key, _numbers);
  SELECT * INTO _tallies FROM tallies WHERE queue = _q.key;

  WITH going AS MATERIALIZED (
    SELECT a.i, t.row, t.number, t.status AS was, t.on_hold AS was_on_hold, tr.goes_to, a.why, t.place, t.joined,
      t.admitted AS admitted_at,
      CASE tr.goes_to
        WHEN 'waiting' THEN waiting_due(_q, _clock)
        WHEN 'admitted' THEN _clock + _q.claim_seconds * 1000
        WHEN 'active' THEN least(_clock + _q.session_seconds * 1000,
          CASE WHEN t.status = 'admitted' THEN _clock + _q.session_max_seconds * 1000 ELSE t.cap END)
        ELSE _clock + _q.retain_seconds * 1000 END AS next_due
    FROM (
      SELECT DISTINCT ON (number) * FROM unnest(_numbers, _why) WITH ORDINALITY a(number, why, i) ORDER BY number, i
    ) a
    CROSS JOIN LATERAL (
      SELECT t.ctid AS row, t.* FROM tickets t WHERE t.queue = _q.key AND t.number = a.number OFFSET 0
    ) t
    JOIN transitions tr ON tr.status = t.status AND tr.on_hold = t.on_hold AND tr.action = _action
  ), moved AS (
    UPDATE tickets t SET
      status = g.goes_to,
      leaving = false,
      on_hold = false,
      reason = CASE WHEN g.goes_to = 'expired' THEN g.why END,
      admitted = CASE WHEN g.goes_to = 'waiting' THEN 0
        WHEN g.goes_to = 'admitted' AND g.was = 'waiting' THEN _now ELSE t.admitted END,
      desk = CASE WHEN g.goes_to = 'waiting' THEN NULL ELSE coalesce(_desk, t.desk) END,
      started = CASE WHEN g.goes_to = 'active' AND g.was = 'admitted' THEN _now ELSE t.started END,
      started_by = CASE WHEN g.goes_to = 'active' AND g.was = 'admitted' THEN _by ELSE t.started_by END,
      cap = CASE WHEN g.goes_to = 'active' AND g.was = 'admitted'
        THEN _clock + _q.session_max_seconds * 1000 ELSE t.cap END,
      ended = CASE WHEN g.goes_to IN ('completed', 'expired') THEN _now ELSE t.ended END,
      due = g.next_due,
      sweep_at = g.next_due
    FROM going g WHERE t.ctid = g.row
    RETURNING g.i, t.number, g.was, g.was_on_hold, t.status, t.reason, t.desk, t.place, t.holder, t.joined,
      g.admitted_at, t.started
  ), out_of_line AS (
    DELETE FROM line WHERE ctid = ANY (ARRAY(
      SELECT l.row FROM moved m
      CROSS JOIN LATERAL (
        SELECT l.ctid AS row FROM line l WHERE l.queue = _q.key AND l.place = m.place OFFSET 0
      ) l
      WHERE m.was = 'waiting' AND m.status <> 'waiting'))
  ), into_line AS (
    INSERT INTO line (queue, place, number)
    SELECT _q.key, place, number FROM moved WHERE status = 'waiting' AND was <> 'waiting'
  ), freed AS (
    DELETE FROM holders WHERE ctid = ANY (ARRAY(
      SELECT h.row FROM moved m
      CROSS JOIN LATERAL (
        SELECT h.ctid AS row FROM holders h WHERE h.queue = _q.key AND h.holder = m.holder OFFSET 0
      ) h
      WHERE m.status IN ('completed', 'expired')))
  ), forgotten AS (
    DELETE FROM estimates s USING (
      SELECT m.status, s.row FROM moved m
      CROSS JOIN LATERAL (
        SELECT s.ctid AS row FROM estimates s WHERE s.queue = _q.key AND s.number = m.number OFFSET 0
      ) s
      WHERE m.was = 'waiting' AND m.status <> 'waiting'
    ) m WHERE s.ctid = m.row
    RETURNING m.status, greatest(0, _clock::bigint - s.joined) AS wait, s.seconds, s.low, s.high, s.weight
  ), compared AS (
    SELECT array_agg(c.name) AS names, array_agg(c.value) AS counts
    FROM forgotten f CROSS JOIN LATERAL estimate_counts(f.wait, f.seconds, f.low, f.high, f.weight) c
    WHERE f.status = 'admitted'
  ), recalled AS (
    SELECT array_agg(m.number ORDER BY a.i) AS numbers,
      array_agg(coalesce(m.reason::text, nullif(m.desk, '')) ORDER BY a.i) AS details
    FROM unnest(_numbers) WITH ORDINALITY a(number, i) JOIN moved m ON m.number = a.number
  ), by_desk AS (
    SELECT array_agg('desk:' || f.what || ':' || desk_of(_q.key, m.desk)) AS names, array_agg(f.value) AS counts
    FROM moved m CROSS JOIN LATERAL (VALUES
      ('called', m.was = 'waiting' AND m.status = 'admitted', 1),
      ('wait_ms', m.was = 'waiting' AND m.status = 'admitted', greatest(0, _now - m.joined)),
      ('came', m.was = 'admitted' AND m.status = 'active', 1),
      ('claim_ms', m.was = 'admitted' AND m.status = 'active', greatest(0, _now - m.admitted_at)),
      ('served', m.status = 'completed', 1),
      ('service_ms', m.status = 'completed', greatest(0, _now - m.started)),
      ('no_show', m.reason = 'no_show', 1)
    ) f(what, so, value)
    WHERE m.desk <> '' AND f.so
  )
  SELECT
    CASE WHEN _action = 'recall' THEN (SELECT numbers FROM recalled) ELSE array_agg(number ORDER BY i) END AS numbers,
    CASE WHEN _action = 'recall' THEN (SELECT details FROM recalled)
      ELSE array_agg(coalesce(reason::text, nullif(desk, '')) ORDER BY i) END AS details,
    array_agg(reason::text) FILTER (WHERE reason IS NOT NULL) AS reasons,
    (SELECT names FROM by_desk) AS desk_names,
    (SELECT counts FROM by_desk) AS desk_counts,
    array_agg(place) FILTER (WHERE was = 'waiting' AND NOT was_on_hold AND status <> 'waiting') AS places_left,
    array_agg(place) FILTER (WHERE status = 'waiting' AND was <> 'waiting') AS places_taken,
    array_agg(greatest(0, _now - joined)) FILTER (WHERE was = 'waiting' AND status = 'admitted') AS waits,
    array_agg(greatest(0, _now - admitted_at) / 1000.0::double precision ORDER BY i)
      FILTER (WHERE was <> 'waiting' AND status IN ('completed', 'expired')) AS stays,
    count(*) FILTER (WHERE status = 'waiting') - count(*) FILTER (WHERE was = 'waiting' AND NOT was_on_hold) AS waiting,
    count(*) FILTER (WHERE was_on_hold) AS was_on_hold,
    count(*) FILTER (WHERE status = 'admitted') - count(*) FILTER (WHERE was = 'admitted') AS admitted,
    count(*) FILTER (WHERE status = 'active') - count(*) FILTER (WHERE was = 'active') AS active,
    count(*) FILTER (WHERE status = 'completed') AS completed,
    count(*) FILTER (WHERE status = 'expired') AS expired,
    array_agg(_now - joined) FILTER (WHERE was = 'waiting' AND status IN ('completed', 'expired')) AS gave_up,
    (array_agg(joined ORDER BY i DESC) FILTER (WHERE was = 'waiting' AND status = 'admitted'))[1] AS head_joined,
    sum((admitted_at > 0)::int) FILTER (WHERE status = 'waiting' AND was <> 'waiting') AS returned,
    -- Compare the waits that were shown with the real ones, in the queue's own time: outages do not count.
    (SELECT names FROM compared) AS estimate_names,
    (SELECT counts FROM compared) AS estimate_counts
  INTO _m FROM moved;
  IF _m.numbers IS NULL THEN
    RETURN '{}';
  END IF;

  IF _tallies.groups > 0 THEN PERFORM change_groups(_q.key, _m.numbers); END IF;
  IF _m.places_left IS NOT NULL THEN PERFORM blocks_lose(_q.key, _m.places_left); END IF;
  IF _m.places_taken IS NOT NULL THEN PERFORM blocks_gain(_q.key, _m.places_taken); END IF;
  FOREACH _stay IN ARRAY coalesce(_m.stays, '{}') LOOP
    _tallies.stay_count := least(_tallies.stay_count + 1, stays_kept());
    _tallies.stay_mean := _tallies.stay_mean + (_stay - _tallies.stay_mean) / _tallies.stay_count;
    -- It fades by the count, and slowly enough for all places inside to have been emptied and filled again: people who
    -- went in together also come out together.
    _keep := 1 - 1.0::double precision / least(exits_kept(), greatest(exits_least(), 2 * _q.max_active));
    _tallies.flow_inside := _tallies.flow_inside * _keep;
    _tallies.flow_out := _tallies.flow_out * _keep + 1;
  END LOOP;
  UPDATE tallies SET
    waiting = waiting + _m.waiting,
    on_hold = on_hold - _m.was_on_hold,
    empty_at = CASE WHEN waiting = 0 AND _m.waiting > 0 THEN _now ELSE empty_at END,
    admitted = admitted + _m.admitted,
    active = active + _m.active,
    completed = completed + _m.completed,
    stay_mean = _tallies.stay_mean,
    stay_count = _tallies.stay_count,
    flow_inside = _tallies.flow_inside,
    flow_out = _tallies.flow_out,
    flow_left = flow_left + coalesce(cardinality(_m.gave_up), 0),
    head_joined = coalesce(_m.head_joined, head_joined),
    flow_called = flow_called + coalesce(cardinality(_m.waits), 0),
    admitted_at = CASE WHEN _m.waits IS NULL THEN admitted_at ELSE _now END
  WHERE queue = _q.key;
  IF _m.gave_up IS NOT NULL THEN
    UPDATE tallies SET left_by_age = with_ages(left_by_age, _m.gave_up, 1),
      waited_by_age = with_ages(waited_by_age, '{}', 0) WHERE queue = _q.key;
  END IF;
  PERFORM record_events(_q.key, _now, ARRAY[coalesce(CASE _action
    WHEN 'admit' THEN 'admitted' WHEN 'call' THEN 'called' WHEN 'recall' THEN 'recalled' WHEN 'return' THEN 'returned'
    WHEN 'start' THEN 'started' WHEN 'complete' THEN 'completed' WHEN 'transfer' THEN 'transferred'
    WHEN 'reinstate' THEN 'reinstated' WHEN 'put_back' THEN 'put_back' END, 'expired')],
    _m.numbers, CASE WHEN _detail IS NULL THEN _m.details ELSE array_fill(_detail, ARRAY[cardinality(_m.numbers)]) END);
  PERFORM tally_moved(_q.key, _now, _m.waits, _m.returned, _m.completed, _m.expired, _m.reasons,
    greatest(_tallies.waiting, _tallies.waiting + _m.waiting), _m.estimate_names, _m.estimate_counts);
  IF _m.desk_names IS NOT NULL THEN
    PERFORM count_up(_q.key, _now, _m.desk_names, _m.desk_counts);
  END IF;
  RETURN _m.numbers;
END $$;

-- The name under which a desk is counted: a desk without counts of its own is one of the others.
CREATE FUNCTION desk_of(_queue bigint, _name text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT d.name FROM desks d WHERE d.queue = _queue AND d.name = _name), 'other');
END $$;

-- Count a move. Waits are counted in buckets an eighth of a doubling wide: see stats.py.
CREATE FUNCTION tally_moved(
  _queue bigint, _now bigint, _waits bigint[], _returned bigint, _completed bigint, _expired bigint, _reasons text[],
  _waiting bigint, _estimate_names text[] DEFAULT NULL, _estimate_counts bigint[] DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _names text[] := '{}';
  _counts bigint[] := '{}';
BEGIN
  IF _waits IS NOT NULL THEN
    SELECT array_agg('wait:' || floor(8 * ln(1 + wait / 1000.0::double precision) / ln(2.0::double precision))),
      array_agg(1) INTO _names, _counts FROM unnest(_waits) wait;
    _names := _names || ARRAY['admitted', 'wait_ms'];
    _counts := _counts || ARRAY[cardinality(_waits), (SELECT sum(wait) FROM unnest(_waits) wait)::bigint];
  END IF;
  IF _returned IS NOT NULL THEN -- also 0: the line is longer
    _names := _names || 'returned'::text;
    _counts := _counts || _returned;
  END IF;
  IF _completed > 0 THEN
    _names := _names || 'completed'::text;
    _counts := _counts || _completed;
  END IF;
  IF _expired > 0 THEN
    _names := _names || 'expired'::text || (SELECT array_agg('expired:' || why) FROM unnest(_reasons) why);
    _counts := _counts || _expired || array_fill(1::bigint, ARRAY[cardinality(_reasons)]);
  END IF;
  IF _estimate_names IS NOT NULL THEN
    _names := _names || _estimate_names;
    _counts := _counts || _estimate_counts;
  END IF;
  IF cardinality(_names) > 0 THEN
    PERFORM tally(_queue, _now, _names, _counts, _waiting);
  END IF;
END $$;

-- What is counted of a wait that was shown (all in ms) and the real one. By the length of the wait, there is a histogram
-- of errors in percent: see stats.py.
CREATE FUNCTION estimate_counts(_wait bigint, _seconds bigint, _low bigint, _high bigint, _weight bigint)
RETURNS TABLE (name text, value bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT f.name, f.value::bigint FROM (
    SELECT 'estimates:' || CASE WHEN _wait >= 600000 THEN 600 WHEN _wait >= 120000 THEN 120 WHEN _wait >= 30000 THEN 30
        ELSE 0 END || ':' AS of_length,
      100 * (_seconds - _wait) / greatest(_wait, 5000)::double precision AS error,
      _wait BETWEEN _low AND _high AS is_within
  ) e
  CROSS JOIN LATERAL (VALUES
    ('estimates:compared', _weight),
    (of_length || 'compared', _weight),
    (of_length || 'error:' || (sign(error) * floor(8 * ln(1 + abs(error)) / ln(2.0::double precision) + 0.5))::int,
      _weight),
    (CASE WHEN is_within THEN 'estimates:within' END, _weight),
    (CASE WHEN is_within THEN of_length || 'within' END, _weight),
    ('estimates:off_ms', _weight * abs(_wait - _seconds)),
    ('estimates:wait_ms', _weight * _wait)
  ) f(name, value)
  WHERE f.name IS NOT NULL
$$;

-- Counts by age (see patience.py), with `_each` added for each of these ages in ms.
CREATE FUNCTION with_ages(_counts double precision[], _ages bigint[], _each double precision) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  _age bigint;
  _class int;
BEGIN
  IF cardinality(_counts) = 0 THEN _counts := array_fill(0::double precision, ARRAY[age_classes()::int]); END IF;
  FOREACH _age IN ARRAY _ages LOOP
    _class := 1;
    WHILE _age >= 500 * youngest_seconds() * 2 ^ _class AND _class < age_classes() LOOP _class := _class + 1; END LOOP;
    _counts[_class] := greatest(0, _counts[_class] + _each);
  END LOOP;
  RETURN _counts;
END $$;
