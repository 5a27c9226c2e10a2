"""Streams on the running server: two workers, a real store, real sockets."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.web.crowd import events, everyone, join, make_queue, operator, watching
from tests.web.running import RunningServer
from tests.web.sse import EventSource

#: The benchmark has a thousand and more, and says how soon they receive an event.
WATCHING, LET_IN = 200, 100


async def test_each_of_many_who_watch_hears_once_of_being_let_in_or_of_moving_up(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(
            client,
            "many",
            status="paused",
            admission_rate=500,
            burst=500,
            max_active=LET_IN,
            target_url="https://shop.test/",
        )
        people = await join(client, queue, WATCHING)
        by_ticket = sorted(people, key=lambda who: who["ticket"])
        async with watching(server, by_ticket) as streams:
            assert (await client.patch(f"/api/v1/admin/queues/{queue}", json={"status": "active"})).status_code == 200
            first, rest = streams[:LET_IN], streams[LET_IN:]
            await everyone(first, lambda stream: bool(stream.of("admitted")))
            await everyone(rest, lambda stream: stream.last["position"] == stream.last["ticket"] - LET_IN)

            admitted = [each["ticket"] for each in await events(client, queue) if each["type"] == "admitted"]
            assert sorted(admitted) == list(range(1, LET_IN + 1))
            assert [len(stream.of("admitted")) for stream in first] == [1] * LET_IN
            assert all(stream.of("admitted")[0].data["session_token"] for stream in first)
            assert not any(stream.of("admitted") for stream in rest)


async def test_several_tabs_watch_one_ticket(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "tabs", admission="manual")
        people = await join(client, queue, 2)
        ahead, behind = sorted(people, key=lambda who: who["position"])
        async with watching(server, [behind, behind, behind]) as tabs:
            await client.post(f"/api/v1/admin/queues/{queue}/tickets/{ahead['ticket']}/cancel")
            await everyone(tabs, lambda tab: tab.last["position"] == 1)
            await client.post(f"/api/v1/admin/queues/{queue}/call-next")
            await everyone(tabs, lambda tab: bool(tab.of("admitted")))
            assert [len(tab.of("admitted")) for tab in tabs] == [1, 1, 1]


async def test_an_open_stream_is_a_sign_of_life(server: RunningServer) -> None:
    settings = {"heartbeat_interval_seconds": 1, "heartbeat_timeout_seconds": 1, "grace_seconds": 1}
    async with operator(server) as client:
        queue = await make_queue(client, "alive", admission="manual", **settings)
        silent, watched = await join(client, queue, 2)
        async with watching(server, [watched]) as (stream,):
            await _expires(client, queue, silent["ticket"])
            answer = await client.get(f"/api/v1/admin/queues/{queue}/tickets/{watched['ticket']}")
            assert answer.json()["status"] == "waiting"
            assert stream.open
        await _expires(client, queue, watched["ticket"])


async def test_the_end_of_a_ticket_is_told_and_ends_the_stream(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "ended", admission="manual")
        (who,) = await join(client, queue, 1)
        async with watching(server, [who]) as (stream,):
            await client.post(f"/api/v1/admin/queues/{queue}/revoke", json={"ticket": who["ticket"], "reason": "abuse"})
            await stream.until(lambda s: bool(s.of("expired")))
            assert stream.of("expired")[0].data["reason"] == "revoked"
            # The browser comes back, and learns that the place is gone.
            await stream.until(lambda s: s.statuses[-1] == 410)


async def test_the_operators_message_reaches_everyone_once(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "message", admission="manual")
        people = await join(client, queue, 20)
        async with watching(server, people) as streams:
            await client.post(f"/api/v1/admin/queues/{queue}/message", json={"text": "We open at noon."})
            await everyone(streams, lambda stream: bool(stream.of("message")))
            assert {stream.of("message")[0].data["text"] for stream in streams} == {"We open at noon."}
            ahead = min(people, key=lambda who: who["position"])
            await client.post(f"/api/v1/admin/queues/{queue}/tickets/{ahead['ticket']}/cancel")
            await everyone(streams, lambda stream: stream.events[-1].type in {"position", "expired"})
            assert Counter(len(stream.of("message")) for stream in streams) == {1: 20}


async def test_what_was_told_before_is_not_repeated(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "last-event-id", admission="manual")
        (who,) = await join(client, queue, 1)
        async with watching(server, [who]) as (stream,):
            told = stream.events[-1].id
        headers = {"authorization": f"Bearer {who['token']}", "last-event-id": told}
        async with client.stream("GET", "/api/v1/stream", headers=headers) as answer:
            first = await anext(answer.aiter_text())
            assert first.startswith("retry: ")
            assert "event: position" not in first
        later = EventSource(server.host, server.port, who["token"])
        await later.until(lambda s: bool(s.events))
        assert later.last["position"] == 1
        await later.close()


@pytest.mark.long
async def test_a_restart_under_five_thousand_streams_loses_no_place(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = RunningServer(tmp_path_factory.mktemp("restart"))
    try:
        async with operator(server) as client:
            queue = await make_queue(client, "restart", admission="manual")
            people = await join(client, queue, 5000)
            async with watching(server, people) as streams:
                assert all(stream.open for stream in streams)
                await asyncio.to_thread(server.restart)
                await everyone(streams, lambda stream: stream.connections >= 2 and stream.open, 60)
                stats = (await client.get(f"/api/v1/admin/queues/{queue}/stats")).json()
                assert (stats["waiting"], stats["expired"]) == (5000, 0)
                # Someone in front leaves: everyone behind receives it on the new connection.
                first = min(people, key=lambda who: who["position"])
                await client.post(f"/api/v1/admin/queues/{queue}/tickets/{first['ticket']}/cancel")
                others = [stream for stream in streams if stream.last["ticket"] != first["ticket"]]
                await everyone(others, lambda stream: stream.last["position"] == stream.last["ticket"] - 1, 60)
    finally:
        server.stop()


async def _expires(client: object, queue: str, ticket: int) -> None:
    for _ in range(200):
        answer = await client.get(f"/api/v1/admin/queues/{queue}/tickets/{ticket}")  # type: ignore[attr-defined]
        if answer.json()["status"] == "expired":
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"ticket {ticket} did not expire")
