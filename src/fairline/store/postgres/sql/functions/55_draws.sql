-- 55_draws.sql: draws: who is in one, the places that were drawn, and what is published.

-- freeze_draw: write down who is in the draw of an opening: those who wait and are not past their deadline. The next
-- turns of the line are set aside for them, so that everyone who joins later is behind. It is done once: after that the
-- answer is the same.
-- Returns how many they are, and the first of their turns.
CREATE FUNCTION freeze_draw(_id text, _at bigint, _opening text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _clock double precision := clock_of(_tallies, moment(_at));
  _kept text := (
    SELECT convert_from(content, 'UTF8') FROM draws
    WHERE queue = _tallies.queue AND opening = _opening AND part = 'frozen');
  _many bigint;
BEGIN
  IF _kept IS NULL THEN
    DELETE FROM members WHERE queue = _tallies.queue;
    INSERT INTO members (queue, at, number)
    SELECT _tallies.queue, row_number() OVER (ORDER BY f.place) - 1, f.number FROM (
      SELECT l.place, l.number FROM line l
      CROSS JOIN LATERAL (
        SELECT t.due FROM tickets t WHERE t.queue = _tallies.queue AND t.number = l.number OFFSET 0
      ) t
      WHERE l.queue = _tallies.queue AND (t.due IS NULL OR t.due > _clock)
      UNION ALL
      SELECT t.place, t.number FROM tickets t
      WHERE t.queue = _tallies.queue AND t.on_hold AND (t.due IS NULL OR t.due > _clock)
    ) f;
    GET DIAGNOSTICS _many = ROW_COUNT;
    IF _tallies.groups > 0 THEN _many := draw_groups_once(_tallies.queue); END IF;
    UPDATE tallies SET moves = moves + _many WHERE queue = _tallies.queue;
    _kept := _many || ' ' || _tallies.number + _tallies.moves + 1;
    INSERT INTO draws (queue, opening, part, content)
    VALUES (_tallies.queue, _opening, 'frozen', convert_to(_kept, 'UTF8'));
  END IF;
  RETURN array_to_json(string_to_array(_kept, ' ')::bigint[]);
END $$;

-- A group is in the draw once: by the first of them who is in it. Returns how many are in the draw then.
CREATE FUNCTION draw_groups_once(_queue bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _numbers bigint[];
  _firsts bigint[];
BEGIN
  SELECT array_agg(number ORDER BY at), array_agg(first ORDER BY at) INTO _numbers, _firsts FROM (
    SELECT m.at, m.number, g.first,
      row_number() OVER (PARTITION BY coalesce(g.first, -m.number) ORDER BY m.number) AS nth
    FROM members m LEFT JOIN groups g ON g.queue = m.queue AND g.number = m.number WHERE m.queue = _queue
  ) f WHERE nth = 1;
  DELETE FROM members WHERE queue = _queue;
  INSERT INTO members (queue, at, number, first)
  SELECT _queue, i - 1, number, first FROM unnest(_numbers, _firsts) WITH ORDINALITY a(number, first, i);
  RETURN coalesce(cardinality(_numbers), 0);
END $$;

-- draw_members: some of those who are in the draw that was frozen last, from the one at `_first`.
-- Returns for each: number, level.
CREATE FUNCTION draw_members(_id text, _first bigint, _many bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(m.number, coalesce(t.level, 0)) ORDER BY m.at), '[]')
    FROM (
      SELECT at, number FROM members
      WHERE queue = _tallies.queue AND at >= _first AND at < _first + _many ORDER BY at
    ) m
    LEFT JOIN LATERAL (
      SELECT t.level FROM tickets t WHERE t.queue = _tallies.queue AND t.number = m.number OFFSET 0
    ) t ON true);
END $$;

-- place_drawn: give people the places and ranks that were drawn for them. A ticket that has a rank in this draw already
-- keeps its place. One that no longer waits has a rank all the same. No new place is anyone's: their turns were set
-- aside. Of those who were drawn with their group the part `for:` and their number says who was in the draw for it.
CREATE FUNCTION place_drawn(_id text, _at bigint, _opening text, _numbers bigint[], _places bigint[], _ranks bigint[])
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _found record;
  _others bigint[];
  _their_places bigint[];
  _their_ranks bigint[];
  _drawn bigint[];
