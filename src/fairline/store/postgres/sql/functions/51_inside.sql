-- 51_inside.sql: sessions, actions of staff and people on tickets, transfer, revocation.

-- visit: people are inside: start their sessions, or record their activity. `_what` is start, touch, or visit (start if
-- needed, then touch). For each, `_by` says who it is, and `_views` how many page views it is: 0 only asks about a
-- session that runs already. `_joined` says when each ticket was issued, if that is known: in a recreated queue its
-- number is somebody else's. A session belongs to what started it; to start it again takes the whole of `_by`.
-- Returns for each: outcome (done, taken, refused, missing, another) and the status of the ticket.
CREATE FUNCTION visit(
  _id text, _at bigint, _what text, _numbers bigint[], _by bytea[], _views bigint[], _joined bigint[]
)
RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint;
  _clock double precision;
  _t tickets;
  _outcome text;
  _items json[] := '{}';
BEGIN
  -- A ticket that is active stays so or ends, so only its own row changes. For any other ticket a session may have to
  -- start, which is a step of the queue.
  IF _what <> 'touch' AND EXISTS (
    SELECT 1 FROM unnest(_numbers) a(number) CROSS JOIN LATERAL (
      SELECT t.status FROM tickets t WHERE t.queue = _q.key AND t.number = a.number OFFSET 0
    ) t WHERE t.status <> 'active'
  ) THEN
    _tallies := locked(_id);
    _q := settings_of(_tallies.queue);
  END IF;
  _now := moment(_at);
  _clock := clock_of(_tallies, _now);
  IF 0 < ANY (_views) THEN
    PERFORM lock_tickets(_q.key, _numbers);
  END IF;
  FOR _i IN 1 .. cardinality(_numbers) LOOP
    SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _numbers[_i];
    IF NOT FOUND THEN
      _items := _items || '["missing", null]'::json;
      CONTINUE;
    END IF;
    IF _t.joined <> _joined[_i] THEN
      _items := _items || json_build_array('another', ticket_status(_t, rank_of(_t), _tallies.stopped));
      CONTINUE;
    END IF;
    IF _t.status = 'admitted' AND _what <> 'touch' THEN
      PERFORM move(_q, _now, _clock, ARRAY[_t.number], 'start', _by => _by[_i]);
      SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _numbers[_i];
    END IF;
    IF NOT allows(_t, 'touch') THEN
      _outcome := 'refused';
    ELSIF _what = 'start' AND _t.started_by IS DISTINCT FROM _by[_i] OR NOT is_by(_t.started_by, _by[_i]) THEN
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
    _items := _items || json_build_array(_outcome, ticket_status(_t, rank_of(_t), _tallies.stopped));
  END LOOP;
  RETURN json_build_array(snapshot_of(_q.key, _now), array_to_json(_items));
END $$;

