-- 35_groups.sql: people who wait as a group. They stand beside each other in the line, and go in together.

-- find_group: who someone waits with: the number of the first ticket, when it was issued, and how many they are. Someone
-- who waits alone is a group of one; null if they do not wait.
CREATE FUNCTION find_group(_id text, _at bigint, _number bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN coalesce((
    SELECT json_build_array(coalesce(g.first, t.number), coalesce(g.first_joined, t.joined), CASE WHEN g.first IS NULL
      THEN 1 ELSE (SELECT count(*) FROM groups o WHERE o.queue = _tallies.queue AND o.first = g.first) END)
    FROM tickets t LEFT JOIN groups g ON g.queue = t.queue AND g.number = t.number
    WHERE t.queue = _tallies.queue AND t.number = _number AND t.status = 'waiting'), 'null');
END $$;

-- Whether someone waits together with others.
CREATE FUNCTION has_company(_tallies tallies, _number bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN _tallies.groups > 0 AND EXISTS (
    SELECT 1 FROM groups g JOIN groups o ON o.queue = g.queue AND o.first = g.first AND o.number <> g.number
    WHERE g.queue = _tallies.queue AND g.number = _number);
END $$;

-- The place of one more in a group, in the turn of this place: behind those who have a place in that turn of their own.
CREATE FUNCTION place_beside(_place bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT ((_place >> place_bits()) << place_bits()) + place_span() / 2
$$;

-- Why an arrival cannot join the group of this first ticket, or the place and the level that it gets. After the draw of
-- an opening nobody can: they would have a place that was drawn for somebody else.
CREATE FUNCTION group_place(
  _q queues, _first bigint, _joined bigint, OUT why text, OUT place bigint, OUT level int
) LANGUAGE plpgsql STABLE AS $$
DECLARE
  _numbers bigint[];
  _since bigint;
  _found record;
BEGIN
  IF _q.group_size = 0 THEN
    why := 'group_off';
    RETURN;
  END IF;
  SELECT array_agg(g.number), min(g.first_joined) INTO _numbers, _since FROM groups g
  WHERE g.queue = _q.key AND g.first = _first;
  _numbers := coalesce(_numbers, ARRAY[_first]);
  SELECT count(*) AS many, min(t.joined) AS joined, max(t.drawn_rank) AS rank, min(t.place) AS place,
    (array_agg(t.level ORDER BY t.place))[1] AS level
  INTO _found FROM unnest(_numbers) a(number)
  CROSS JOIN LATERAL (
    SELECT t.* FROM tickets t WHERE t.queue = _q.key AND t.number = a.number AND t.status = 'waiting' OFFSET 0
  ) t;
  IF _found.many = 0 OR coalesce(_since, _found.joined) <> _joined OR _found.rank > 0 OR _q.phase = 'drawing' THEN
    why := 'group_gone';
  ELSIF _found.many >= _q.group_size THEN
    why := 'group_full';
  END IF;
  level := _found.level;
  place := place_beside(_found.place);
  WHILE why IS NULL AND is_taken(_q.key, place) LOOP
    place := place + 1;
  END LOOP;
END $$;

-- Someone has joined the group of this first ticket. Returns how many more are in groups now.
CREATE FUNCTION add_to_group(_queue bigint, _number bigint, _first bigint, _joined bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  _added bigint;
BEGIN
  INSERT INTO groups (queue, number, first, first_joined)
  SELECT _queue, number, _first, _joined FROM unnest(ARRAY[_number, _first]) number
  WHERE number = _number OR NOT EXISTS (SELECT 1 FROM groups WHERE queue = _queue AND first = _first);
  GET DIAGNOSTICS _added = ROW_COUNT;
  RETURN _added;
END $$;

-- These people no longer wait, or wait again. The others of their groups keep their places, and the code goes on working
-- for them. If it is the code of one who waits again, they are in the group again.
CREATE FUNCTION change_groups(_queue bigint, _numbers bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _left bigint;
  _again bigint;
BEGIN
  DELETE FROM groups WHERE queue = _queue AND number = ANY (_numbers);
  GET DIAGNOSTICS _left = ROW_COUNT;
  INSERT INTO groups (queue, number, first, first_joined)
  SELECT DISTINCT _queue, g.first, g.first, g.first_joined FROM groups g
  CROSS JOIN LATERAL (
    SELECT t.status FROM tickets t WHERE t.queue = _queue AND t.number = g.first OFFSET 0
  ) t
  WHERE g.queue = _queue AND g.first = ANY (_numbers) AND t.status = 'waiting';
  GET DIAGNOSTICS _again = ROW_COUNT;
  UPDATE tallies SET groups = groups - _left + _again WHERE queue = _queue AND (_left > 0 OR _again > 0);
END $$;

-- The first `_many` in the line. A group goes whole as soon as it is the turn of one of them, so they may be more than
-- `_many`, but never more than there are free places. If a group does not fit, nobody behind it goes, so that its places
-- become free; only of a group that can never fit, those go who do.
CREATE FUNCTION next_together(_q queues, _tallies tallies, _many bigint, _free bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  _most bigint := least(_q.max_active, _q.stock - _tallies.completed);
  _going bigint[] := '{}';
  _together bigint[];
  _room bigint;
  _number bigint;
BEGIN
  FOREACH _number IN ARRAY coalesce(next_in_line(_q.key, _many), '{}') LOOP
    EXIT WHEN cardinality(_going) >= _many;
    CONTINUE WHEN _number = ANY (_going);
    _together := coalesce((
      SELECT array_agg(o.number ORDER BY o.number) FROM groups g
      JOIN groups o ON o.queue = g.queue AND o.first = g.first
      CROSS JOIN LATERAL (
        SELECT t.on_hold FROM tickets t WHERE t.queue = o.queue AND t.number = o.number OFFSET 0
      ) t
      WHERE g.queue = _q.key AND g.number = _number AND NOT t.on_hold), ARRAY[_number]);
    _room := _free - cardinality(_going);
    EXIT WHEN cardinality(_together) > _room AND (cardinality(_going) > 0 OR cardinality(_together) <= _most);
    _going := _going || _together[:_room];
  END LOOP;
  RETURN _going;
END $$;
