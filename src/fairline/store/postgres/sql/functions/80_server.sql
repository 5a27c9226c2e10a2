-- 80_server.sql: what belongs to the server rather than to a queue.

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

-- rotate: go on to the next generation.
CREATE FUNCTION rotate() RETURNS json LANGUAGE sql AS $$
  UPDATE generations SET generation = generation + 1 RETURNING to_json(generation)
$$;

-- mark_alive: note that someone serves HTTP, or keeps the queues, at this moment.
CREATE FUNCTION mark_alive(_part text, _at bigint) RETURNS json LANGUAGE sql AS $$
  INSERT INTO alive (part, at) VALUES (_part, moment(_at)) ON CONFLICT (part) DO UPDATE SET at = excluded.at
  RETURNING to_json(at)
$$;

-- last_alive: when that was last noted, null if never.
CREATE FUNCTION last_alive(_part text) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT to_json(at) FROM alive WHERE part = _part), 'null')
$$;

-- try_at: count one try at something of the server's own against a limit over a sliding window of `_window` ms; no queue
-- has the number 0. Tries that hold nobody back any more are cleared away.
-- Returns the ms until it is allowed again; 0 means it was allowed, and counted.
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