BEGIN
  IF _tallies.groups > 0 THEN
    -- The others of a group get places beside the one who was in the draw for all of them, and the same rank.
    SELECT array_agg(o.number), array_agg(o.place), array_agg(o.rank), array_agg(o.drawn)
    INTO _others, _their_places, _their_ranks, _drawn FROM (
      SELECT g.number, a.number AS drawn, place_beside(a.place) + row_number() OVER (PARTITION BY a.number ORDER BY g.number) AS place,
        a.rank
      FROM unnest(_numbers, _places, _ranks) a(number, place, rank)
      JOIN members m ON m.queue = _tallies.queue AND m.number = a.number
      JOIN groups g ON g.queue = m.queue AND g.first = m.first AND g.number <> m.number
    ) o;
    _numbers := _numbers || _others;
    _places := _places || _their_places;
    _ranks := _ranks || _their_ranks;
    INSERT INTO draws (queue, opening, part, content)
    SELECT _tallies.queue, _opening, 'for:' || number, convert_to(drawn::text, 'UTF8')
    FROM unnest(_others, _drawn) a(number, drawn) ON CONFLICT DO NOTHING;
  END IF;
  PERFORM lock_tickets(_tallies.queue, _numbers);
  WITH drawn AS MATERIALIZED (
    SELECT t.row, t.level, t.place AS was, t.status = 'waiting' AND NOT t.on_hold AS in_line, a.place, a.rank
    FROM unnest(_numbers, _places, _ranks) a(number, place, rank)
    CROSS JOIN LATERAL (
      SELECT t.ctid AS row, t.* FROM tickets t WHERE t.queue = _tallies.queue AND t.number = a.number OFFSET 0
    ) t
    WHERE t.drawn_in IS DISTINCT FROM _opening
  ), placed AS (
    UPDATE tickets t SET place = d.place, drawn_rank = d.rank, drawn_in = _opening FROM drawn d WHERE t.ctid = d.row
  ), moved AS (
    UPDATE line l SET place = d.place FROM (
      SELECT d.place, l.row FROM drawn d
      CROSS JOIN LATERAL (
        SELECT l.ctid AS row FROM line l WHERE l.queue = _tallies.queue AND l.place = d.was OFFSET 0
      ) l
      WHERE d.in_line
    ) d WHERE l.ctid = d.row
  )
  SELECT array_agg(was) FILTER (WHERE in_line) AS places_left, array_agg(place) FILTER (WHERE in_line) AS places_taken,
    ARRAY(
      SELECT greatest(_tallies.turns[each], (SELECT max(d.place >> place_bits()) FROM drawn d WHERE d.level = each))
      FROM generate_series(1, 3) each) AS turns
  INTO _found FROM drawn;
  IF _found.places_left IS NOT NULL THEN
    PERFORM blocks_lose(_tallies.queue, _found.places_left);
    PERFORM blocks_gain(_tallies.queue, _found.places_taken);
  END IF;
  UPDATE tallies SET turns = _found.turns WHERE queue = _tallies.queue AND turns <> _found.turns;
  RETURN 'null';
END $$;

-- keep_draw: keep parts of what belongs to the draw of an opening. With `_once`, a part that is kept already stays as
-- it is.
-- Returns the content of each part that stayed as it was, in hexadecimal; null for the others.
CREATE FUNCTION keep_draw(
  _id text, _at bigint, _opening text, _parts text[], _contents bytea[], _once boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _before json := '[]';
BEGIN
  IF _once THEN
    SELECT json_agg(encode(d.content, 'hex') ORDER BY a.i) INTO _before
    FROM unnest(_parts) WITH ORDINALITY a(part, i)
    LEFT JOIN LATERAL (
      SELECT d.content FROM draws d
      WHERE d.queue = _tallies.queue AND d.opening = _opening AND d.part = a.part OFFSET 0
    ) d ON true;
  END IF;
  INSERT INTO draws AS d (queue, opening, part, content)
  SELECT _tallies.queue, _opening, part, content FROM unnest(_parts, _contents) a(part, content)
  ON CONFLICT (queue, opening, part) DO UPDATE SET content = excluded.content WHERE NOT _once;
  RETURN coalesce(_before, '[]');
END $$;

-- draw_parts: the parts of a draw that are kept, each with its name and its content in hexadecimal.
CREATE FUNCTION draw_parts(_id text, _opening text, _parts text[]) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
BEGIN
  RETURN (SELECT coalesce(json_agg(json_build_array(d.part, encode(d.content, 'hex'))), '[]')
    FROM unnest(_parts) a(part)
    CROSS JOIN LATERAL (
      SELECT d.part, d.content FROM draws d
      WHERE d.queue = _tallies.queue AND d.opening = _opening AND d.part = a.part OFFSET 0
    ) d);
END $$;

-- forget_draws: remove all that is kept of the draws of some openings.
CREATE FUNCTION forget_draws(_id text, _at bigint, _openings text[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
BEGIN
  DELETE FROM draws WHERE queue = _tallies.queue AND opening = ANY (_openings);
  RETURN 'null';
END $$;
