"""The page `GET /metrics`: the metrics of every queue, read from the store, and those that the workers have counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

import fairline
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import Admission, QueueSettings, QueueStatus
from fairline.domain.ticket import Reason, Status
from fairline.errors import QueueNotFound, StoreError
from fairline.keeper import mail, webhooks
from fairline.service.fairline import Fairline
from fairline.store import BoxCounts, Stats, Totals
from fairline.web.metrics.measurements import Metrics
from fairline.web.server.http import NO_STORE, Request, Response

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
#: The buckets of the histogram of waits end at 1 s, 3 s, 7 s … 4 h 33 min.
WAIT_DOUBLINGS = range(1, 15)
#: How many queues are read at once.
AT_ONCE = 8


class MetricsPage:
    """The call `GET /metrics`."""

    def __init__(self, service: Fairline, metrics: Metrics) -> None:
        self._service = service
        self._metrics = metrics

    async def metrics(self, request: Request) -> Response:
        """All metrics. While the store is unavailable, only those of the processes."""
        queues: list[tuple[QueueId, QueueSettings, Stats]] | None
        boxes: dict[str, BoxCounts] | None
        try:
            queues = await self._queues()
            boxes = await self._outboxes()
        except StoreError:
            queues = None
            boxes = None
        known = None if queues is None else {str(queue) for queue, _, _ in queues}
        body = await self._metrics.exposition([*queue_metrics(queues), *outbox_metrics(boxes)], known)
        return Response(200, body, MEDIA.encode(), NO_STORE)

    async def _outboxes(self) -> dict[str, BoxCounts]:
        """What is still to be sent by mail, and by all webhooks together, so that no webhook needs a label."""
        store = self._service.store
        hooks = await store.registry.webhooks()
        dead_letters, *counts = await store.outbox.counts([mail.BOX, *(hook.id for hook in hooks)])
        all_hooks = BoxCounts(sum(each.pending for each in counts), sum(each.dead for each in counts))
        return {webhooks.KIND: all_hooks, mail.KIND: dead_letters}

    async def _queues(self) -> list[tuple[QueueId, QueueSettings, Stats]]:
        places = asyncio.Semaphore(AT_ONCE)

        async def read(queue: QueueId) -> tuple[QueueId, QueueSettings, Stats] | None:
            async with places:
                try:
                    return queue, (await self._service.settings(queue)).settings, await self._service.stats(queue)
                except QueueNotFound:
                    return None  # deleted meanwhile

        found = await asyncio.gather(*map(read, await self._service.queues()))
        return [each for each in found if each is not None]


def queue_metrics(queues: Sequence[tuple[QueueId, QueueSettings, Stats]] | None) -> list[Metric]:
    """The metrics of all queues; if `queues` is None, only that the store is unavailable."""
    build = GaugeMetricFamily("fairline_build_info", "The version that runs.", labels=("version",))
    build.add_metric((fairline.__version__,), 1)
    up = GaugeMetricFamily("fairline_store_up", "Whether the store answers.", value=float(queues is not None))

    def gauge(name: str, about: str, *more: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(name, about, labels=("queue_id", *more))

    def counter(name: str, about: str, *more: str) -> CounterMetricFamily:
        return CounterMetricFamily(name, about, labels=("queue_id", *more))

    joined = counter("fairline_joined", "Tickets given out.")
    admitted = counter("fairline_admitted", "Tickets admitted or called.")
    returned = counter("fairline_returned", "Tickets sent back to the line.")
    completed = counter("fairline_completed", "Tickets that were completed.")
    expired = counter("waiting_room_positions_expired", "Tickets that ended otherwise, by reason.", "reason")
    waiting = gauge("fairline_waiting", "People in line.")
    by_heartbeat = gauge("waiting_room_active_heartbeats", "People in line who keep their place by heartbeats.")
    inside = gauge("fairline_inside", "People admitted: on their way (admitted) or inside (active).", "state")
    backlog = gauge("fairline_promotion_backlog", "People in line who have capacity inside but wait for the rate.")
    stock = gauge("fairline_stock_left", "The stock that is left, where it is limited.")
    state = gauge("fairline_queue_status", "1 for the current status of a queue, 0 for the others.", "status")
    rate = gauge("fairline_admission_rate", "People admitted per second, as set; 0 where staff call them.")
    most = gauge("fairline_max_active", "Capacity inside, as set.")
    wait = HistogramMetricFamily(
        "fairline_wait_seconds", "How long people waited until they were admitted.", labels=("queue_id",)
    )
    compared = counter("fairline_estimates_compared", "Shown estimates that were compared with the wait.")
    within = counter("fairline_estimates_within", "Compared estimates whose range contained the wait.")
    by_length = ("wait_from_seconds",)
    coverage = gauge(
        "fairline_estimates_coverage_ratio", "Share of waits within the range shown, by length.", *by_length
    )
    error = gauge("fairline_estimates_error_ratio", "Median error of shown waits, as a share of the wait.", *by_length)
    bias = gauge("fairline_estimates_bias_ratio", "The same with its direction; below 0, too short.", *by_length)
    for queue, settings, stats in queues or ():
        snapshot, totals = stats.snapshot, stats.totals
        joined.add_metric((queue,), totals.joined)
        admitted.add_metric((queue,), totals.admitted)
        returned.add_metric((queue,), totals.returned)
        completed.add_metric((queue,), totals.completed)
        for reason in Reason:
            expired.add_metric((queue, reason), totals.expired_by_reason.get(reason, 0))
        waiting.add_metric((queue,), snapshot.waiting)
        by_heartbeat.add_metric((queue,), snapshot.waiting if settings.heartbeat_timeout_seconds else 0)
        inside.add_metric((queue, Status.ADMITTED), snapshot.admitted)
        inside.add_metric((queue, Status.ACTIVE), snapshot.active)
        backlog.add_metric((queue,), _backlog(snapshot, settings))
        left = snapshot.stock_left(settings.stock)
        if left is not None:
            stock.add_metric((queue,), left)
        for status in QueueStatus:
            state.add_metric((queue, status), float(settings.status is status))
        rate.add_metric((queue,), settings.admission_rate if settings.admission is Admission.AUTO else 0)
        most.add_metric((queue,), settings.max_active)
        compared.add_metric((queue,), totals.estimates.compared)
        within.add_metric((queue,), totals.estimates.within)
        for length in totals.estimates.by_wait:
            labels = (queue, str(length.from_seconds))
            coverage.add_metric(labels, length.within / length.compared)
            error.add_metric(labels, (length.error_percent or 0.0) / 100)
            bias.add_metric(labels, (length.bias_percent or 0.0) / 100)
        wait.add_metric((queue,), _wait_buckets(totals), (totals.wait_mean or 0) * totals.admitted)
    return [
        *(build, up, joined, admitted, returned, completed, expired),
        *(waiting, by_heartbeat, inside, backlog, stock, state, rate, most, wait, compared, within),
        *(coverage, error, bias),
    ]


def outbox_metrics(boxes: dict[str, BoxCounts] | None) -> list[Metric]:
    """The deliveries that are pending, and those that were given up."""
    pending = GaugeMetricFamily("fairline_deliveries_pending", "Deliveries still to be made.", labels=("kind",))
    dead = GaugeMetricFamily("fairline_deliveries_dead", "Dead letters: given up, and kept.", labels=("kind",))
    for kind, counts in (boxes or {}).items():
        pending.add_metric((kind,), counts.pending)
        dead.add_metric((kind,), counts.dead)
    return [pending, dead]


def _backlog(snapshot: QueueSnapshot, settings: QueueSettings) -> int:
    """How many people could be admitted at once if there were no rate."""
    if settings.status is not QueueStatus.ACTIVE or settings.admission is not Admission.AUTO:
        return 0
    free = settings.max_active - snapshot.inside
    left = snapshot.stock_left(settings.stock)
    if left is None and settings.stock_url:
        left = 0  # not known yet: nobody is admitted
    return max(0, min(snapshot.waiting, free if left is None else min(free, left)))


def _wait_buckets(totals: Totals) -> list[tuple[str, float]]:
    """How many people waited no longer than each bound. The bounds are those of the store's own buckets, so the counts
    are exact."""
    buckets: list[tuple[str, float]] = [
        (f"{2.0**doublings - 1:.1f}", sum(count for bucket, count in totals.waits.items() if bucket < 8 * doublings))
        for doublings in WAIT_DOUBLINGS
    ]
    return [*buckets, ("+Inf", totals.admitted)]
