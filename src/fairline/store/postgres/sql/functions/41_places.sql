-- 41_places.sql: people who step back, or move their ticket to another device; and those who are nearly there.

-- step_back: someone who waits steps back behind others: each of those takes the place before their own, and the ticket
-- takes the place of the last of them. No place is new, so nobody else is overtaken or overtakes. `_seen` is the
-- position at which it was requested: a ticket that is further back has stepped back already.
-- Returns outcome (done, refused, missing, held_back: the order is being drawn, in_group: they wait together with
-- others) and the ticket.
CREATE FUNCTION step_back(_id text, _at bigint, _number bigint, _many int, _seen bigint) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _now bigint := moment(_at);
  _t tickets;
  _outcome text := 'done';
  _places bigint[];
  _numbers bigint[];
  _others int;
BEGIN
  SELECT * INTO _t FROM tickets WHERE queue = _tallies.queue AND number = _number;
  IF NOT FOUND THEN
    _outcome := 'missing';
  ELSIF NOT allows(_t, 'step_back') THEN
    _outcome := 'refused';
  ELSIF (settings_of(_tallies.queue)).phase = 'drawing' THEN
    _outcome := 'held_back';
  ELSIF has_company(_tallies, _number) THEN
    _outcome := 'in_group';
  ELSIF _seen IS NULL OR (ranks(_tallies.queue, ARRAY[_number]))[1] <= _seen THEN
    SELECT array_agg(l.place ORDER BY l.place), array_agg(l.number ORDER BY l.place) INTO _places, _numbers FROM (
      SELECT place, number FROM line WHERE queue = _tallies.queue AND place >= _t.place
      ORDER BY place LIMIT _many + 1) l;
    _others := cardinality(_numbers) - 1;
  END IF;
  IF _others > 0 THEN
    _numbers := _numbers[2:] || _number;
    PERFORM lock_tickets(_tallies.queue, _numbers);
    FOR _i IN 1 .. cardinality(_numbers) LOOP
      UPDATE line SET number = _numbers[_i] WHERE queue = _tallies.queue AND place = _places[_i];
      UPDATE tickets SET place = _places[_i] WHERE queue = _tallies.queue AND number = _numbers[_i];
    END LOOP;
    IF _t.level > 0 THEN -- an arrival of the same level that comes later stays behind
      UPDATE tallies SET turns[_t.level] = greatest(turns[_t.level], _places[_others + 1] >> place_bits())
      WHERE queue = _tallies.queue;
    END IF;
    PERFORM record_events(_tallies.queue, _now, ARRAY['stepped_back'], ARRAY[_number], ARRAY[_others::text]);
  END IF;
  RETURN acted(_tallies.queue, _now, _outcome, _number);
END $$;

-- rebind: move a live ticket to another device, whose client holds it from now on. `_moved` is how often it had moved
-- when the link was made: if two devices use one link, one of them gets the ticket.
-- Returns outcome (done, refused, missing, moved, holder_in_line) and the ticket.
CREATE FUNCTION rebind(_id text, _at bigint, _number bigint, _joined bigint, _moved int, _client bytea) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _now bigint := moment(_at);
  _outcome text := 'done';
  _t tickets;
  _holder bytea;
BEGIN
  SELECT * INTO _t FROM tickets
  WHERE queue = _tallies.queue AND number = _number AND joined = _joined FOR NO KEY UPDATE;
  _holder := CASE WHEN _t.holder = 'c'::bytea || _t.client THEN 'c'::bytea || _client ELSE _t.holder END;
  IF _t.number IS NULL THEN
    _outcome := 'missing';
  ELSIF _t.ended > 0 THEN
    _outcome := 'refused';
  ELSIF _t.moved <> _moved THEN
    _outcome := 'moved';
  ELSIF EXISTS (SELECT 1 FROM holders WHERE queue = _tallies.queue AND holder = _holder AND number <> _number) THEN
    _outcome := 'holder_in_line';
  ELSE
    UPDATE holders SET holder = _holder WHERE queue = _tallies.queue AND holder = _t.holder;
    -- The ticket keeps the idempotency key it joined with, so that the same form makes no second ticket: the answer to
    -- that form is that the ticket has moved. So the count of moves never returns to 0.
    UPDATE tickets SET client = _client, holder = _holder, moved = moved % 255 + 1
    WHERE queue = _tallies.queue AND number = _number;
    PERFORM record_events(_tallies.queue, _now, ARRAY['moved'], ARRAY[_number]);
  END IF;
  RETURN json_build_array(snapshot_of(_tallies.queue, _now), json_build_array(
    _outcome, CASE WHEN _outcome <> 'missing' THEN full_tickets(_tallies.queue, ARRAY[_number]) -> 0 END));
END $$;

-- note_nearly: mark the first in line as nearly there: once for each ticket, with an event.
-- Returns the numbers that were not marked before, in order; nobody is nearly there before an opening has started.
CREATE FUNCTION note_nearly(_id text, _at bigint, _many int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _now bigint := moment(_at);
  _numbers bigint[];
  _ranks text[];
  _rows tid[];
BEGIN
  -- Most calls find nobody new. Those do not lock the queue.
  IF NOT EXISTS (
    SELECT 1 FROM (SELECT number FROM line WHERE queue = _tallies.queue ORDER BY place LIMIT _many) l
    CROSS JOIN LATERAL (
      SELECT t.nearly FROM tickets t WHERE t.queue = _tallies.queue AND t.number = l.number OFFSET 0
    ) t WHERE NOT t.nearly)
  THEN
    RETURN '[]';
  END IF;
  _tallies := locked(_id);
  IF held_back((settings_of(_tallies.queue)).phase) THEN
    RETURN '[]';
  END IF;
  _now := moment(_at);  -- somebody may have joined while this waited for its turn: their event must not be older
  SELECT array_agg(f.number ORDER BY f.rank), array_agg(f.rank::text ORDER BY f.rank) INTO _numbers, _ranks FROM (
    SELECT l.number, row_number() OVER (ORDER BY l.place) AS rank FROM line l WHERE l.queue = _tallies.queue
    ORDER BY l.place LIMIT _many
  ) f CROSS JOIN LATERAL (
    SELECT t.nearly FROM tickets t WHERE t.queue = _tallies.queue AND t.number = f.number OFFSET 0
  ) t WHERE NOT t.nearly;
  IF _numbers IS NULL THEN
    RETURN '[]';
  END IF;
  _rows := lock_tickets(_tallies.queue, _numbers);
  UPDATE tickets SET nearly = true WHERE ctid = ANY (_rows);
  PERFORM record_events(_tallies.queue, _now, ARRAY['nearly'], _numbers, _ranks);
  RETURN to_json(_numbers);
END $$;
