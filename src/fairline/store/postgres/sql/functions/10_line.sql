-- 10_line.sql: the line: the rank of each ticket, and the place that a ticket takes (reference: tests/model/order.py).
-- A place is a turn times place_span(), plus what orders those who share the turn. A block of the line is 64 turns, so
-- the block of a place is `place >> 30`.

-- The position of each ticket, from 1; null if it does not wait. Reads the blocks once, and of each ticket's own block
-- the part ahead of it: never the whole line, and none of it if no ticket waits.
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

-- The place of the ticket at a rank, from 0.
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
  SELECT _turn * place_span() + least(_turns - _turn, place_span() - 1)
$$;

-- Whether a place is that of someone in the line or on hold.
CREATE FUNCTION is_taken(_queue bigint, _place bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM line l WHERE l.queue = _queue AND l.place = _place)
    OR EXISTS (SELECT 1 FROM tickets t WHERE t.queue = _queue AND t.on_hold AND t.place = _place);
END $$;

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
    _turn := (place_at(_queue, _rank) >> place_bits()) - 1;
    IF _rank > 0 THEN
      _turn := greatest(_turn, place_at(_queue, _rank - 1) >> place_bits());
    END IF;
  END IF;
  SELECT max(turn) INTO _bottom FROM unnest(_last[_level:3]) turn;
  IF _turn <= _bottom THEN
    _turn := CASE WHEN _turns - _bottom < place_span() THEN _bottom ELSE _bottom + 1 END;
  END IF;
  -- Places within one turn run out after place_span() arrivals (or after a change from strict): then take the next
  -- turn.
  WHILE _turns - _turn >= place_span() - 1 AND is_taken(_queue, place_of(_turn, _turns)) LOOP
    _turn := _turn + 1;
  END LOOP;
  RETURN place_of(_turn, _turns);
END $$;

CREATE FUNCTION next_place(_q queues, _waiting bigint, _turns bigint, _level int, _last bigint[]) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN _level = 0 THEN place_of(_turns, _turns)
    WHEN _q.priority_policy = 'strict' THEN place_of(_turns, _turns) - _level * place_band()
    ELSE skipping_place(_q.key, _waiting, _turns, _level, _q.priority_skip[_level + 1], _last) END
$$;

-- Keep the counts of the blocks in step with the line: one more, or one less, for each of these places.
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

-- The next in the line. A row that another program has locked is skipped, so that it never holds up a desk. Fairline
-- itself never has one locked here, because the steps of a queue run one after the other.
CREATE FUNCTION next_in_line(_queue bigint, _many bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT array_agg(n.number ORDER BY n.place) FROM (
      SELECT l.number, l.place FROM line l WHERE l.queue = _queue
      ORDER BY l.place LIMIT greatest(_many, 0) FOR UPDATE SKIP LOCKED
    ) n);
END $$;
