-- 70_queues.sql: queues: create, change, remove, list their tickets and events, read their counts.

-- all_queues: the names of all queues, sorted.
CREATE FUNCTION all_queues() RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(id ORDER BY id), '[]') FROM queues
$$;

-- create_queue: create a queue, unless it exists. Returns whether it was created.
-- The version and the events start at the microsecond of creation. In an earlier queue of the same name neither can
-- have come that far, so nothing that anyone remembers of it fits this queue.
CREATE FUNCTION create_queue(_id text, _at bigint, _settings jsonb, _by text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
  _first bigint := coalesce(_at * 1000, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  _key bigint := nextval(pg_get_serial_sequence('queues', 'key'));
  _q queues;
BEGIN
  INSERT INTO queues (key, id, version, created) VALUES (_key, _id, _first, _first)
  ON CONFLICT (id) DO NOTHING RETURNING * INTO _q;
  IF NOT FOUND THEN
    RETURN 'false';
  END IF;
  PERFORM write_settings(_q, _first, _settings);
  INSERT INTO tallies (queue, swept_at, turns, event)
  VALUES (_key, _now, array_fill(-place_band(), ARRAY[3]), _first);
  INSERT INTO revisions (queue, version, at, by, settings) VALUES (_key, _first, _now, _by, _settings);
  PERFORM record_events(_key, _now, ARRAY['queue_created']);
  RETURN 'true';
END $$;

-- Write the settings of a queue. A setting that is not among them keeps its value, which in a new queue is the default
-- of its column.
CREATE FUNCTION write_settings(_q queues, _version bigint, _settings jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM queues WHERE key = _q.key;
  INSERT INTO queues SELECT (jsonb_populate_record(_q, _settings || jsonb_build_object('version', _version))).*;
END $$;

-- settings: the settings of a queue, with their version.
CREATE FUNCTION settings(_id text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT json_build_array(q.version, to_jsonb(q) - ARRAY['key', 'id', 'version', 'created'])
    FROM queues q WHERE q.key = _tallies.queue);
END $$;

-- version_of: the version of a queue's settings.
CREATE FUNCTION version_of(_id text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _version bigint;
BEGIN
  SELECT q.version INTO _version FROM queues q WHERE q.id = _id;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no queue %', _id USING ERRCODE = 'FL001';
  END IF;
  RETURN to_json(_version);
END $$;

-- configure: write all settings of a queue, and add them to its history, which keeps the last `_kept`. An event may be
-- written with them. Returns the version found. The settings were written if it is the one expected.
CREATE FUNCTION configure(
  _id text, _at bigint, _version bigint, _settings jsonb, _by text, _kept bigint, _event text, _detail text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _new queues;
  _now bigint := moment(_at);
BEGIN
  IF _q.version = _version THEN
    PERFORM write_settings(_q, _version + 1, _settings);
    _new := settings_of(_q.key);
    IF _q.status = 'active' AND _new.status <> 'active' THEN
      PERFORM note_slowed(_q.key, _now, cause_paused());
    ELSIF 100 * _new.admission_rate < much_less_percent() * _q.admission_rate THEN
      PERFORM note_slowed(_q.key, _now, cause_rate_changed());
    ELSIF 100 * _new.max_active < much_less_percent() * _q.max_active THEN
      PERFORM note_slowed(_q.key, _now, cause_capacity_reduced());
    END IF;
    INSERT INTO revisions (queue, version, at, by, settings) VALUES (_q.key, _version + 1, _now, _by, _settings);
    DELETE FROM revisions WHERE queue = _q.key AND version <= _version + 1 - _kept;
    PERFORM record_events(_q.key, _now, ARRAY['settings_changed'], _details => ARRAY[(_version + 1)::text]);
    IF _event IS NOT NULL THEN
      PERFORM record_events(_q.key, _now, ARRAY[_event], _details => ARRAY[_detail]);
    END IF;
  END IF;
  RETURN to_json(_q.version);
END $$;

-- list_revisions: the earlier and present settings, newest first: those before a version, or all.
CREATE FUNCTION list_revisions(_id text, _before bigint, _many bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(r.version, r.at, r.by, r.settings, r.version = q.created)
      ORDER BY r.version DESC), '[]')
    FROM queues q, LATERAL (
      SELECT * FROM revisions WHERE queue = q.key AND version < coalesce(_before, 9223372036854775807)
      ORDER BY version DESC LIMIT _many) r
    WHERE q.key = _tallies.queue);
END $$;

-- remove_queue: remove a queue with all its tickets.
-- Returns the version found. The queue was removed if it is the one expected, or if none was expected.
CREATE FUNCTION remove_queue(_id text, _version bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
BEGIN
  IF _q.version <> _version THEN
    RETURN to_json(_q.version);
  END IF;
  DELETE FROM line WHERE queue = _tallies.queue;
  DELETE FROM blocks WHERE queue = _tallies.queue;
  DELETE FROM tickets WHERE queue = _tallies.queue;
  DELETE FROM holders WHERE queue = _tallies.queue;
  DELETE FROM join_keys WHERE queue = _tallies.queue;
  DELETE FROM call_keys WHERE queue = _tallies.queue;
  DELETE FROM revoked WHERE queue = _tallies.queue;
  DELETE FROM passes WHERE queue = _tallies.queue;
  DELETE FROM limits WHERE queue = _tallies.queue;
  DELETE FROM events WHERE queue = _tallies.queue;
  -- The cursors of this queue mean nothing for one that is recreated under its name.
  DELETE FROM outbox_cursors WHERE queue = _id;
  DELETE FROM stats WHERE queue = _tallies.queue;
  DELETE FROM revisions WHERE queue = _tallies.queue;
  DELETE FROM minutes WHERE queue = _tallies.queue;
  DELETE FROM estimates WHERE queue = _tallies.queue;
  DELETE FROM hours WHERE queue = _tallies.queue;
  DELETE FROM serials WHERE queue = _tallies.queue;
  DELETE FROM desks WHERE queue = _tallies.queue;
  DELETE FROM draws WHERE queue = _tallies.queue;
  DELETE FROM members WHERE queue = _tallies.queue;
  DELETE FROM groups WHERE queue = _tallies.queue;
  DELETE FROM tallies WHERE queue = _tallies.queue;
  DELETE FROM queues WHERE key = _tallies.queue;
  RETURN to_json(_q.version);
END $$;

-- list_tickets: tickets in order, a page at a time: those who wait and then those on hold by place, the others by
-- number. `_part` and `_after` are where to continue: 1 in line, 2 on hold, 3 admitted, 4 active, 5 ended; and the last
-- place or number read. A page reads a bounded number of tickets, so a page of one status may be short and still not be
-- the last.
-- Returns the part and the place or number to continue from (null at the end), and the tickets.
CREATE FUNCTION list_tickets(_id text, _status status, _part int, _after bigint, _many bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _first int := CASE _status WHEN 'waiting' THEN 1 WHEN 'admitted' THEN 3 WHEN 'active' THEN 4
    WHEN 'completed' THEN 5 WHEN 'expired' THEN 5 END;
  _last int := CASE _status WHEN 'waiting' THEN 2 ELSE coalesce(_first, 5) END;
  _found record;
  _many_found int;
  _last_part int;
  _last_key bigint;
  _numbers bigint[] := '{}';
BEGIN
  _part := coalesce(_part, _first, 1);
  WHILE _part <= _last LOOP
    -- Read one more than is answered, to know whether a full page is the last one.
    IF _part = 1 THEN
      SELECT array_agg(number ORDER BY place) AS numbers, array_agg(place ORDER BY place) AS keys INTO _found FROM (
        SELECT number, place FROM line WHERE queue = _tallies.queue AND place > coalesce(_after, -9223372036854775808)
        ORDER BY place LIMIT _many + 1) page;
    ELSIF _part = 2 THEN
      SELECT array_agg(number ORDER BY place) AS numbers, array_agg(place ORDER BY place) AS keys INTO _found FROM (
        SELECT number, place FROM tickets WHERE queue = _tallies.queue AND on_hold
          AND place > coalesce(_after, -9223372036854775808)
        ORDER BY place LIMIT _many + 1) page;
    ELSIF _part < 5 THEN
      SELECT array_agg(number ORDER BY number) AS numbers, array_agg(number ORDER BY number) AS keys INTO _found FROM (
        SELECT number FROM tickets WHERE queue = _tallies.queue AND status = CASE _part WHEN 3 THEN 'admitted'::status
          ELSE 'active' END AND status IN ('admitted', 'active') AND number > coalesce(_after, 0)
        ORDER BY number LIMIT _many + 1) page;
    ELSE
      SELECT array_agg(CASE WHEN _status IS NULL OR status = _status THEN number END ORDER BY number) AS numbers,
        array_agg(number ORDER BY number) AS keys INTO _found FROM (
          SELECT number, status FROM tickets WHERE queue = _tallies.queue AND status IN ('completed', 'expired')
            AND number > coalesce(_after, 0)
          ORDER BY number LIMIT _many + 1) page;
    END IF;
    _many_found := coalesce(cardinality(_found.keys), 0);
    IF _many_found > 0 AND _many > 0 THEN
      _numbers := _numbers || array_remove(_found.numbers[1:_many], NULL);
      _last_part := _part;
      _last_key := _found.keys[least(_many, _many_found)];
    END IF;
    EXIT WHEN _many_found > _many;
    _many := _many - _many_found;
    _part := _part + 1;
    _after := NULL;
  END LOOP;
  RETURN json_build_array(
    CASE WHEN _part <= _last THEN _last_part END, _last_key, full_tickets(_tallies.queue, _numbers));
END $$;

-- missed: the people who were called and did not come, and whose tickets ended at `_since` or later: newest tickets
-- first, up to `_many`, among the last `_looked` that ended.
CREATE FUNCTION missed(_id text, _since bigint, _many bigint, _looked bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _numbers bigint[];
BEGIN
  SELECT array_agg(number ORDER BY number DESC) INTO _numbers FROM (
    SELECT number FROM (
      SELECT number, reason, ended FROM tickets WHERE queue = _tallies.queue AND status IN ('completed', 'expired')
      ORDER BY number DESC LIMIT _looked
    ) last
    WHERE reason IN ('no_show', 'claim_timeout') AND ended >= _since ORDER BY number DESC LIMIT _many
  ) page;
  RETURN full_tickets(_tallies.queue, coalesce(_numbers, '{}'));
END $$;

-- arriving: the tickets that are on hold until their holders have left the queue they come from, by number; and where
-- each comes from.
CREATE FUNCTION arriving(_id text, _many bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _numbers bigint[];
  _came json;
BEGIN
  SELECT array_agg(number ORDER BY number), json_agg(came ORDER BY number) INTO _numbers, _came FROM (
    SELECT number, came FROM tickets WHERE queue = _tallies.queue AND on_hold AND came IS NOT NULL
    ORDER BY number LIMIT _many
  ) page;
  RETURN json_build_array(full_tickets(_tallies.queue, coalesce(_numbers, '{}')), coalesce(_came, '[]'));
END $$;

-- list_events: the events after an event, oldest first; without `_after`, from the oldest that is kept.
CREATE FUNCTION list_events(_id text, _after bigint, _many bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(id, type, at, ticket, detail) ORDER BY id), '[]') FROM (
    SELECT * FROM events WHERE queue = _tallies.queue AND id > coalesce(_after, 0) ORDER BY id LIMIT _many) page);
END $$;

-- list_calls: the newest events of some types among the last `_within`, newest first.
CREATE FUNCTION list_calls(_id text, _types text[], _within bigint, _many bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(id, type, at, ticket, detail) ORDER BY id DESC), '[]') FROM (
    SELECT * FROM events WHERE queue = _tallies.queue AND id > _tallies.event - _within AND type = ANY (_types)
    ORDER BY id DESC LIMIT _many) newest);
END $$;

-- last_event: the id of the newest event.
CREATE FUNCTION last_event(_id text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT to_json((tallies_of(_id)).event)
$$;

-- newest_events: the id of the newest event of every queue, with its name.
CREATE FUNCTION newest_events() RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_array(q.id, c.event) ORDER BY q.id), '[]')
  FROM queues q JOIN tallies c ON c.queue = q.key
$$;

-- events_lost: whether some events after this one are no longer kept.
CREATE FUNCTION events_lost(_id text, _after bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN to_json(_tallies.event > _after
    AND NOT EXISTS (SELECT 1 FROM events WHERE queue = _tallies.queue AND id = _after + 1));
END $$;

-- all_counts: the queue at this moment, the time of the last admission, all counts, and those of this minute and the
-- last.
CREATE FUNCTION all_counts(_id text, _at bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN json_build_array(snapshot_of(_tallies.queue, moment(_at)), _tallies.admitted_at, (
    SELECT coalesce(json_agg(json_build_array(span || ':' || name, value)), '[]') FROM stats
    WHERE queue = _tallies.queue),
    minutes_from(_tallies.queue, moment(_at) / minute_ms() - 1));
END $$;

-- older_hours: the counts of the packed hours.
CREATE FUNCTION older_hours(_id text) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(hour, counts)), '[]') FROM hours WHERE queue = _tallies.queue);
END $$;

-- series: the queue at this moment, and the counts of the last `_many` minutes that have some.
CREATE FUNCTION series(_id text, _at bigint, _many bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _now bigint := moment(_at);
BEGIN
  RETURN json_build_array(
    snapshot_of(_tallies.queue, _now), minutes_from(_tallies.queue, _now / minute_ms() - _many + 1));
END $$;
