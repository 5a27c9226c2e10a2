-- 00_common.sql: how every operation on a queue begins and ends. A name that begins with _ is a parameter or a
-- variable, never a column. The server's role may run the operations only, not their helpers (see migrate.py).
-- Functions that read tables are PL/pgSQL, which keeps its plans for as long as the connection lives. Functions that
-- the planner should inline into the statement that calls them are SQL.

-- The time of a step: the one that tests and the simulator pass, or the time of the database. It is not now(), which is
-- when the transaction began: steps that waited for each other would be out of order.
CREATE FUNCTION moment(_at bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(_at, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

-- The tallies of a queue, without a lock.
CREATE FUNCTION tallies_of(_id text) RETURNS tallies LANGUAGE plpgsql STABLE AS $$
DECLARE
  _tallies tallies;
BEGIN
  SELECT c.* INTO _tallies FROM queues q JOIN tallies c ON c.queue = q.key WHERE q.id = _id;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no queue %', _id USING ERRCODE = 'FL001';
  END IF;
  RETURN _tallies;
END $$;

-- The tallies of a queue, locked until the step is over: the steps that change a queue run one after the other, in the
-- order in which they came. The lock of the row alone lets later steps overtake earlier ones, for seconds in a rush.
CREATE FUNCTION locked(_id text) RETURNS tallies LANGUAGE plpgsql AS $$
DECLARE
  _tallies tallies;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('fairline queue ' || _id, 0));
  SELECT c.* INTO _tallies FROM queues q JOIN tallies c ON c.queue = q.key WHERE q.id = _id FOR NO KEY UPDATE OF c;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no queue %', _id USING ERRCODE = 'FL001';
  END IF;
  RETURN _tallies;
END $$;

-- The settings of a queue. Read after the lock, they are valid for the whole step.
CREATE FUNCTION settings_of(_queue bigint) RETURNS queues LANGUAGE plpgsql AS $$
DECLARE
  _q queues;
BEGIN
  SELECT q.* INTO _q FROM queues q WHERE q.key = _queue;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the queue was removed' USING ERRCODE = 'FL001';
  END IF;
  RETURN _q;
END $$;

-- The queue's own time, in which every deadline is kept. It never goes back: if the store's clock does, the next sweep
-- corrects it, and until then no ticket may end because of it.
CREATE FUNCTION clock_of(_tallies tallies, _now bigint) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT (greatest(_now, _tallies.swept_at) - _tallies.stopped)::double precision
$$;

-- The deadline of a ticket that waits; null if the queue has none.
CREATE FUNCTION waiting_due(_q queues, _clock double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN _q.heartbeat_timeout_seconds > 0
    THEN _clock + (_q.heartbeat_timeout_seconds + _q.grace_seconds) * 1000 END
$$;

-- How many more may go inside: what max_active leaves, and no more than is left to sell. While the stock is not known
-- yet, nobody is admitted rather than too many.
CREATE FUNCTION capacity_of(_q queues, _tallies tallies) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(0, CASE
    WHEN _q.stock IS NOT NULL THEN least(
      _q.max_active - _tallies.admitted - _tallies.active,
      _q.stock - _tallies.completed - _tallies.admitted - _tallies.active)
    WHEN _q.stock_url IS NOT NULL THEN 0
    ELSE _q.max_active - _tallies.admitted - _tallies.active END)
$$;

-- Whether the keeper admits people automatically.
CREATE FUNCTION lets_in(_q queues) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT _q.status = 'active' AND _q.admission = 'auto' AND _q.admission_rate > 0 AND NOT held_back(_q.phase)
$$;

CREATE FUNCTION burst_of(_q queues) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(_q.burst, greatest(1, _q.admission_rate))
$$;

-- The tokens in the bucket. Their number is kept as a fraction, with the time at which it was counted. The burst is its
-- limit. But if the line waits for nothing but the next token, a late tick must not lose any: then the limit is the
-- fraction that was left and the tokens of two ticks.
CREATE FUNCTION tokens_of(_q queues, _tallies tallies, _now bigint, _every bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
  SELECT least(
    CASE WHEN _tallies.token_bound
      THEN greatest(burst_of(_q),
        least(1, coalesce(_tallies.tokens, burst_of(_q))) + 2 * _q.admission_rate * _every / 1000)
      ELSE burst_of(_q) END,
    coalesce(_tallies.tokens, burst_of(_q))
      + _q.admission_rate * greatest(0, _now - coalesce(_tallies.tokens_at, _now)) / 1000)
$$;

-- Whether the table of transitions allows an action on a ticket.
CREATE FUNCTION allows(_t tickets, _action text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM transitions tr WHERE tr.status = _t.status AND tr.on_hold = _t.on_hold AND tr.action = _action);
END $$;

-- How many people go ahead of someone who waits each second, on average over the line. It fades faster than the rest of
-- the flow, because it changes faster. How long it was measured follows from the span of the flow.
CREATE FUNCTION pass_rate(_c tallies) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN _c.flow_passed > 0 AND _c.waiting > 0 AND _c.flow_span > 0 THEN
    _c.flow_passed / _c.waiting / (flow_fade_seconds()::double precision / passed_fades()
      * (1 - (1 - least(1, _c.flow_span / flow_fade_seconds())) ^ passed_fades())) ELSE 0 END
$$;

-- The queue at this moment: the first part of most answers.
CREATE FUNCTION snapshot_of(_queue bigint, _now bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
  _snapshot json;
BEGIN
  SELECT json_build_array(_now, c.stopped, q.version, c.waiting, c.admitted, c.active, c.completed, c.stay_mean,
    CASE WHEN c.flow_waited > 0 THEN c.flow_left / c.flow_waited ELSE 0 END,
    CASE WHEN c.flow_span > 0 THEN c.flow_called / c.flow_span ELSE 0 END,
    CASE WHEN c.flow_inside > 0 THEN c.flow_out / c.flow_inside ELSE 0 END, c.flow_out,
    c.on_hold,
    CASE WHEN q.admission = 'manual' THEN (
      SELECT count(*) FROM desks d WHERE d.queue = _queue AND d.seen > _now - q.desk_idle_seconds * 1000) ELSE 0 END,
    cardinality(c.cycles),
    coalesce((SELECT avg(ms) FROM unnest(c.cycles) ms)::double precision / 1000, 0), c.flow_called,
    coalesce(c.tokens, 0), coalesce(c.tokens_at, 0),
    coalesce((SELECT stddev_pop(ms) FROM unnest(c.cycles) ms)::double precision / 1000, 0), c.head_joined,
    pass_rate(c), c.passed_at, c.slowed_at, c.slowed,
    c.left_by_age, c.waited_by_age,
    -- The seconds since each open desk last called, while people waited.
    CASE WHEN q.admission = 'manual' THEN coalesce((
      SELECT json_agg(CASE WHEN c.waiting > 0
        THEN greatest(0, _now - greatest(d.seen, c.empty_at)) / 1000.0::double precision ELSE 0 END ORDER BY d.seen)
      FROM desks d WHERE d.queue = _queue AND d.seen > _now - q.desk_idle_seconds * 1000), '[]') ELSE '[]' END)
  INTO _snapshot FROM tallies c JOIN queues q ON q.key = c.queue WHERE c.queue = _queue;
  -- A call that only reads takes no lock, so the queue may be removed between two of its statements.
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the queue was removed' USING ERRCODE = 'FL001';
  END IF;
  RETURN _snapshot;
END $$;

-- Lock tickets, always in the order of their numbers, because heartbeats lock them without the lock of the queue.
-- Returns where their rows are, which stays valid until the end of the step.
--
-- Here, and wherever tickets are read by number, each is one search of the index: LATERAL … OFFSET 0 leaves the planner
-- no choice. While there are few tickets it would rather read the whole queue, and still do so when there are many.
CREATE FUNCTION lock_tickets(_queue bigint, _numbers bigint[]) RETURNS tid[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT t.row FROM (SELECT DISTINCT number FROM unnest(_numbers) number ORDER BY number) a
    CROSS JOIN LATERAL (
      SELECT t.ctid AS row FROM tickets t WHERE t.queue = _queue AND t.number = a.number FOR NO KEY UPDATE) t);
END $$;

-- The status of a ticket, and the full ticket. `_stopped` turns the queue's time into the store's.
CREATE FUNCTION ticket_status(_t tickets, _rank bigint, _stopped bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_array(_t.number, _t.status, _t.level, _t.joined, _t.reason, _rank,
    floor(_t.due)::bigint + _stopped, _t.leaving, nullif(_t.desk, ''), _t.on_hold, _t.serial, _t.moved, _t.drawn_rank,
    _t.drawn_in)
$$;

CREATE FUNCTION full_ticket(_t tickets, _rank bigint, _stopped bigint) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_build_array(_t.number, _t.status, _t.level, _t.joined, _t.reason, _rank,
    floor(_t.due)::bigint + _stopped, _t.leaving, nullif(_t.desk, ''), _t.on_hold, _t.serial, _t.moved, _t.drawn_rank,
    _t.drawn_in, _t.place, _t.admitted, _t.started, _t.ended, _t.page_views, encode(_t.client, 'hex'), _t.person,
    _t.went)
$$;

-- An answer: the queue, and the status of each ticket in order (null if there is none), all of one moment.
CREATE FUNCTION ticket_statuses(_queue bigint, _now bigint, _numbers bigint[]) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT json_build_array(snapshot_of(_queue, _now), coalesce((
    SELECT json_agg(CASE WHEN f.found THEN ticket_status(f.ticket, a.rank, c.stopped) END ORDER BY a.i)
    FROM tallies c
    CROSS JOIN unnest(_numbers, ranks(_queue, _numbers)) WITH ORDINALITY a(number, rank, i)
    LEFT JOIN LATERAL (
      SELECT true AS found, t AS ticket FROM tickets t WHERE t.queue = _queue AND t.number = a.number OFFSET 0
    ) f ON true
    WHERE c.queue = _queue), '[]')));
END $$;

CREATE FUNCTION full_tickets(_queue bigint, _numbers bigint[]) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce((
    SELECT json_agg(CASE WHEN f.found THEN full_ticket(f.ticket, a.rank, c.stopped) END ORDER BY a.i)
    FROM tallies c
    CROSS JOIN unnest(_numbers, ranks(_queue, _numbers)) WITH ORDINALITY a(number, rank, i)
    LEFT JOIN LATERAL (
      SELECT true AS found, t AS ticket FROM tickets t WHERE t.queue = _queue AND t.number = a.number OFFSET 0
    ) f ON true
    WHERE c.queue = _queue), '[]'));
END $$;

-- An answer about one ticket: the queue, the outcome of the action, and the full ticket (null if there is none).
CREATE FUNCTION acted(_queue bigint, _now bigint, _outcome text, _number bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN json_build_array(
    snapshot_of(_queue, _now), json_build_array(_outcome, full_tickets(_queue, ARRAY[_number]) -> 0));
END $$;