-- Whether a session belongs to `_by`: to what started it, or to the end of that, which is the browser at its address.
CREATE FUNCTION is_by(_started bytea, _by bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(_started = _by
    OR length(_by) > 0 AND substring(_started FROM greatest(1, length(_started) - length(_by) + 1)) = _by, false)
$$;

-- The position of one ticket, null if it does not wait.
CREATE FUNCTION rank_of(_t tickets) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF _t.status <> 'waiting' OR _t.on_hold THEN
    RETURN NULL;
  END IF;
  RETURN (ranks(_t.queue, ARRAY[_t.number]))[1];
END $$;

-- act: one action on each ticket: recall, return, complete, leave, cancel, no_show, terminate, hold, release,
-- reinstate, put_back. `_joined` is as for visit; if a session runs, it must be that of `_by` ('': anyone's).
-- Returns for each: outcome (done, refused, missing, another, taken; of reinstate and put_back also holder_in_line, of
-- reinstate at_capacity) and the status of the ticket.
CREATE FUNCTION act(
  _id text, _at bigint, _action text, _why reason, _numbers bigint[], _joined bigint[], _by bytea[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _first int := 1;
  _last int;
  _clock double precision := clock_of(_tallies, _now);
  _alone boolean := _action IN ('hold', 'release', 'reinstate', 'put_back');
  _apart boolean := _alone OR _action = 'return' OR _action <> 'recall'
    AND (SELECT count(DISTINCT number) FROM unnest(_numbers) number) < cardinality(_numbers);
  _batch bigint[];
  _found bigint[]; -- of the batch: the same tickets as when they were issued, without `_taken`
  _taken bigint[]; -- those with a session of somebody else
  _moved bigint[];
  _outcome text;
  _items json[] := '{}';
BEGIN
  -- All tickets in one move. But one by one if they return to the line, because each answer has the position at that
  -- moment, and if one is named twice, because its first move decides about the second.
  WHILE _first <= cardinality(_numbers) LOOP
    _last := CASE WHEN _apart THEN _first ELSE cardinality(_numbers) END;
    _batch := _numbers[_first:_last];
    SELECT coalesce(array_agg(a.number ORDER BY a.i) FILTER (WHERE NOT taken), '{}'),
      coalesce(array_agg(a.number) FILTER (WHERE taken), '{}')
    INTO _found, _taken
    FROM unnest(_batch, _joined[_first:_last], _by[_first:_last]) WITH ORDINALITY a(number, joined, by, i)
    CROSS JOIN LATERAL (
      SELECT t.joined, a.by <> '' AND t.status = 'active' AND NOT is_by(t.started_by, a.by) AS taken
      FROM tickets t WHERE t.queue = _q.key AND t.number = a.number OFFSET 0
    ) t
    WHERE a.joined IS NULL OR a.joined = t.joined;
    _outcome := NULL;
    IF cardinality(_found) = 0 THEN
      _moved := '{}';
    ELSIF _action IN ('reinstate', 'put_back') THEN
      _outcome := take_back(_q, _now, _clock, _batch[1], _action);
    ELSIF _alone THEN
      IF _action = 'hold' AND EXISTS (
        SELECT 1 FROM tickets t WHERE t.queue = _q.key AND t.number = _batch[1] AND t.status = 'admitted'
      ) THEN
        PERFORM move(_q, _now, _clock, _batch, 'return');
      END IF;
      _outcome := set_on_hold(_q, _now, _batch[1], _action = 'hold');
    ELSE
      _moved := move(_q, _now, _clock, _found, _action, array_fill(_why, ARRAY[cardinality(_found)]));
    END IF;
    _items := _items || (
      SELECT array_agg(json_build_array(
        CASE WHEN f.found IS NULL THEN 'missing' WHEN a.number = ANY (_taken) THEN 'taken'
          WHEN a.number <> ALL (_found) THEN 'another'
          WHEN _outcome IS NOT NULL THEN _outcome
          WHEN a.number = ANY (_moved) THEN 'done' ELSE 'refused' END,
        CASE WHEN f.found THEN ticket_status(f.ticket, rank_of(f.ticket), _tallies.stopped) END) ORDER BY a.i)
      FROM unnest(_batch) WITH ORDINALITY a(number, i)
      LEFT JOIN LATERAL (
        SELECT true AS found, t AS ticket FROM tickets t WHERE t.queue = _q.key AND t.number = a.number OFFSET 0
      ) f ON true);
    _first := _last + 1;
  END LOOP;
  RETURN json_build_array(snapshot_of(_q.key, _now), array_to_json(_items));
END $$;

-- Put a ticket on hold, or release it to its old place. The line closes up meanwhile, and opens again for it. Someone
-- who was called has returned to the line just before, in the same step, so that no desk can call them in between.
CREATE FUNCTION set_on_hold(_q queues, _now bigint, _number bigint, _on_hold boolean) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  _t tickets;
  _by int := CASE WHEN _on_hold THEN 1 ELSE -1 END;
BEGIN
  SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _number FOR NO KEY UPDATE;
  IF NOT FOUND OR NOT allows(_t, CASE WHEN _on_hold THEN 'hold' ELSE 'release' END) THEN
    RETURN 'refused';
  END IF;
  UPDATE tickets SET on_hold = _on_hold, came = NULL WHERE queue = _q.key AND number = _number;
  IF _on_hold THEN
    DELETE FROM line WHERE queue = _q.key AND place = _t.place;
    PERFORM blocks_lose(_q.key, ARRAY[_t.place]);
  ELSE
    INSERT INTO line (queue, place, number) VALUES (_q.key, _t.place, _number);
    PERFORM blocks_gain(_q.key, ARRAY[_t.place]);
  END IF;
  UPDATE tallies SET waiting = waiting - _by, on_hold = on_hold + _by,
    empty_at = CASE WHEN waiting = 0 AND NOT _on_hold THEN _now ELSE empty_at END
  WHERE queue = _q.key;
  PERFORM record_events(_q.key, _now, ARRAY[CASE WHEN _on_hold THEN 'put_on_hold' ELSE 'released' END], ARRAY[_number]);
  RETURN 'done';
END $$;

-- Take back the end of a ticket. Someone who did not come has come after all: the same desk calls them again. Someone
-- who was removed by mistake waits at their old place, or just behind someone who was given it meanwhile.
CREATE FUNCTION take_back(_q queues, _now bigint, _clock double precision, _number bigint, _action text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies;
  _t tickets;
  _gone text[];
  _remains double precision;
BEGIN
  SELECT * INTO _tallies FROM tallies WHERE queue = _q.key;
  SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _number FOR NO KEY UPDATE;
  IF NOT FOUND OR NOT allows(_t, _action) OR _t.reason::text <> ALL (
    CASE _action WHEN 'reinstate' THEN ARRAY['no_show', 'claim_timeout'] ELSE ARRAY['cancelled'] END)
  THEN
    RETURN 'refused';
  ELSIF EXISTS (SELECT 1 FROM holders WHERE queue = _q.key AND holder = _t.holder) THEN
    RETURN 'holder_in_line';
  ELSIF _action = 'reinstate' AND capacity_of(_q, _tallies) < 1 THEN
    RETURN 'at_capacity';
  END IF;
  _gone := ARRAY['expired', 'expired:' || _t.reason];
  IF _t.reason = 'no_show' AND _t.desk <> '' THEN
    _gone := _gone || ('desk:no_show:' || desk_of(_q.key, _t.desk));
  END IF;
  -- Take back the counts of the end of the ticket, in the hour in which they were counted.
  UPDATE stats SET value = value - 1
  WHERE queue = _q.key AND span IN ('total', 'h' || _t.ended / hour_ms()) AND name = ANY (_gone);
  IF _t.holder IS NOT NULL THEN
    INSERT INTO holders (queue, holder, number) VALUES (_q.key, _t.holder, _number);
  END IF;
  IF _action = 'put_back' THEN
    -- They count no longer among those who left the line. That has faded since, so what remains of it is taken back.
    IF _t.admitted = 0 THEN
      _remains := exp(-greatest(0, _now - _t.ended) / 1000.0::double precision / flow_fade_seconds());
      UPDATE tallies SET flow_left = greatest(0, flow_left - _remains),
        left_by_age = with_ages(left_by_age, ARRAY[_t.ended - _t.joined], -_remains) WHERE queue = _q.key;
    END IF;
    WHILE is_taken(_q.key, _t.place) LOOP
      _t.place := _t.place + 1;
    END LOOP;
  END IF;
  UPDATE tickets SET ended = 0, place = _t.place WHERE queue = _q.key AND number = _number;
  PERFORM move(_q, _now, _clock, ARRAY[_number], _action);
  RETURN 'done';
END $$;

-- transfer: end a ticket whose holder has a ticket in another queue now, and remember which.
-- Returns outcome (done, refused, missing) and the ticket. A ticket that was already transferred there is done.
CREATE FUNCTION transfer(_id text, _at bigint, _number bigint, _went json, _detail text) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _t tickets;
  _outcome text := 'done';
BEGIN
  SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _number;
  IF NOT FOUND THEN
    _outcome := 'missing';
  ELSIF _t.went IS NULL OR _t.went::text <> _went::text THEN
    IF cardinality(move(_q, _now, clock_of(_tallies, _now), ARRAY[_number], 'transfer', ARRAY['transferred'::reason],
      _detail => _detail)) > 0
    THEN
      UPDATE tickets SET went = _went WHERE queue = _q.key AND number = _number;
    ELSE
      _outcome := 'refused';
    END IF;
  END IF;
  RETURN acted(_q.key, _now, _outcome, _number);
END $$;

-- revoke: end a ticket, and remember why for as long as its session token would have been valid.
-- Returns outcome (done, refused, missing) and the ticket. A ticket that has ended is refused: nothing is left to
-- revoke.
CREATE FUNCTION revoke(_id text, _at bigint, _number bigint, _reason text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _clock double precision := clock_of(_tallies, _now);
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
  RETURN acted(_q.key, _now, _outcome, _number);
END $$;

-- all_revoked: the revoked tickets and the reasons, by number.
CREATE FUNCTION all_revoked(_id text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(number, reason) ORDER BY number), '[]')
    FROM revoked WHERE queue = _tallies.queue);
END $$;
