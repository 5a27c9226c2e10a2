"""What Prometheus reads is what happened: over all workers, and over the death of one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.backends import wait_until
from tests.web.metrics.reading import EXPIRED, HEARTBEAT, HEARTBEATS, JOIN, LATENCY, Reading
from tests.web.running import RunningServer
from tests.web.sse import EventSource


class Crowd:
    """A server with two workers, and people who come over many connections, so that both have some."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.admin = httpx.Client(
            base_url=f"{server.base_url}/api/v1/admin", headers={"Authorization": f"Bearer {server.admin_key}"}
        )

    def queue(self, name: str, **settings: Any) -> str:
        settings = {"admission": "manual", "join_limit_per_ip": 0, **settings}
        assert self.admin.post("/queues", json={"id": name, **settings}).status_code == 201
        return name

    def reading(self) -> Reading:
        answer = httpx.get(f"{self.server.base_url}/metrics", timeout=20)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return Reading(answer.text)

    async def join(self, queue: str, count: int) -> list[dict[str, Any]]:
        answers = [answer.json() for answer in await self._all(count, f"/api/v1/queues/{queue}/join")]
        return sorted(answers, key=lambda answer: answer.get("ticket", 0))

    async def heartbeat(self, tickets: list[dict[str, Any]]) -> list[int]:
        return await self._with_tokens("/api/v1/heartbeat", tickets)

    async def leave(self, tickets: list[dict[str, Any]]) -> list[int]:
        return await self._with_tokens("/api/v1/leave", tickets, {"final": True})

    async def _with_tokens(self, path: str, tickets: list[dict[str, Any]], body: Any = None) -> list[int]:
        headers = [{"Authorization": f"Bearer {ticket['token']}"} for ticket in tickets]
        return [answer.status_code for answer in await self._all(len(tickets), path, headers, body)]

    async def _all(self, count: int, path: str, headers: Any = None, body: Any = None) -> list[httpx.Response]:
        # A connection each: the kernel spreads them over the workers.
        limits = httpx.Limits(max_connections=20, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=self.server.base_url, timeout=20, limits=limits) as client:
            calls = (client.post(path, headers=headers[n] if headers else None, json=body) for n in range(count))
            return await asyncio.gather(*calls)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    server = RunningServer(tmp_path_factory.mktemp("metrics"))
    try:
        crowd = Crowd(server)
        yield crowd
        crowd.admin.close()
    finally:
        server.stop()


# Over all workers


def test_every_metric_is_there_before_anything_happened(crowd: Crowd) -> None:
    types = crowd.reading().types
    assert (
        types.items()
        >= {
            "waiting_room_heartbeats_received": "counter",
            "waiting_room_heartbeat_latency_seconds": "histogram",
            "waiting_room_positions_expired": "counter",
            "waiting_room_active_heartbeats": "gauge",
            "fairline_joined": "counter",
            "fairline_admitted": "counter",
            "fairline_completed": "counter",
            "fairline_waiting": "gauge",
            "fairline_inside": "gauge",
            "fairline_stock_left": "gauge",
            "fairline_wait_seconds": "histogram",
            "fairline_estimates_compared": "counter",
            "fairline_estimates_within": "counter",
            "fairline_estimates_coverage_ratio": "gauge",
            "fairline_estimates_error_ratio": "gauge",
            "fairline_estimates_bias_ratio": "gauge",
            "fairline_queue_status": "gauge",
            "fairline_admission_rate": "gauge",
            "fairline_max_active": "gauge",
            "fairline_requests": "counter",
            "fairline_rate_limit_hits": "counter",
            "fairline_open_streams": "gauge",
            "fairline_broadcast_delay_seconds": "histogram",
            "fairline_store_call_seconds": "histogram",
            "fairline_store_errors": "counter",
            "fairline_batch_size": "histogram",
            "fairline_promotions": "counter",
            "fairline_promotion_backlog": "gauge",
            "fairline_keeper_lag_seconds": "gauge",
            "fairline_keeper_round_seconds": "histogram",
            "fairline_keeper_last_round_timestamp_seconds": "gauge",
            "fairline_store_up": "gauge",
            "fairline_build_info": "gauge",
        }.items()
    )


