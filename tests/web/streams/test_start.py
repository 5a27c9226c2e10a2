"""The streams of people who wait for a start: they count down by the server's clock, and have their places at it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.web.crowd import everyone, join, make_queue, operator, watching
from tests.web.running import RunningServer
from tests.web.sse import EventSource

PEOPLE = 40
#: How soon after the start everyone has a place, on a machine that has much else to do.
SOON = timedelta(seconds=5)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


async def in_prequeue(client: httpx.AsyncClient, name: str) -> tuple[str, str]:
    """A queue whose pre-queue has opened, and the address of the opening."""
    queue = await make_queue(client, name, admission="manual", status="maintenance", heartbeat_interval_seconds=1)
    path = f"/api/v1/admin/queues/{queue}/openings"
    fields = {"prequeue_at": in_seconds(0.5), "starts_at": in_seconds(3600), "draw": "random"}
    opening = (await client.post(path, json=fields)).raise_for_status().json()
    phase = ""
    while phase != "prequeue":
        phase = (await client.get(f"/api/v1/queues/{queue}")).json()["phase"]
    return queue, f"{path}/{opening['id']}"


def now_of(news: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(news["now"])


async def test_everyone_with_a_page_open_has_a_place_soon_after_the_start(server: RunningServer) -> None:
    async with operator(server) as client:
        queue, opening = await in_prequeue(client, "at-start")
        people = await join(client, queue, PEOPLE)
        async with watching(server, people) as streams:
            assert {(each.last["phase"], each.last["position"]) for each in streams} == {("prequeue", None)}
            changed = await client.patch(opening, json={"starts_at": in_seconds(3)})
            starts = changed.raise_for_status().json()["starts_at"]
            await everyone(streams, lambda stream: stream.last.get("starts_at") == starts)
            await everyone(streams, lambda stream: stream.last["position"] is not None)
            after = datetime.now(UTC) - datetime.fromisoformat(starts)
            assert timedelta(0) <= after < SOON
            assert sorted(each.last["position"] for each in streams) == list(range(1, PEOPLE + 1))
            assert all(each.last["draw"]["rank"] == each.last["position"] for each in streams)
            assert not any("starts_at" in each.last or "now" in each.last for each in streams)


async def test_a_stream_before_a_start_has_the_time_of_the_server(server: RunningServer) -> None:
    async with operator(server) as client:
        queue, _ = await in_prequeue(client, "time-of")
        people = await join(client, queue, 1)
        async with watching(server, people) as (stream,):
            assert abs(datetime.now(UTC) - now_of(stream.last)) < SOON

            def is_told(it: EventSource) -> bool:
                return "now" in it.news and abs(datetime.now(UTC) - now_of(it.news)) < timedelta(seconds=1)

            await stream.until(is_told)
        ordinary = await make_queue(client, "no-time", admission="manual")
        async with watching(server, await join(client, ordinary, 1)) as (stream,):
            await stream.until(lambda it: it.news)
            assert "now" not in stream.news
            assert "now" not in stream.last
