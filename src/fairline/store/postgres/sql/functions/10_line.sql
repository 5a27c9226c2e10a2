-- 10_line.sql: the line: who is at which rank, and which place a ticket takes. tests/model/order.py is the reference.
-- A place is a turn times 2^24 and what orders those who share it; a block of the line is 64 turns.

-- The position of each ticket, from 1; null where it does not wait. Reads the blocks once, and of each ticket's own
-- block what is ahead of it: never the whole line, and nothing of it where none of them waits.
CREATE FUNCTION ranks(_queue bigint, _numbers bigint[]) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  _places bigint[] := ARRAY(
    SELECT t.place FROM unnest(_numbers) WITH ORDINALITY a(number, i)
    LEFT JOIN LATERAL (
      SELECT t.place FROM tickets t
      WHERE t.queue = _queue AND t.number = a.number AND t.status = 'waiting' AND NOT t.on_hold OFFSET 0
    ) t ON true ORDER BY a.i);
  _blocks bigint[];
  _ahead bigint[];
BEGIN
  IF array_remove(_places, NULL) = '{}' THEN
    RETURN _places;
  END IF;
  SELECT array_agg(b.block), array_agg(b.ahead) INTO _blocks, _ahead FROM (
    SELECT block, sum(waiting) OVER (ORDER BY block) - waiting AS ahead
    FROM blocks WHERE queue = _queue ORDER BY block
  ) b;
  RETURN ARRAY(
    SELECT CASE WHEN place IS NOT NULL THEN _ahead[width_bucket(place >> 30, _blocks)] + (
      SELECT count(*) FROM line l
      WHERE l.queue = _queue AND l.place BETWEEN (p.place >> 30) << 30 AND p.place) END
    FROM unnest(_places) WITH ORDINALITY p(place, i) ORDER BY p.i);
END $$;

-- The place of whoever stands at a rank, from 0.
CREATE FUNCTION place_at(_queue bigint, _rank bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT (SELECT l.place FROM line l WHERE l.queue = _queue AND l.place >= s.block << 30
      ORDER BY l.place OFFSET _rank - s.ahead LIMIT 1)
    FROM (
      SELECT b.block, b.waiting, sum(b.waiting) OVER (ORDER BY b.block) - b.waiting AS ahead
      FROM blocks b WHERE b.queue = _queue
    ) s
    WHERE _rank >= s.ahead AND _rank < s.ahead + s.waiting);
END $$;

CREATE FUNCTION place_of(_turn bigint, _turns bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT (_turn << 24) + least(_turns - _turn, (1 << 24) - 1)
$$;

-- The place that goes ahead of `_share` of the line, never before the last turn of an equal or higher level.
-- `_last` is the last turn given to levels 1, 2 and 3.
CREATE FUNCTION skipping_place(
  _queue bigint, _waiting bigint, _turns bigint, _level int, _share double precision, _last bigint[]
) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  _turn bigint := _turns;
  _rank bigint := _waiting - floor(_share * _waiting)::bigint;
  _bottom bigint;
BEGIN
  IF _rank < _waiting THEN
    _turn := (place_at(_queue, _rank) >> 24) - 1;
    IF _rank > 0 THEN
      _turn := greatest(_turn, place_at(_queue, _rank - 1) >> 24);
    END IF;
  END IF;
  SELECT max(turn) INTO _bottom FROM unnest(_last[_level:3]) turn;
  IF _turn <= _bottom THEN
    _turn := CASE WHEN _turns - _bottom < 1 << 24 THEN _bottom ELSE _bottom + 1 END;
  END IF;
  -- Places within one turn run out after 2^24 arrivals (or a change from strict): take the next turn then.
  WHILE _turns - _turn >= (1 << 24) - 1 AND (
    EXISTS (SELECT 1 FROM line l WHERE l.queue = _queue AND l.place = place_of(_turn, _turns))
    OR EXISTS (SELECT 1 FROM tickets t WHERE t.queue = _queue AND t.on_hold AND t.place = place_of(_turn, _turns)))
  LOOP
    _turn := _turn + 1;
  END LOOP;
  RETURN place_of(_turn, _turns);
END $$;

CREATE FUNCTION next_place(_q queues, _waiting bigint, _turns bigint, _level int, _last bigint[]) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN _level = 0 THEN place_of(_turns, _turns)
    WHEN _q.priority_policy = 'strict' THEN place_of(_turns, _turns) - _level * (1::bigint << 51)
    ELSE skipping_place(_q.key, _waiting, _turns, _level, _q.priority_skip[_level + 1], _last) END
$$;

-- Keep the blocks in step with the line: so many more, or so many fewer, at these places.
CREATE FUNCTION blocks_gain(_queue bigint, _places bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO blocks AS b (queue, block, waiting)
  SELECT _queue, place >> 30, count(*) FROM unnest(_places) place GROUP BY 2
  ON CONFLICT (queue, block) DO UPDATE SET waiting = b.waiting + excluded.waiting;
END $$;

CREATE FUNCTION blocks_lose(_queue bigint, _places bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE blocks b SET waiting = b.waiting - gone.many
  FROM (SELECT place >> 30 AS block, count(*) AS many FROM unnest(_places) place GROUP BY 1) gone
  WHERE b.queue = _queue AND b.block = gone.block;
  DELETE FROM blocks b USING (SELECT DISTINCT place >> 30 AS block FROM unnest(_places) place) gone
  WHERE b.queue = _queue AND b.block = gone.block AND b.waiting = 0;
END $$;

-- The next in the line. A row that someone outside of Fairline holds is passed over, and never holds up a desk; within
-- Fairline none is ever on_hold here, since the steps of a queue follow each other.
CREATE FUNCTION next_in_line(_queue bigint, _many bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT array_agg(n.number ORDER BY n.place) FROM (
      SELECT l.number, l.place FROM line l WHERE l.queue = _queue
      ORDER BY l.place LIMIT greatest(_many, 0) FOR UPDATE SKIP LOCKED
    ) n);
END $$;