async def test_counts_are_what_happened_before_and_after_a_worker_is_killed(crowd: Crowd) -> None:
    queue = crowd.queue("killed")
    tickets = await crowd.join(queue, 60)
    for _ in range(3):
        assert set(await crowd.heartbeat(tickets)) == {200}
    assert set(await crowd.leave(tickets[:20])) == {204}
    assert set(await crowd.heartbeat(tickets[:20])) == {410}
    before = crowd.reading()

    def check(reading: Reading, heartbeats: int) -> None:
        assert reading.of("fairline_joined_total", queue_id=queue) == 60
        assert reading.of("fairline_waiting", queue_id=queue) == 40
        assert reading.of("waiting_room_active_heartbeats", queue_id=queue) == 40
        assert reading.of(EXPIRED, queue_id=queue, reason="left") == 20
        assert reading.sum(EXPIRED, queue_id=queue) == 20
        assert reading.of(HEARTBEATS, queue_id=queue, status="waiting") == heartbeats
        assert reading.of(HEARTBEATS, queue_id=queue, status="expired") == 20
        assert reading.of(f"{LATENCY}_count", queue_id=queue) == heartbeats + 20
        assert reading.of(f"{LATENCY}_bucket", queue_id=queue, le="+Inf") == heartbeats + 20
        assert reading.of("fairline_requests_total", call=JOIN, status="201") == 60
        assert reading.of("fairline_requests_total", call=HEARTBEAT, status="200") == heartbeats
        assert reading.of("fairline_requests_total", call=HEARTBEAT, status="410") == 20
        assert reading.of("fairline_batch_size_sum", call="heartbeat") == heartbeats + 20

    check(before, 180)
    victim, other = crowd.server.worker_pids()
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: _replaced(crowd.server, victim), "the worker was not started again")
    check(crowd.reading(), 180)
    assert set(await crowd.heartbeat(tickets[20:])) == {200}
    check(crowd.reading(), 220)
    os.kill(other, signal.SIGKILL)
    wait_until(lambda: _replaced(crowd.server, other), "the worker was not started again")
    assert set(await crowd.heartbeat(tickets[20:])) == {200}
    check(crowd.reading(), 260)


def _replaced(server: RunningServer, victim: int) -> bool:
    pids = server.worker_pids()
    try:
        well = httpx.get(f"{server.base_url}/readyz", timeout=2).status_code == 200
    except httpx.TransportError:
        return False
    return well and victim not in pids and len(pids) == 2


async def test_streams_of_a_killed_worker_are_not_open_any_more(crowd: Crowd) -> None:
    tickets = await crowd.join(crowd.queue("streams"), 12)
    async with _open(crowd, tickets) as sources:
        assert crowd.reading().of("fairline_open_streams") == 12
        for source in sources[:4]:
            await source.close()
        await _until(lambda: crowd.reading().of("fairline_open_streams") == 8)
        for pid in crowd.server.worker_pids():
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(crowd.server.worker_pids()) == 2, "the workers were not started again")
    await _until(lambda: crowd.reading().of("fairline_open_streams") == 0)


async def test_frames_are_timed_from_the_event_they_tell_of(crowd: Crowd) -> None:
    queue = crowd.queue("frames")
    tickets = await crowd.join(queue, 3)
    before = crowd.reading()
    async with _open(crowd, tickets) as sources:
        await asyncio.sleep(1)  # until both hubs listen
        began = time.monotonic()
        assert crowd.admin.post(f"/queues/{queue}/call-next").status_code == 200
        await sources[0].until(lambda source: source.of("admitted"))
        await sources[2].until(lambda source: source.last["position"] == 2)
        took = time.monotonic() - began
    after = crowd.reading()

    def more(kind: str, what: str) -> float:
        name = f"fairline_broadcast_delay_seconds_{what}"
        return after.of(name, kind=kind) - before.of(name, kind=kind)

    assert more("own", "count") == 1
    assert more("line", "count") >= 1
    assert 0 < more("own", "sum") < took + 0.01  # seconds; events have whole milliseconds


