-- 20_record.sql: what a step records: its events, and its counts in the statistics.

-- Add the events of a step, in order, after the last one of the queue. Types and details may differ, or be one for all.
-- The notification only says that there is something to read: it carries no data, so losing it loses none.
CREATE FUNCTION record_events(
  _queue bigint, _now bigint, _types text[], _tickets bigint[] DEFAULT ARRAY[NULL]::bigint[],
  _details text[] DEFAULT ARRAY[NULL]::text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _many int := cardinality(_tickets);
  _last bigint;
BEGIN
  UPDATE tallies SET event = event + _many WHERE queue = _queue RETURNING event INTO _last;
  INSERT INTO events (queue, id, type, at, ticket, detail)
  SELECT _queue, _last - _many + i, coalesce(type, _types[1]), _now, ticket, detail
  FROM unnest(_tickets, _types, _details) WITH ORDINALITY e(ticket, type, detail, i);
  -- The newest are kept, and up to 500 more: old ones are deleted a few hundred at a time.
  IF _last / 500 <> (_last - _many) / 500 THEN
    DELETE FROM events WHERE queue = _queue AND id <= _last - events_kept();
  END IF;
  PERFORM pg_notify('fairline_events', _queue::text);
END $$;

-- Add to the counts of the hour and to the totals; of `peak` the highest is kept.
CREATE FUNCTION count_up(_queue bigint, _now bigint, _names text[], _counts bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stats AS s (queue, span, name, value)
  SELECT _queue, span, name, sum(value)
  FROM unnest(_names, _counts) c(name, value)
  CROSS JOIN unnest(ARRAY['total', 'h' || _now / hour_ms()]) span
  GROUP BY span, name
  ON CONFLICT (queue, span, name) DO UPDATE
  SET value = excluded.value + CASE WHEN s.name = 'peak' THEN 0 ELSE s.value END
  WHERE s.name <> 'peak' OR s.value < excluded.value;
END $$;

-- Add to the statistics: the minute, the hour and the totals. The line was at most `_waiting` long.
CREATE FUNCTION tally(_queue bigint, _now bigint, _names text[], _counts bigint[], _waiting bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tally_minute(_queue, _now, _names, _counts, _waiting);
  IF _waiting > 0 THEN
    _names := _names || 'peak'::text;
    _counts := _counts || _waiting;
  END IF;
  PERFORM count_up(_queue, _now, _names, _counts);
END $$;

-- A minute is one row: its counts, its waits, and how many waited and were inside at the last step in it.
CREATE FUNCTION tally_minute(_queue bigint, _now bigint, _names text[], _counts bigint[], _waiting bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE minutes m SET counts = m.counts || coalesce((
    SELECT jsonb_object_agg(name, coalesce((m.counts->>name)::bigint, 0) + value) FROM (
      SELECT name, sum(value) AS value FROM unnest(_names, _counts) c(name, value)
      WHERE strpos(name, ':') = 0 OR starts_with(name, 'wait:')
      GROUP BY name
    ) added), '{}') || jsonb_build_object(
      'peak', greatest((m.counts->>'peak')::bigint, _waiting, c.waiting),
      'waiting', c.waiting, 'inside', c.admitted + c.active)
  FROM tallies c WHERE c.queue = _queue AND m.queue = _queue AND m.minute = _now / minute_ms();
  IF NOT FOUND THEN
    INSERT INTO minutes (queue, minute, counts) VALUES (_queue, _now / minute_ms(), '{}');
    PERFORM tally_minute(_queue, _now, _names, _counts, _waiting);
  END IF;
END $$;

-- The minutes from `_first` on, with their counts.
CREATE FUNCTION minutes_from(_queue bigint, _first bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(minute, counts)), '[]')
    FROM minutes WHERE queue = _queue AND minute >= _first);
END $$;
