-- 80_server.sql: everything that belongs to the server and not to a queue.

-- store_time: the store's clock in ms.
CREATE FUNCTION store_time() RETURNS json LANGUAGE sql VOLATILE AS $$
  SELECT to_json(moment(NULL))
$$;

-- all_admin_keys: oldest first; one alone by its id.
CREATE FUNCTION all_admin_keys(_id text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(k ORDER BY created, id), '[]') FROM admin_keys k WHERE _id IS NULL OR id = _id
$$;

-- put_admin_key: add an admin key, or replace the one with its id.
CREATE FUNCTION put_admin_key(_key jsonb) RETURNS json LANGUAGE sql AS $$
  INSERT INTO admin_keys SELECT (jsonb_populate_record(NULL::admin_keys, _key)).*
  ON CONFLICT (id) DO UPDATE SET
    role = excluded.role, name = excluded.name, digest = excluded.digest, created = excluded.created;
  SELECT 'null'::json;
$$;

-- remove_admin_key: returns whether there was one.
CREATE FUNCTION remove_admin_key(_id text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM admin_keys WHERE id = _id;
  RETURN to_json(FOUND);
END $$;

-- generation: which generation of signing keys is in use.
CREATE FUNCTION generation() RETURNS json LANGUAGE sql STABLE AS $$
  SELECT to_json(generation) FROM generations
$$;

-- rotate: change to the next generation.
CREATE FUNCTION rotate() RETURNS json LANGUAGE sql AS $$
  UPDATE generations SET generation = generation + 1 RETURNING to_json(generation)
$$;

-- mark_alive: record that a process serves HTTP, or keeps the queues, at this moment. A process that was not seen for
-- `_gone` ms is forgotten. The row of the part is written first, so that its processes do this one after the other.
CREATE FUNCTION mark_alive(_part text, _name text, _at bigint, _gone bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
BEGIN
  INSERT INTO alive (part, at) VALUES (_part, _now) ON CONFLICT (part) DO UPDATE SET at = excluded.at;
  INSERT INTO workers (part, name, at) VALUES (_part, _name, _now)
  ON CONFLICT (part, name) DO UPDATE SET at = excluded.at;
  DELETE FROM workers WHERE part = _part AND at < _now - _gone;
  RETURN 'null';
END $$;

-- all_workers: the processes seen in the last `_gone` ms, by part and name.
CREATE FUNCTION all_workers(_at bigint, _gone bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(json_build_array(part, name, at) ORDER BY part, name), '[]')
  FROM workers WHERE at >= moment(_at) - _gone AND part <> 'server'
$$;

-- show_server: record what a process says of itself. It is kept among the processes, as a part of its own. What was not
-- said again for `_gone` ms is forgotten.
CREATE FUNCTION show_server(_said text, _at bigint, _gone bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
BEGIN
  INSERT INTO workers (part, name, at) VALUES ('server', _said, _now)
  ON CONFLICT (part, name) DO UPDATE SET at = excluded.at;
  DELETE FROM workers WHERE part = 'server' AND at < _now - _gone;
  RETURN 'null';
END $$;

-- all_servers: what the processes seen in the last `_gone` ms said of themselves, oldest first.
CREATE FUNCTION all_servers(_at bigint, _gone bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce(json_agg(name::json ORDER BY at), '[]')
  FROM workers WHERE part = 'server' AND at >= moment(_at) - _gone
$$;

-- record_action: write an entry into the audit log, which keeps about the last `_kept`.
CREATE FUNCTION record_action(_at bigint, _queue text, _action jsonb, _kept bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _new bigint;
BEGIN
  INSERT INTO audit (at, queue, action) VALUES (moment(_at), _queue, _action) RETURNING id INTO _new;
  DELETE FROM audit WHERE id <= _new - _kept;
  RETURN 'null';
END $$;

-- list_actions: the audit log, newest first: of one queue or of everything, before an entry or from the newest.
CREATE FUNCTION list_actions(_queue text, _before bigint, _many bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  _before := coalesce(_before, 9223372036854775807);
  IF _queue IS NULL THEN
    RETURN (SELECT coalesce(json_agg(json_build_array(id, at, action) ORDER BY id DESC), '[]') FROM (
      SELECT * FROM audit WHERE id < _before ORDER BY id DESC LIMIT _many) page);
  END IF;
  RETURN (SELECT coalesce(json_agg(json_build_array(id, at, action) ORDER BY id DESC), '[]') FROM (
    SELECT * FROM audit WHERE queue = _queue AND id < _before ORDER BY id DESC LIMIT _many) page);
END $$;

-- last_alive: when a process of this part was last seen, null if never.
CREATE FUNCTION last_alive(_part text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT to_json(at) FROM alive WHERE part = _part), 'null')
$$;

-- try_at: count one try at something that belongs to the server, such as signing in, against a limit over a sliding
-- window of `_window` ms. It is kept under the queue 0, which does not exist. Tries that no longer block anyone are
-- removed.
-- Returns the ms until a try is allowed again; 0 means that this one was allowed and counted.
CREATE FUNCTION try_at(_at bigint, _who text, _action text, _limit int, _window bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _now bigint := moment(_at);
  _wait bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(_who || _action, 0));
  DELETE FROM limits WHERE queue = 0 AND until <= _now;
  _wait := blocked_for(0, _who, _action, _limit, _window, _now);
  IF _wait = 0 THEN
    PERFORM hit(0, _who, _action, _window, _now);
  END IF;
  RETURN to_json(_wait);
END $$;

-- tries_at: how many such tries are inside a sliding window of `_window` ms.
CREATE FUNCTION tries_at(_at bigint, _who text, _action text, _window bigint) RETURNS json
LANGUAGE sql AS $$
  SELECT to_json(count(*)) FROM limits, unnest(hits) AS tried
  WHERE queue = 0 AND who = _who AND action = _action AND tried > moment(_at) - _window
$$;
