"""The metrics that a worker counts itself, and their output for Prometheus.

There are two kinds of metrics. Those of the queues are read from the store on request (see page), so they are right
whichever worker answers, and they survive restarts. Those of the processes (requests, store calls, streams) are counted
where they happen, in plain numbers, and written a moment later to files that prometheus_client sums over all workers.

The names of a worker's files contain its place among the workers, not its process id: a restarted worker continues the
counts of the one before. Only the counts of the moment before a kill are lost.

A label value never comes from a stranger: a queue is named only if the store knows it, and a deleted queue is left out
from then on.
"""

from __future__ import annotations

import asyncio
import os
import time
from bisect import bisect_left
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Status
from fairline.errors import FairlineError, StoreError
from fairline.keeper import mail, webhooks
from fairline.service.answers import StatusAnswer
from fairline.web.metrics.metrics_folder import FOLDER

#: Counts are written this many seconds after the first of them. A reader waits as long, and then sees them all.
FLUSH_SECONDS = 0.05

HEARTBEAT_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
STORE_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
DELAY_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZE_BUCKETS = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)

#: The calls to the store that the service groups.
STORE_CALLS = ("join", "heartbeat", "status", "unload", "visit", "act")

Labels = tuple[Any, ...]


class BufferedCounter:
    """A counter that collects its counts in plain numbers until they are written."""

    def __init__(self, registry: CollectorRegistry, name: str, about: str, *labels: str) -> None:
        self._counter = Counter(name, about, labels, registry=registry)
        self.counts: defaultdict[Labels, int] = defaultdict(int)

    def begin(self, *labels: str) -> None:
        """Show a zero from the start."""
        self._counter.labels(*labels)

    def flush(self) -> None:
        """Write what was counted."""
        for labels, count in self.counts.items():
            self._counter.labels(*labels).inc(count)
        self.counts.clear()


class BufferedHistogram:
    """A histogram that collects its values in plain numbers until they are written."""

    def __init__(self, registry: CollectorRegistry, name: str, about: str, bounds: Sequence[float], label: str) -> None:
        self._histogram = _Histogram(name, about, (label,), registry=registry, buckets=bounds)
        self._bounds = bounds
        self.rows: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * (len(bounds) + 2))
        """By label: the counts of all buckets, the count beyond the last bucket, and the sum of all values."""

    def add(self, label: str, value: float, times: int = 1) -> None:
        """Add a value."""
        row = self.rows[label]
        row[bisect_left(self._bounds, value)] += times
        row[-1] += value * times

    def add_all(self, label: str, values: Sequence[float]) -> None:
        """Add several values. They usually fall into one bucket, which is the fast case."""
        row, bounds = self.rows[label], self._bounds
        first = bisect_left(bounds, min(values))
        if first == bisect_left(bounds, max(values)):
            row[first] += len(values)
        else:
            for value in values:
                row[bisect_left(bounds, value)] += 1
        row[-1] += sum(values)

    def begin(self, *labels: str) -> None:
        """Show zeros from the start."""
        for label in labels:
            self._histogram.labels(label)

    def flush(self) -> None:
        """Write what was added."""
        for label, (*counts, total) in self.rows.items():
            self._histogram.labels(label).add(counts, total)
        self.rows.clear()


class _Histogram(Histogram):
    """prometheus_client's histogram, extended to take many observations at once."""

    def add(self, counts: Sequence[float], total: float) -> None:
        """Add a count to each bucket, and a total to the sum."""
        self._sum.inc(total)
        for bucket, count in zip(self._buckets, counts, strict=True):
            if count:
                bucket.inc(count)