@contextlib.asynccontextmanager
async def _open(crowd: Crowd, tickets: list[dict[str, Any]]) -> AsyncIterator[list[EventSource]]:
    sources = [EventSource(crowd.server.host, crowd.server.port, ticket["token"]) for ticket in tickets]
    for source in sources:
        await source.until(lambda source: source.events)
    yield sources
    for source in sources:
        await source.close()


async def test_whom_the_keepers_let_in_is_counted_once(crowd: Crowd) -> None:
    queue = crowd.queue("promoted", admission="auto", admission_rate=1000, max_active=25, stock=100)
    await crowd.join(queue, 30)
    await _until(lambda: crowd.reading().of("fairline_promotions_total", queue_id=queue) == 25)
    reading = crowd.reading()
    assert reading.of("fairline_admitted_total", queue_id=queue) == 25
    assert reading.of("fairline_inside", queue_id=queue, state="admitted") == 25
    assert reading.of("fairline_waiting", queue_id=queue) == 5
    assert reading.of("fairline_promotion_backlog", queue_id=queue) == 0  # there is no capacity
    assert reading.of("fairline_stock_left", queue_id=queue) == 75
    assert reading.of("fairline_wait_seconds_count", queue_id=queue) == 25
    assert reading.of("fairline_keeper_round_seconds_count", round="tick") > 0
    assert reading.of("fairline_keeper_lag_seconds", round="tick") < 5


async def test_refusals_for_coming_too_often_are_counted(crowd: Crowd) -> None:
    before = crowd.reading().of("fairline_rate_limit_hits_total", call=JOIN)
    await crowd.join(crowd.queue("limited", join_limit_per_ip=2), 5)
    assert crowd.reading().of("fairline_rate_limit_hits_total", call=JOIN) == before + 3


# Labels


async def test_strangers_make_no_series(crowd: Crowd) -> None:
    server = crowd.server
    crowd.reading()
    before = crowd.reading()
    async with httpx.AsyncClient(base_url=server.base_url, timeout=20) as client:
        for number in range(50):
            name = f"made-up-{number}"
            await client.post(f"/api/v1/queues/{name}/join")
            await client.get(f"/api/v1/queues/{name}")
            await client.post("/api/v1/heartbeat", headers={"Authorization": f"Bearer {name}"})
            await client.get(f"/{name}")
            await client.request("PROPFIND", f"/{name}")
            await client.get(f"/static/{name}")
    after = crowd.reading()
    assert "made-up" not in str(after.samples)
    assert (
        after.of("fairline_requests_total", call="other", status="404")
        == before.of("fairline_requests_total", call="other", status="404") + 100
    )
    # Meanwhile the first wait of some length may have been compared with what was shown.
    new = {sample for sample in after.samples.keys() - before.samples.keys() if "_estimates_" not in sample[0]}
    assert {name for name, _ in new} <= {"fairline_requests_total"}
    assert len(new) <= 6


async def test_a_removed_queue_has_no_metrics(crowd: Crowd) -> None:
    queue = crowd.queue("removed")
    await crowd.heartbeat(await crowd.join(queue, 5))
    assert queue in crowd.reading().values("queue_id")
    assert crowd.admin.delete(f"/queues/{queue}").status_code == 204
    assert queue not in crowd.reading().values("queue_id")


def test_the_files_are_fresh_at_every_start_and_gone_at_the_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = RunningServer(tmp_path_factory.mktemp("fresh"), workers=1)
    try:
        before = server.metrics_folder()
        assert httpx.post(f"{server.base_url}/api/v1/queues/demo/join").status_code == 201
        server.process.kill()  # it cannot clear anything away
        server.process.wait()
        wait_until(lambda: not server.worker_pids(), "the workers live on")
        assert before.is_dir()
        server.start()
        now = server.metrics_folder()
        assert now.is_dir()
        assert not before.exists()
        reading = Reading(httpx.get(f"{server.base_url}/metrics").text)
        assert reading.of("fairline_requests_total", call=JOIN, status="201") == 0
        assert reading.of("fairline_joined_total", queue_id="demo") == 1
    finally:
        server.stop()
    assert not now.exists()


async def _until(true: Callable[[], bool]) -> None:
    await asyncio.to_thread(wait_until, true, "it never came true")
