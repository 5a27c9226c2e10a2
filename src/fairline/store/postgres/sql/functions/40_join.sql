-- 40_join.sql: joining: limits, the reasons for no ticket, the join itself, serials.

-- The ms until one more hit is allowed under a limit over a sliding window; 0 is now. Hits that have left the window
-- are skipped, the oldest first, in the order in which they were counted. After a limit was lowered there may be more
-- hits than it allows. Then it is the time until enough of them have left.
CREATE FUNCTION blocked(_hits bigint[], _limit bigint, _window bigint, _now bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  _many int := coalesce(cardinality(_hits), 0);
  _first int := 1;
BEGIN
  WHILE _first <= _many AND _hits[_first] <= _now - _window LOOP
    _first := _first + 1;
  END LOOP;
  IF _many - _first + 1 < _limit THEN
    RETURN 0;
  END IF;
  RETURN _hits[_many - _limit + 1] + _window - _now;
END $$;

CREATE FUNCTION blocked_for(_queue bigint, _who text, _action text, _limit bigint, _window bigint, _now bigint)
RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT blocked(hits, _limit, _window, _now)
    FROM limits WHERE queue = _queue AND who = _who AND action = _action), 0)
$$;

CREATE FUNCTION hit(_queue bigint, _who text, _action text, _window bigint, _now bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  _hits bigint[];
BEGIN
  SELECT hits INTO _hits FROM limits WHERE queue = _queue AND who = _who AND action = _action;
  WHILE cardinality(_hits) > 0 AND _hits[1] <= _now - _window LOOP
    _hits := _hits[2:];
  END LOOP;
  INSERT INTO limits (queue, who, action, hits, until)
  VALUES (_queue, _who, _action, coalesce(_hits, '{}') || _now, _now + _window)
  ON CONFLICT (queue, who, action) DO UPDATE SET hits = excluded.hits, until = excluded.until;
END $$;

-- Why an arrival gets no ticket, as an item of a join; null if it gets one. `_closed` says that the queue is closed for
-- them, or closing. `_ip`, `_phone` and `_email` are what the limits count joins by: the first by the minute, the
-- others by the hour. `_missing` is a field that the queue requires and that was left out.
CREATE FUNCTION refusal_of(
  _q queues, _now bigint, _waiting bigint, _pass text, _ip text, _phone text, _email text, _series text,
  _missing text, _closed text
) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _p passes;
  _wait bigint;
BEGIN
  IF _q.status = 'maintenance' THEN
    RETURN json_build_array('maintenance', '', NULL);
  ELSIF _missing <> '' THEN
    RETURN json_build_array('missing', _missing, NULL);
  ELSIF _series <> '' AND _series <> ALL (_q.series) THEN
    RETURN json_build_array('series', array_to_string(_q.series, ', '), NULL);
  ELSIF _closed IS NOT NULL THEN
    RETURN json_build_array(_closed, '', NULL);
  ELSIF _waiting >= _q.max_queue_size THEN
    RETURN json_build_array('full', _waiting::text, NULL);
  END IF;
  IF _pass <> '' THEN
    SELECT * INTO _p FROM passes WHERE queue = _q.key AND id = _pass;
    IF NOT FOUND OR _p.expires <= _now THEN
      RETURN json_build_array('pass', 'it has ended or was withdrawn', NULL);
    ELSIF _p.used >= _p.uses THEN
      RETURN json_build_array('pass', 'it is used up', NULL);
    END IF;
  END IF;
  IF _ip IS NOT NULL THEN
    _wait := blocked_for(_q.key, _ip, 'join', _q.join_limit_per_ip, minute_ms(), _now);
    IF _wait > 0 THEN RETURN json_build_array('limited', 'address ' || _wait, NULL); END IF;
  END IF;
  IF _phone IS NOT NULL THEN
    _wait := blocked_for(_q.key, _phone, 'join', _q.join_limit_per_phone, hour_ms(), _now);
    IF _wait > 0 THEN RETURN json_build_array('limited', 'phone ' || _wait, NULL); END IF;
  END IF;
  IF _email IS NOT NULL THEN
    _wait := blocked_for(_q.key, _email, 'join', _q.join_limit_per_email, hour_ms(), _now);
    IF _wait > 0 THEN RETURN json_build_array('limited', 'email ' || _wait, NULL); END IF;
  END IF;
  RETURN NULL;
END $$;

-- join: give each arrival a new ticket at its place in the line, or the ticket that its holder already has.
-- Returns for each: outcome, detail, ticket. Outcomes: joined, existing (its holder has one), repeated (by its
-- idempotency key), or why there is none: conflict, maintenance, full, pass, limited (detail: who, and the ms to wait),
-- at_capacity (no way straight `_through`), closed, closing, series, missing (detail: the field), group_off, group_gone,
-- group_full. The calendar was
-- worked out from the settings at `_version` (null: there is none): when `_days` begin, when the queue is open
-- (`_from`, `_until`; null: always), and the longest line that can still be served today. If the settings have changed
-- since, nothing is done.
CREATE FUNCTION "join"(
  _id text, _at bigint, _version bigint, _days bigint[], _from bigint[], _until bigint[], _longest bigint,
  _clients bytea[], _users bytea[], _phones bytea[], _emails bytea[], _addresses bytea[],
  _keys bytea[], _fingerprints bytea[], _levels int[], _passes text[], _limited boolean[], _people json[],
  _through boolean[], _series text[], _on_hold boolean[], _came json[], _missing text[],
  _firsts bigint[], _firsts_joined bigint[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _due double precision := waiting_due(_q, clock_of(_tallies, _now));
  _waiting bigint := _tallies.waiting;
  _open boolean := _from IS NULL OR EXISTS (
    SELECT 1 FROM unnest(_from, _until) span(begins, ends) WHERE begins <= _now AND _now < ends);
  _a record;
  _t tickets;
  _holder bytea;
  _beside bigint;                 -- the place in the group that is joined
  _why text;
  _goes_ahead boolean;
  _found record;
  _ip text;
  _phone text;
  _email text;
  _items json[] := '{}';
  _item json;
  _existing_at int[] := '{}';     -- which items are a ticket that existed already, and its number
  _existing bigint[] := '{}';
  _joined bigint := 0;
  _rank bigint;
  _waits bigint[] := '{}';        -- of those who went straight through
  _event_tickets bigint[] := '{}';
  _event_types text[] := '{}';
  _event_details text[] := '{}';
  _places bigint[] := '{}';       -- taken, and not counted in the blocks yet
BEGIN
  IF _version <> _q.version THEN
    RETURN json_build_array(snapshot_of(_q.key, _now), '[]'::json);
  END IF;
  FOR _a IN
    SELECT * FROM unnest(_clients, _users, _phones, _emails, _addresses, _keys, _fingerprints, _levels, _passes,
      _limited, _people, _through, _series, _on_hold, _came, _missing, _firsts, _firsts_joined)
      WITH ORDINALITY a(client, "user", phone, email, address, key, fingerprint, level, pass, limited, person,
        through, series, on_hold, came, missing, first, first_joined, i)
  LOOP
    _holder := CASE _q.one_per WHEN 'client' THEN _a.client WHEN 'user' THEN _a."user" WHEN 'phone' THEN _a.phone
      WHEN 'ip' THEN _a.address ELSE '' END;
    -- An arrival that leaves out what the queue goes by counts by its client.
    _holder := CASE WHEN _holder <> '' THEN left(_q.one_per, 1)::bytea || _holder
      WHEN _q.one_per <> 'none' AND _a.client <> '' THEN 'c'::bytea || _a.client END;
    _ip := CASE WHEN _a.limited AND _a.address <> '' AND _q.join_limit_per_ip > 0
      THEN 'ip:' || encode(_a.address, 'hex') END;
    _phone := CASE WHEN _a.limited AND _a.phone <> '' AND _q.join_limit_per_phone > 0
      THEN 'phone:' || encode(_a.phone, 'hex') END;
    _email := CASE WHEN _a.limited AND _a.email <> '' AND _q.join_limit_per_email > 0
      THEN 'email:' || encode(_a.email, 'hex') END;
    _item := NULL;

    -- The ticket that exists already, by the idempotency key or by the holder.
    IF _a.key <> '' THEN
      SELECT number, fingerprint INTO _found FROM join_keys WHERE queue = _q.key AND key = _a.key;
      IF FOUND AND _found.fingerprint <> _a.fingerprint THEN
        _items := _items || json_build_array('conflict', '', NULL);
        CONTINUE;
      ELSIF FOUND THEN
        _item := '["repeated", "", null]';
      END IF;
    END IF;
    IF _item IS NULL AND _holder IS NOT NULL THEN
      SELECT number INTO _found FROM holders WHERE queue = _q.key AND holder = _holder;
      IF FOUND THEN
        _item := '["existing", "", null]';
      END IF;
    END IF;
    IF _item IS NOT NULL THEN
      _items := _items || _item;
      _existing_at := _existing_at || _a.i::int;
      _existing := _existing || _found.number;
      CONTINUE;
    END IF;

    _item := refusal_of(_q, _now, _waiting, _a.pass, _ip, _phone, _email, _a.series, _a.missing, CASE
      WHEN _a.limited AND NOT _open THEN 'closed'
      WHEN _a.limited AND _waiting >= _longest THEN 'closing' END);
    IF _item IS NULL AND _a.first IS NOT NULL THEN
      SELECT why, place, level INTO _why, _beside, _a.level FROM group_place(_q, _a.first, _a.first_joined);
      _item := CASE WHEN _why IS NOT NULL THEN json_build_array(_why, '', NULL) END;
    END IF;
    -- Nobody overtakes people who wait, and the capacity and the rate are the same for everyone.
    IF _item IS NULL AND _a.through AND NOT (
      lets_in(_q) AND _waiting = 0 AND capacity_of(_q, _tallies) > 0 AND tokens_of(_q, _tallies, _now, 0) >= 1
    ) THEN
      _item := '["at_capacity", "", null]';
    END IF;
    IF _item IS NOT NULL THEN
      _items := _items || _item;
      CONTINUE;
    END IF;
    IF _a.pass <> '' THEN
      UPDATE passes SET used = used + 1 WHERE queue = _q.key AND id = _a.pass RETURNING level INTO _a.level;
    END IF;

    -- A new ticket. One that goes ahead of others needs the line as it is now. It also moves the existing tickets of
    -- this answer, so those are read before it.
    _tallies.number := _tallies.number + 1;
    _goes_ahead := _a.level > 0 OR _a.first IS NOT NULL;
    IF _goes_ahead THEN
      PERFORM blocks_gain(_q.key, _places);
      _places := '{}';
      _items := with_tickets(_q.key, _items, _existing_at, _existing);
      _existing_at := '{}';
      _existing := '{}';
    END IF;
    _t := NULL;
    _t.queue := _q.key;
    _t.number := _tallies.number;
    _t.status := CASE WHEN _a.through THEN 'admitted' ELSE 'waiting' END;
    _t.level := _a.level;
    _t.leaving := false;
    _t.on_hold := _a.on_hold;
    _t.serial := next_serial(_q, _now, _days, _a.series, _tallies.number);
    _t.moved := 0;
    _t.nearly := false;
    _t.place := CASE WHEN _a.first IS NOT NULL THEN _beside
      ELSE next_place(_q, _waiting, _tallies.number + _tallies.moves, _a.level, _tallies.turns) END;
    _t.joined := _now;
    _t.admitted := CASE WHEN _a.through THEN _now ELSE 0 END;
    _t.started := 0;
    _t.ended := 0;
    _t.due := CASE WHEN _a.through THEN clock_of(_tallies, _now) + _q.claim_seconds * 1000 ELSE _due END;
    _t.sweep_at := _t.due;
    _t.cap := 0;
    _t.page_views := 0;
    _t.client := _a.client;
    _t.holder := _holder;
    _t.key := nullif(_a.key, '');
    _t.person := _a.person;
    _t.came := _a.came;
    INSERT INTO tickets SELECT _t.*;
    IF _a.level > 0 AND _a.first IS NULL THEN
      _tallies.turns[_a.level] := greatest(_tallies.turns[_a.level], _t.place >> place_bits());
    END IF;
    _event_tickets := _event_tickets || _t.number;
    _event_types := _event_types || 'joined'::text;
    _event_details := _event_details || CASE WHEN _a.level > 0 THEN _a.level::text END;
    _joined := _joined + 1;
    IF _a.through THEN
      _tallies.tokens := tokens_of(_q, _tallies, _now, 0) - 1;
      _tallies.tokens_at := _now;
      _tallies.token_bound := false;
      _tallies.admitted := _tallies.admitted + 1;
      _tallies.admitted_at := _now;
      _tallies.flow_called := _tallies.flow_called + 1;
      _tallies.head_joined := _now;
      _event_tickets := _event_tickets || _t.number;
      _event_types := _event_types || 'admitted'::text;
      _event_details := _event_details || NULL::text;
      _waits := _waits || 0::bigint;
      _item := json_build_array('joined', '', full_ticket(_t, NULL, _tallies.stopped));
    ELSIF _a.on_hold THEN
      _tallies.on_hold := _tallies.on_hold + 1;
      _item := json_build_array('joined', '', full_ticket(_t, NULL, _tallies.stopped));
    ELSIF _goes_ahead THEN
      INSERT INTO line (queue, place, number) VALUES (_q.key, _t.place, _t.number);
      _waiting := _waiting + 1;
      PERFORM blocks_gain(_q.key, ARRAY[_t.place]);
      _rank := (ranks(_q.key, ARRAY[_t.number]))[1];
      IF _rank < _waiting THEN
        _tallies.flow_passed := _tallies.flow_passed + _waiting - _rank;
        _tallies.passed_at := _now;
      END IF;
      _item := json_build_array('joined', '', full_ticket(_t, _rank, _tallies.stopped));
    ELSE
      -- A ticket without priority is the last in line: its place has the highest turn there is.
      INSERT INTO line (queue, place, number) VALUES (_q.key, _t.place, _t.number);
      _waiting := _waiting + 1;
      _places := _places || _t.place;
      _item := json_build_array('joined', '', full_ticket(_t, _waiting, _tallies.stopped));
    END IF;
    _items := _items || _item;
    IF _a.first IS NOT NULL THEN
      _tallies.groups := _tallies.groups + add_to_group(_q.key, _t.number, _a.first, _a.first_joined);
    END IF;
    IF _holder IS NOT NULL THEN
      INSERT INTO holders (queue, holder, number) VALUES (_q.key, _holder, _t.number);
    END IF;
    IF _a.key <> '' THEN
      INSERT INTO join_keys (queue, key, fingerprint, number) VALUES (_q.key, _a.key, _a.fingerprint, _t.number);
    END IF;
    IF _ip IS NOT NULL THEN PERFORM hit(_q.key, _ip, 'join', minute_ms(), _now); END IF;
    IF _phone IS NOT NULL THEN PERFORM hit(_q.key, _phone, 'join', hour_ms(), _now); END IF;
    IF _email IS NOT NULL THEN PERFORM hit(_q.key, _email, 'join', hour_ms(), _now); END IF;
  END LOOP;

  IF cardinality(_places) > 0 THEN PERFORM blocks_gain(_q.key, _places); END IF;
  IF _joined > 0 THEN
    UPDATE tallies SET number = _tallies.number, turns = _tallies.turns, waiting = _waiting, on_hold = _tallies.on_hold,
      groups = _tallies.groups,
      empty_at = CASE WHEN _tallies.waiting = 0 AND _waiting > 0 THEN _now ELSE empty_at END,
      admitted = _tallies.admitted, admitted_at = _tallies.admitted_at, flow_called = _tallies.flow_called,
      head_joined = _tallies.head_joined, flow_passed = _tallies.flow_passed, passed_at = _tallies.passed_at,
      tokens = _tallies.tokens, tokens_at = _tallies.tokens_at, token_bound = _tallies.token_bound
    WHERE queue = _q.key;
    PERFORM record_events(_q.key, _now, _event_types, _event_tickets, _event_details);
    PERFORM tally(_q.key, _now, ARRAY['joined'], ARRAY[_joined], _waiting);
  END IF;
  IF cardinality(_waits) > 0 THEN
    PERFORM tally_moved(_q.key, _now, _waits, NULL, 0, 0, NULL, _waiting);
  END IF;
  _items := with_tickets(_q.key, _items, _existing_at, _existing);
  RETURN json_build_array(snapshot_of(_q.key, _now), array_to_json(_items));
END $$;

-- What is printed instead of the number: the next serial of the series. It counts from 1 each day if the queue says so.
-- It never goes back to an earlier day, it continues on the day on which that setting or the time zone is changed, and
-- it goes past the plain numbers that were printed in between: no two serials of one day are the same.
CREATE FUNCTION next_serial(_q queues, _now bigint, _days bigint[], _name text, _number bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  _series text := coalesce(nullif(_name, ''), _q.series[1], '');
  _day bigint := 0;
  _given bigint;
BEGIN
  IF _q.label_restart = 'daily' THEN
    SELECT coalesce(max(began), 0) INTO _day FROM unnest(_days) began WHERE began <= _now;
  ELSIF _series = '' THEN
    RETURN '';
  END IF;
  INSERT INTO serials AS s (queue, series, day, given, number)
  VALUES (_q.key, _series, _day, CASE WHEN _series = '' THEN _number ELSE 1 END, _number)
  ON CONFLICT (queue, series) DO UPDATE SET
    given = CASE
      WHEN _series = '' AND _number <> s.number + 1 THEN greatest(s.given + 1, _number)
      WHEN s.day > 0 AND _day - s.day >= shortest_day_ms() THEN 1
      ELSE s.given + 1 END,
    day = CASE WHEN _day - s.day >= shortest_day_ms() THEN _day ELSE s.day END,
    number = _number
  RETURNING given INTO _given;
  RETURN _series || lpad(_given::text, greatest(length(_given::text), CASE WHEN _series = '' THEN 6 ELSE 4 END), '0');
END $$;

-- The items of a join, with the tickets that existed already as they are now.
CREATE FUNCTION with_tickets(_queue bigint, _items json[], _at int[], _numbers bigint[]) RETURNS json[]
LANGUAGE plpgsql AS $$
DECLARE
  _tickets json;
BEGIN
  IF cardinality(_at) > 0 THEN
    _tickets := full_tickets(_queue, _numbers);
    FOR _i IN 1 .. cardinality(_at) LOOP
      _items[_at[_i]] := json_build_array(_items[_at[_i]] -> 0, '', _tickets -> (_i - 1));
    END LOOP;
  END IF;
  RETURN _items;
END $$;