class Metrics:
    """The metrics of one worker. Its methods are called where things happen, and cost next to nothing. `place` is the
    worker's number among the workers that share the folder."""

    def __init__(self, place: int | None = None) -> None:
        self.call_name: Callable[[str, str], str] = lambda _method, _path: "other"
        """Names the operation for a method and a path; set once the operations are known."""
        self._folder = os.environ.get(FOLDER)
        if self._folder and place is not None:
            values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]
        self._timer: asyncio.TimerHandle | None = None
        self._registry = registry = CollectorRegistry()
        self._requests = BufferedCounter(
            registry, "fairline_requests_total", "Requests answered, by call and HTTP status.", "call", "status"
        )
        self._limited = BufferedCounter(
            registry, "fairline_rate_limit_hits_total", "Requests refused by a rate limit.", "call"
        )
        self._heartbeats_received = BufferedCounter(
            registry,
            "waiting_room_heartbeats_received_total",
            "Heartbeats received (also from streams as they open), by the status of the ticket.",
            "queue_id",
            "status",
        )
        self._heartbeat_seconds = BufferedHistogram(
            registry,
            "waiting_room_heartbeat_latency_seconds",
            "Time from the arrival of a heartbeat to its answer.",
            HEARTBEAT_BUCKETS,
            "queue_id",
        )
        self._store_seconds = BufferedHistogram(
            registry, "fairline_store_call_seconds", "Time of one grouped call to the store.", STORE_BUCKETS, "call"
        )
        self._batch_size = BufferedHistogram(
            registry, "fairline_batch_size", "Requests that went to the store in one call.", SIZE_BUCKETS, "call"
        )
        self._store_errors = BufferedCounter(
            registry, "fairline_store_errors_total", "Grouped calls to the store that failed.", "call"
        )
        self._push_seconds = BufferedHistogram(
            registry,
            "fairline_broadcast_delay_seconds",
            "Time from an event to its frame on a stream: of the ticket itself (own), or of the line (line).",
            DELAY_BUCKETS,
            "kind",
        )
        self._promoted = BufferedCounter(
            registry, "fairline_promotions_total", "People admitted by the keepers of this server.", "queue_id"
        )
        self._round_seconds = BufferedHistogram(
            registry, "fairline_keeper_round_seconds", "Time of one round of a keeper.", STORE_BUCKETS, "round"
        )
        self._deliveries = BufferedCounter(
            registry,
            "fairline_deliveries_total",
            "Delivery attempts by the keepers of this server: sent, overtaken by a newer one, over a limit, retried, "
            "given up.",
            "kind",
            "outcome",
        )
        self._lost = BufferedCounter(
            registry, "fairline_events_lost_total", "How often events were deleted before delivery.", "kind"
        )
        self._streams = Gauge(
            "fairline_open_streams",
            "Open streams of people in line.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._lag = Gauge(
            "fairline_keeper_lag_seconds",
            "How late the last round of a keeper began; the highest of this server's workers.",
            ("round",),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._round_at = Gauge(
            "fairline_keeper_last_round_timestamp_seconds",
            "When a keeper of this server last finished a round.",
            ("round",),
            registry=registry,
            multiprocess_mode="max",
        )
        self._answered: list[tuple[str, str, int]] = []
        self._open_streams: int | None = 0
        self._rounds: dict[str, tuple[float, float]] = {}
        self._buffered = (
            *(self._requests, self._limited, self._heartbeats_received, self._store_errors, self._promoted),
            *(self._deliveries, self._lost),
            *(self._heartbeat_seconds, self._store_seconds, self._batch_size, self._push_seconds, self._round_seconds),
        )
        self._begin()

    # Called when things happen

    def answered(self, method: str, path: str, status: int) -> None:
        """A request was answered. The name of the operation is found later, once for many requests."""
        self._answered.append((method, path, status))
        if self._timer is None:
            self._arm()

    def sent(
        self,
        call: str,
        key: Any,
        began: float,
        received_at: Sequence[float],
        outcome: Sequence[StatusAnswer | FairlineError] | Exception,
    ) -> None:
        """The service made a grouped call to the store."""
        now = time.monotonic()
        if isinstance(outcome, Exception):
            if isinstance(outcome, StoreError):
                self._store_errors.counts[call,] += 1
                self._arm()
            return  # nothing is counted for a queue that does not exist
        self._store_seconds.add(call, now - began)
        self._batch_size.add(call, len(received_at))
        if call == "heartbeat":
            self._heartbeats(key, now, received_at, outcome)
        self._arm()

    def _heartbeats(
        self, queue: QueueId, now: float, received_at: Sequence[float], results: Sequence[StatusAnswer | FairlineError]
    ) -> None:
        self._heartbeat_seconds.add_all(queue, [now - since for since in received_at])
        # `_value_`, because hashing the member of an enum runs Python code.
        found = [each.ticket_status.status._value_ if isinstance(each, StatusAnswer) else "expired" for each in results]
        for status, times in Counts(found).items():
            self._heartbeats_received.counts[queue, status] += times

    def pushed(self, kind: str, seconds: float, frames: int) -> None:
        """The hub sent frames to streams."""
        self._push_seconds.add(kind, seconds, frames)
        self._arm()

    def streams(self, count: int) -> None:
        """The number of open streams of people in line has changed."""
        self._open_streams = count
        self._arm()

    def admitted(self, queue: QueueId, numbers: list[int]) -> None:
        """The keeper admitted people."""
        self._promoted.counts[queue,] += len(numbers)
        self._arm()

    def delivered(self, kind: str, outcome: str) -> None:
        """The keeper tried to deliver something."""
        self._deliveries.counts[kind, outcome] += 1
        self._arm()

    def lost(self, kind: str) -> None:
        """Events were deleted before they were taken for delivery."""
        self._lost.counts[kind,] += 1
        self._arm()

    def round(self, name: str, late: float, seconds: float) -> None:
        """The keeper finished a round."""
        self._round_seconds.add(name, seconds)
        self._rounds[name] = (max(0.0, late), time.time())
        self._arm()

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Write what was counted since the last time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._name_calls()
        for each in self._buffered:
            each.flush()
        if self._open_streams is not None:
            self._streams.set(self._open_streams)
            self._open_streams = None
        for name, (late, at) in self._rounds.items():
            self._lag.labels(name).set(late)
            self._round_at.labels(name).set(at)
        self._rounds.clear()

    def _name_calls(self) -> None:
        for (method, path, status), count in Counts(self._answered).items():
            call = self.call_name(method, path)
            self._requests.counts[call, status] += count
            if status == 429:
                self._limited.counts[call,] += count
        self._answered.clear()

    # Output

    def _begin(self) -> None:
        """Show metrics as zero before anything happens: a rate needs the value before the first event."""
        self._store_seconds.begin(*STORE_CALLS)
        self._batch_size.begin(*STORE_CALLS)
        self._push_seconds.begin("own", "line")
        self._limited.begin("POST /api/v1/queues/{queue}/join")
        for call in STORE_CALLS:
            self._store_errors.begin(call)
        for kind in (webhooks.KIND, mail.KIND):
            self._lost.begin(kind)
            for outcome in ("sent", "overtaken", "limited", "retried", "dead"):
                self._deliveries.begin(kind, outcome)

    def _begin_queue(self, queue: str) -> None:
        self._heartbeat_seconds.begin(queue)
        self._promoted.begin(queue)
        for status in (Status.WAITING, Status.ADMITTED, Status.EXPIRED):
            self._heartbeats_received.begin(queue, status)

    async def exposition(self, queues: Sequence[Metric], known: set[str] | None) -> bytes:
        """All metrics in the text format of Prometheus: those of the queues and those of all workers together. Queues
        that are not in `known` are left out."""
        for queue in known or ():
            self._begin_queue(queue)
        if self._folder:
            await asyncio.sleep(FLUSH_SECONDS)  # until the other workers have written what they counted before
        self.flush()
        return await asyncio.to_thread(self._text, queues, known)

    def _text(self, queues: Sequence[Metric], known: set[str] | None) -> bytes:
        own: Collector = self._registry
        if self._folder:
            own = MultiProcessCollector(None, self._folder)  # type: ignore[no-untyped-call]
        registry = CollectorRegistry(auto_describe=False)
        workers = sorted(_of_known_queues(own.collect(), known), key=lambda metric: metric.name)
        registry.register(_Collected((*queues, *workers)))
        return generate_latest(registry)


def _of_known_queues(metrics: Iterable[Metric], known: set[str] | None) -> Iterable[Metric]:
    for metric in metrics:
        if known is not None:
            metric.samples = [s for s in metric.samples if "queue_id" not in s.labels or s.labels["queue_id"] in known]
        yield metric


class _Collected(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
