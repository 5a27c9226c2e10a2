-- 42_waiting.sql: people who wait: they send heartbeats, ask for their status, close the page, get priority.

-- heartbeat: a heartbeat of people who wait: their deadlines are extended, and never shortened. If their pages are
-- closing, the places are kept for closed_page_seconds; nor does the page of someone who has just left bring them back
-- by closing. A ticket that does not wait is only read. It does not wait for the steps of the queue, because it changes
-- nothing but the deadlines.
CREATE FUNCTION heartbeat(_id text, _at bigint, _numbers bigint[], _closing boolean) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _clock double precision := clock_of(_tallies, _now);
  _due double precision := waiting_due(_q, _clock);
  _rows tid[] := lock_tickets(_q.key, _numbers);
BEGIN
  IF _closing AND _due IS NOT NULL THEN
    _due := greatest(_due, _clock + _q.closed_page_seconds * 1000);
  END IF;
  UPDATE tickets SET leaving = false, due = CASE WHEN _due IS NOT NULL THEN greatest(due, _due) END,
    sweep_at = CASE WHEN _due IS NOT NULL THEN least(sweep_at, greatest(due, _due)) END
  WHERE ctid = ANY (_rows) AND status = 'waiting' AND NOT (leaving AND _closing);
  RETURN ticket_statuses(_q.key, _now, _numbers);
END $$;

-- record_heartbeats: write down heartbeats of a moment ago: the deadlines of people who wait are extended. A ticket
-- that no longer waits, or whose page was closed since, is left as it is.
CREATE FUNCTION record_heartbeats(_id text, _at bigint, _numbers bigint[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _q queues := settings_of(_tallies.queue);
  _due double precision := waiting_due(_q, clock_of(_tallies, moment(_at)));
  _rows tid[] := lock_tickets(_q.key, _numbers);
BEGIN
  UPDATE tickets SET due = CASE WHEN _due IS NOT NULL THEN greatest(due, _due) END,
    sweep_at = CASE WHEN _due IS NOT NULL THEN least(sweep_at, greatest(due, _due)) END
  WHERE ctid = ANY (_rows) AND status = 'waiting' AND NOT leaving;
  RETURN 'null';
END $$;

-- unload: people who wait closed their page: they have left unless they come back within the grace time.
CREATE FUNCTION unload(_id text, _at bigint, _numbers bigint[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _due double precision := clock_of(_tallies, _now) + _q.grace_seconds * 1000;
  _rows tid[] := lock_tickets(_q.key, _numbers);
BEGIN
  UPDATE tickets SET leaving = true, due = _due, sweep_at = least(sweep_at, _due)
  WHERE ctid = ANY (_rows) AND status = 'waiting' AND NOT leaving;
  RETURN ticket_statuses(_q.key, _now, _numbers);
END $$;

-- look_up: read tickets, and change nothing. With `_full` the answer has full tickets.
CREATE FUNCTION look_up(_id text, _at bigint, _numbers bigint[], _full boolean) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies := tallies_of(_id);
  _now bigint := moment(_at);
BEGIN
  IF _full THEN
    RETURN json_build_array(snapshot_of(_tallies.queue, _now), full_tickets(_tallies.queue, _numbers));
  END IF;
  RETURN ticket_statuses(_tallies.queue, _now, _numbers);
END $$;

-- record_estimates: keep the waits (in ms) that some people were shown, to be compared with the real ones at admission.
-- A ticket that was admitted since is compared at once; one that is gone is left out. `_told` is when they were shown (0:
-- at joining), and `_weights` how many people each stands for. A wait that was shown later is kept beside the one from
-- joining, and the first such wait stays.
CREATE FUNCTION record_estimates(
  _id text, _at bigint, _numbers bigint[], _seconds bigint[], _low bigint[], _high bigint[], _told bigint[],
  _weights bigint[]
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _names text[];
  _counts bigint[];
BEGIN
  WITH estimated AS MATERIALIZED (
    SELECT s.*, t.status, CASE WHEN s.told > 0 THEN s.told ELSE t.joined END AS joined, t.admitted
    FROM unnest(_numbers, _seconds, _low, _high, _told, _weights) s(number, seconds, low, high, told, weight)
    CROSS JOIN LATERAL (
      SELECT t.status, t.joined, t.admitted FROM tickets t
      WHERE t.queue = _tallies.queue AND t.number = s.number OFFSET 0
    ) t
  ), waiting AS (
    INSERT INTO estimates (queue, number, joined, seconds, low, high, later, weight)
    SELECT _tallies.queue, number, joined - _tallies.stopped, seconds, low, high, told > 0, weight FROM estimated
    WHERE status = 'waiting'
    ON CONFLICT (queue, number, later) DO NOTHING
  )
  SELECT array_agg(c.name), array_agg(c.value) INTO _names, _counts FROM estimated e
  CROSS JOIN LATERAL estimate_counts(e.admitted - e.joined, e.seconds, e.low, e.high, e.weight) c
  WHERE e.status <> 'waiting' AND e.admitted > 0 AND e.admitted >= e.joined;
  PERFORM tally_moved(_tallies.queue, moment(_at), NULL, NULL, 0, 0, NULL, _tallies.waiting, _names, _counts);
  RETURN 'null';
END $$;

-- prioritise: move someone who waits forward by the queue's policy, never back.
-- Returns outcome (done, refused, missing, held_back: the order is being drawn by the levels as they are, in_group:
-- they wait together with others) and the ticket.
CREATE FUNCTION prioritise(_id text, _at bigint, _number bigint, _level int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies := locked(_id);
  _q queues := settings_of(_tallies.queue);
  _now bigint := moment(_at);
  _outcome text := 'done';
  _t tickets;
  _place bigint;
  _rank bigint;
BEGIN
  SELECT * INTO _t FROM tickets WHERE queue = _q.key AND number = _number FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    _outcome := 'missing';
  ELSIF NOT allows(_t, 'prioritise') THEN
    _outcome := 'refused';
  ELSIF _q.phase = 'drawing' THEN
    _outcome := 'held_back';
  ELSIF has_company(_tallies, _number) THEN
    _outcome := 'in_group';
  ELSE
    _rank := (ranks(_q.key, ARRAY[_number]))[1];
    DELETE FROM line WHERE queue = _q.key AND place = _t.place;
    PERFORM blocks_lose(_q.key, ARRAY[_t.place]);
    _place := next_place(_q, _tallies.waiting - 1, _tallies.number + _tallies.moves + 1, _level, _tallies.turns);
    IF _level > 0 THEN
      _tallies.turns[_level] := greatest(_tallies.turns[_level], _place >> place_bits());
    END IF;
    _place := least(_t.place, _place);
    INSERT INTO line (queue, place, number) VALUES (_q.key, _place, _number);
    PERFORM blocks_gain(_q.key, ARRAY[_place]);
    UPDATE tickets SET place = _place, level = greatest(level, _level) WHERE queue = _q.key AND number = _number;
    _rank := _rank - (ranks(_q.key, ARRAY[_number]))[1]; -- how many it went ahead of
    UPDATE tallies SET moves = moves + 1, turns = _tallies.turns, flow_passed = flow_passed + _rank,
      passed_at = CASE WHEN _rank > 0 THEN _now ELSE passed_at END WHERE queue = _q.key;
    PERFORM record_events(_q.key, _now, ARRAY['prioritised'], ARRAY[_number], ARRAY[_level::text]);
  END IF;
  RETURN acted(_q.key, _now, _outcome, _number);
END $$;
