-- 20_record.sql: what a step leaves behind: events in the outbox, and counts in the statistics.

-- The events of a step, in order, after the last one of the queue. Types and details may differ, or be one for all.
-- The notification only says that there is something to read; it carries nothing, and losing it loses nothing.
CREATE FUNCTION tell(
  _queue bigint, _now bigint, _types text[], _tickets bigint[] DEFAULT ARRAY[NULL]::bigint[],
  _details text[] DEFAULT ARRAY[NULL]::text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _many int := cardinality(_tickets);
  _last bigint;
BEGIN
  UPDATE counters SET event = event + _many WHERE queue = _queue RETURNING event INTO _last;
  INSERT INTO events (queue, id, type, at, ticket, detail)
  SELECT _queue, _last - _many + i, coalesce(type, _types[1]), _now, ticket, detail
  FROM unnest(_tickets, _types, _details) WITH ORDINALITY e(ticket, type, detail, i);
  -- The newest 100,000 are kept, and up to 500 more: old ones go a few hundred at a time.
  IF _last / 500 <> (_last - _many) / 500 THEN
    DELETE FROM events WHERE queue = _queue AND id <= _last - 100000;
  END IF;
  PERFORM pg_notify('fairline_events', _queue::text);
END $$;

-- Add to the statistics: by hour and so far, and by minute what has no kinds. The line was `_waiting` long at most.
CREATE FUNCTION tally(_queue bigint, _now bigint, _names text[], _counts bigint[], _waiting bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _hour text := 'h' || _now / 3600000;
  _minute text := 'm' || _now / 60000;
BEGIN
  INSERT INTO stats AS s (queue, span, name, value)
  SELECT _queue, span, name, sum(value)
  FROM unnest(_names, _counts) c(name, value)
  CROSS JOIN LATERAL unnest(
    CASE WHEN strpos(name, ':') > 0 THEN ARRAY['total', _hour] ELSE ARRAY['total', _hour, _minute] END) span
  GROUP BY span, name
  ON CONFLICT (queue, span, name) DO UPDATE SET value = s.value + excluded.value;
  INSERT INTO stats AS s (queue, span, name, value)
  SELECT _queue, now.span, 'peak', _waiting FROM unnest(ARRAY['total', _hour, _minute]) now(span)
  WHERE _waiting > 0 AND NOT EXISTS (SELECT 1 FROM stats p
    WHERE p.queue = _queue AND p.span = now.span AND p.name = 'peak' AND p.value >= _waiting)
  ON CONFLICT (queue, span, name) DO UPDATE SET value = greatest(s.value, excluded.value);
END $$;
