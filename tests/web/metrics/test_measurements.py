"""The metrics of one worker by itself, and of a queue in one state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Histogram

from fairline.domain.estimate import Forecast
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import Admission, QueueSettings, QueueStatus
from fairline.domain.ticket import Reason, Status, TicketStatus
from fairline.errors import StoreUnavailable, TicketExpired
from fairline.service.answers import StatusAnswer
from fairline.store import Stats, Totals
from fairline.web.metrics.measurements import HEARTBEAT_BUCKETS, BufferedHistogram, Metrics
from fairline.web.metrics.metrics_folder import FOLDER
from fairline.web.metrics.page import MetricsPage, queue_metrics
from fairline.web.server.head import Head
from fairline.web.server.http import Request
from tests.web.inside import until
from tests.web.metrics.reading import HEARTBEATS, JOIN, LATENCY, Reading


@pytest.fixture
async def metrics(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Metrics]:
    monkeypatch.delenv(FOLDER, raising=False)
    metrics = Metrics()
    metrics.call_name = lambda method, _: JOIN if method == "POST" else "other"
    yield metrics
    metrics.flush()


async def read(metrics: Metrics, *known: str) -> Reading:
    return Reading((await metrics.exposition([], set(known))).decode())


SNAPSHOT = QueueSnapshot(1, 0, 1, 7, 2, 3, 11, 0.0, 0.0, 0.0)


def ticket_status(status: Status) -> StatusAnswer:
    told = TicketStatus(number=1, status=status, priority=0, joined=1)
    settings = QueueSettings()
    return StatusAnswer(
        queue=QueueId("a"),
        ticket_status=told,
        snapshot=SNAPSHOT,
        settings=settings,
        forecast=Forecast(settings, SNAPSHOT),
    )


async def test_heartbeats_are_counted_by_where_the_ticket_stands(metrics: Metrics) -> None:
    stand = [ticket_status(status) for status in (Status.WAITING, Status.WAITING, Status.ADMITTED)]
    metrics.sent("heartbeat", QueueId("a"), 0.0, [0.0] * 4, [*stand, TicketExpired("left")])
    reading = await read(metrics, "a")
    counts = {
        status: reading.of(HEARTBEATS, queue_id="a", status=status) for status in ("waiting", "admitted", "expired")
    }
    assert counts == {"waiting": 2, "admitted": 1, "expired": 1}
    assert reading.of(f"{LATENCY}_count", queue_id="a") == 4


async def test_a_store_that_is_away_is_counted_and_a_queue_that_is_not_there_is_not(metrics: Metrics) -> None:
    metrics.sent("heartbeat", QueueId("a"), 0.0, [0.0], StoreUnavailable("it was stopped"))
    metrics.sent("heartbeat", QueueId("gone"), 0.0, [0.0], RuntimeError("whatever else"))
    reading = await read(metrics)
    assert reading.of("fairline_store_errors_total", call="heartbeat") == 1
    assert reading.of("fairline_batch_size_count", call="heartbeat") == 0
    assert reading.values("queue_id") == set()


async def test_counts_are_written_by_themselves_a_moment_later(metrics: Metrics) -> None:
    metrics.answered("POST", "/api/v1/queues/a/join", 201)
    await until(lambda: not metrics._answered)
    metrics.answered("POST", "/api/v1/queues/b/join", 201)
    assert (await read(metrics)).of("fairline_requests_total", call=JOIN, status="201") == 2


def test_many_values_at_once_are_the_same_as_one_by_one() -> None:
    registry = CollectorRegistry()
    at_once = BufferedHistogram(registry, "at_once", "Together.", HEARTBEAT_BUCKETS, "kind")
    one_by_one = Histogram("one_by_one", "Apart.", ("kind",), registry=registry, buckets=HEARTBEAT_BUCKETS)
    for value in (0.0, 0.001, 0.0011, 0.3, 1.0, 1.5, 100.0):
        for _ in range(3):
            one_by_one.labels("x").observe(value)
        at_once.add("x", value, 3)
    at_once.flush()
    together, apart = list(registry.collect())

    def told(metric: Any) -> list[tuple[str, Any, float]]:
        return [
            (sample.name.removeprefix(metric.name), sample.labels, round(sample.value, 9))
            for sample in metric.samples
            if not sample.name.endswith("_created")
        ]

    assert told(together) == told(apart)


def metrics_of(settings: QueueSettings, snapshot: QueueSnapshot = SNAPSHOT) -> dict[str, float]:
    stats = Stats(snapshot=snapshot, totals=Totals(), joins_per_minute=0, admissions_per_minute=0, last_admission=None)
    return {
        sample.name: sample.value
        for metric in queue_metrics([(QueueId("a"), settings, stats)])
        for sample in metric.samples
        if "reason" not in sample.labels and "state" not in sample.labels
    }


@pytest.mark.parametrize(
    ("settings", "backlog"),
    [
        (QueueSettings(), 7),
        (QueueSettings(max_active=9), 4),
        (QueueSettings(max_active=1), 0),
        (QueueSettings(stock=18), 2),
        (QueueSettings(stock_url="http://shop.test/stock"), 0),
        (QueueSettings(admission=Admission.MANUAL), 0),
        (QueueSettings(status=QueueStatus.PAUSED), 0),
    ],
)
def test_the_backlog_is_who_could_be_let_in_but_for_the_rate(settings: QueueSettings, backlog: int) -> None:
    assert metrics_of(settings)["fairline_promotion_backlog"] == backlog


def test_nobody_is_kept_by_heartbeats_where_none_are_asked_for() -> None:
    assert metrics_of(QueueSettings())["waiting_room_active_heartbeats"] == 7
    assert metrics_of(QueueSettings(heartbeat_timeout_seconds=0))["waiting_room_active_heartbeats"] == 0


def test_what_is_left_to_sell_is_told_only_where_that_is_finite() -> None:
    assert "fairline_stock_left" not in metrics_of(QueueSettings())
    assert metrics_of(QueueSettings(stock=20))["fairline_stock_left"] == 4


def test_all_reasons_are_told_from_the_start() -> None:
    stats = Stats(snapshot=SNAPSHOT, totals=Totals(), joins_per_minute=0, admissions_per_minute=0, last_admission=None)
    metrics = queue_metrics([(QueueId("a"), QueueSettings(), stats)])
    expired = next(metric for metric in metrics if metric.name == "waiting_room_positions_expired")
    assert [sample.labels["reason"] for sample in expired.samples] == list(Reason)


class _Away:
    async def queues(self) -> list[QueueId]:
        raise StoreUnavailable("it was stopped")


async def test_with_the_store_away_the_processes_still_report_their_metrics(metrics: Metrics) -> None:
    metrics.answered("POST", "/api/v1/queues/a/join", 503)
    request = Request(Head("GET", "/metrics"), None)
    answer = await MetricsPage(_Away(), metrics).metrics(request)  # type: ignore[arg-type]
    reading = Reading(answer.body.decode())
    assert answer.status == 200
    assert reading.of("fairline_store_up") == 0
    assert reading.of("fairline_requests_total", call=JOIN, status="503") == 1
