"""The loop that sends to streams, on a real store that goes away at the worst moment."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from fairline.domain.events import Event
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action
from fairline.errors import FairlineError, StoreUnavailable
from fairline.service.answers import StatusAnswer
from fairline.store import Arrival
from fairline.web.streams import hub, hub_state
from fairline.web.streams.ticket_stream import TicketStream
from tests.backends import HOST
from tests.web.inside import Inside, open_queue, serving, until
from tests.web.sse import EventSource

#: So rarely is the state sent again to everyone whether it has changed or not.
SELDOM: dict[str, Any] = {"heartbeat_interval_seconds": 300, "heartbeat_timeout_seconds": 0}


@pytest.fixture
async def inside(valkey_url: str) -> AsyncIterator[Inside]:
    async with serving(valkey_url) as inside:
        yield inside


@asynccontextmanager
async def watching(inside: Inside, queue: QueueId, number: int) -> AsyncIterator[EventSource]:
    """The stream of a ticket, once everything that there was to send has been sent."""
    answer = await inside.service.status(queue, number)
    token = inside.service.tokens.token(queue, answer.settings, answer.ticket_status, "")
    stream = EventSource(HOST, inside.port, token)
    try:
        await stream.until(lambda seen: bool(seen.events))
        looping = inside.context.hub
        assert looping is not None
        await until(lambda: queue in looping._queues and not looping._queues[queue].moved)
        yield stream
    finally:
        await stream.close()


def away_once(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The next time somebody is to receive something, the store is away; answers who it would
    have been, once it was so."""
    look, missed = inside.service.statuses, list[int]()

    async def looked(queue: QueueId, numbers: list[int]) -> list[StatusAnswer | FairlineError]:
        if not missed:
            missed.extend(numbers)
            raise StoreUnavailable("away for a moment")
        return await look(queue, numbers)

    monkeypatch.setattr(inside.service, "statuses", looked)
    return missed


async def test_a_line_that_moved_is_told_when_the_store_is_back(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await open_queue(inside.service, **SELDOM)
    await inside.service.store.join(queue, [Arrival()] * 2)
    async with watching(inside, queue, 2) as stream:
        missed = away_once(inside, monkeypatch)
        await inside.service.act(queue, Action.CANCEL, 1)
        await stream.until(lambda seen: seen.last["position"] == 1)
        assert missed == [2]


async def test_who_is_called_once_more_hears_it_when_the_store_is_back(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await open_queue(inside.service, **SELDOM)
    await inside.service.store.join(queue, [Arrival()])
    await inside.service.call_next(queue, 1)
    async with watching(inside, queue, 1) as stream:
        missed = away_once(inside, monkeypatch)
        await inside.service.act(queue, Action.RECALL, 1)
        await stream.until(lambda seen: bool(seen.of("recalled")))
        assert missed == [1]


async def test_a_queue_on_a_part_of_the_store_that_hangs_holds_no_other_up(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, other_queue = [await open_queue(inside.service, **SELDOM) for _ in range(2)]
    for each in (queue, other_queue):
        await inside.service.store.join(each, [Arrival()] * 2)
    async with watching(inside, other_queue, 2), watching(inside, queue, 2) as stream:
        events, asked = inside.service.events, asyncio.Event()

        async def hangs(of: QueueId, after: str | None, limit: int) -> list[Event]:
            if of == other_queue:
                asked.set()
                await asyncio.Event().wait()
            return await events(of, after, limit)

        monkeypatch.setattr(inside.service, "events", hangs)
        await asked.wait()
        await inside.service.act(queue, Action.CANCEL, 1)
        await stream.until(lambda seen: seen.last["position"] == 1)


async def test_others_have_a_turn_while_many_streams_are_told(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = await open_queue(inside.service, **SELDOM)
    await inside.service.store.join(queue, [Arrival()] * 9)
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(watching(inside, queue, number)) for number in range(2, 10)]
        turn, told_in, push = 0, list[int](), TicketStream.push

        async def take_turns() -> None:
            nonlocal turn
            while True:
                turn += 1
                await asyncio.sleep(0)

        def noted(watcher: TicketStream, *args: Any, **named: Any) -> bool:
            told_in.append(turn)
            return push(watcher, *args, **named)

        # Writing takes so long that two of them are a whole turn.
        clock = itertools.count(step=hub.TURN_SECONDS / 2)
        monkeypatch.setattr(hub, "monotonic", clock.__next__)
        monkeypatch.setattr(TicketStream, "push", noted)
        others = asyncio.create_task(take_turns())
        await inside.service.act(queue, Action.CANCEL, 1)
        for position, stream in enumerate(streams, 1):
            await stream.until(lambda seen, position=position: seen.last["position"] == position)
        others.cancel()
    in_each = [len(list(together)) for _, together in itertools.groupby(told_in[:8])]
    assert in_each == [2, 2, 2, 2]


async def test_streams_hear_that_the_store_is_away_or_hangs_and_when_it_is_back(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "ALIVE_SECONDS", 0.05)
    monkeypatch.setattr(hub, "AWAY_SECONDS", 0.1)
    queue = await open_queue(inside.service, **SELDOM)
    await inside.service.store.join(queue, [Arrival()])
    async with watching(inside, queue, 1) as stream:

        async def away(*_: object) -> list[Event]:
            raise StoreUnavailable("away for long")

        async def hangs(*_: object) -> list[Event]:
            await over.wait()
            raise StoreUnavailable("away at last")

        events, over = inside.service.events, asyncio.Event()
        await stream.until(lambda seen: seen.alive > 0)
        for trouble in (away, hangs):
            monkeypatch.setattr(inside.service, "events", trouble)
            told = stream.away
            await stream.until(lambda seen, told=told: seen.away > told)
            kept_alive, alive = stream.kept_alive, stream.alive
            if trouble is away:
                await stream.until(lambda seen, kept_alive=kept_alive: seen.kept_alive > kept_alive + 3)
            assert stream.alive == alive, "it is not up to date meanwhile"
            monkeypatch.setattr(inside.service, "events", events)
            over.set()
            await stream.until(lambda seen, alive=alive: seen.alive > alive)


async def test_an_open_stream_hears_until_when_its_place_is_kept(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "ALIVE_SECONDS", 0.05)
    queue = await open_queue(inside.service, heartbeat_interval_seconds=1)
    await inside.service.store.join(queue, [Arrival()])
    async with watching(inside, queue, 1) as stream:
        first = datetime.fromisoformat(stream.last["held_until"])
        await stream.until(
            lambda seen: "held_until" in seen.news and datetime.fromisoformat(seen.news["held_until"]) > first
        )
        promised = datetime.fromisoformat(stream.news["held_until"]).timestamp() * 1000

        async def is_kept_so_long() -> bool:
            deadline = (await inside.service.status(queue, 1)).ticket_status.deadline
            return deadline is not None and deadline >= promised

        await until(is_kept_so_long)


async def test_a_shorter_patience_does_not_end_the_place_of_an_open_stream(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "ALIVE_SECONDS", 0.05)
    service = inside.service
    queue = await open_queue(service, heartbeat_interval_seconds=60, heartbeat_timeout_seconds=120)
    await service.store.join(queue, [Arrival()])
    async with watching(inside, queue, 1) as stream:
        await service.configure(queue, {"heartbeat_interval_seconds": 1, "heartbeat_timeout_seconds": 2})
        await stream.until(lambda seen: seen.last["heartbeat_interval_seconds"] == 1)
        settled = (await service.snapshot(queue))[0].now

        def beats_by_what_is_set(seen: EventSource) -> bool:
            return settled < datetime.fromisoformat(seen.news["held_until"]).timestamp() * 1000 < settled + 60_000

        await stream.until(beats_by_what_is_set)


@pytest.mark.parametrize("grace", [2, 6])
async def test_a_page_that_is_closed_takes_nothing_from_the_one_that_stays_open(inside: Inside, grace: float) -> None:
    queue = await open_queue(
        inside.service, heartbeat_interval_seconds=60, heartbeat_timeout_seconds=120, grace_seconds=grace
    )
    await inside.service.store.join(queue, [Arrival()])
    async with watching(inside, queue, 1):
        assert (await inside.service.unload(queue, 1)).ticket_status.leaving

        async def is_back() -> bool:
            return not (await inside.service.status(queue, 1)).ticket_status.leaving

        await until(is_back)
    settings = (await inside.service.settings(queue)).settings
    assert hub_state.until_next_heartbeat(settings) + hub_state.until_return(settings) + 2 * hub.POLL_SECONDS < grace


async def test_a_stream_that_ends_a_moment_after_its_page_was_closed_brings_nobody_back(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's last word comes to one worker, the end of its stream to another, which may just be giving heartbeats
    to all streams."""
    queue = await open_queue(inside.service, heartbeat_interval_seconds=1, heartbeat_timeout_seconds=120)
    await inside.service.store.join(queue, [Arrival()] * 2)
    heartbeats, closed = inside.service.stream_heartbeats, False

    async def give(of: QueueId, numbers: list[int], *, still_open: bool = False) -> list[StatusAnswer | FairlineError]:
        nonlocal closed
        if 1 in numbers and not closed:
            closed = (await inside.service.unload(queue, 1)).ticket_status.leaving
        return await heartbeats(of, numbers, still_open=still_open)

    async with watching(inside, queue, 2):
        assert inside.context.hub is not None
        state = inside.context.hub._queues[queue]
        async with watching(inside, queue, 1):
            monkeypatch.setattr(hub, "until_return", lambda _: math.inf)  # until the stream has ended, however long
            monkeypatch.setattr(inside.service, "stream_heartbeats", give)
            await until(lambda: state.leaving == {1})
        await until(lambda: inside.context.hub.open_streams == 1)  # type: ignore[union-attr]
        monkeypatch.undo()
        state.return_at = 0.0
        await until(lambda: not state.leaving)
        assert (await inside.service.status(queue, 1)).ticket_status.leaving


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"status": "paused"}, "queue_status", "paused"),
        ({"status": "maintenance"}, "queue_status", "maintenance"),
        ({"heartbeat_interval_seconds": 20}, "heartbeat_interval_seconds", 20),
    ],
)
async def test_changed_settings_reach_people_who_do_not_move(
    inside: Inside, change: dict[str, Any], field: str, told: object
) -> None:
    queue = await open_queue(inside.service, status="paused" if change.get("status") == "maintenance" else "active")
    await inside.service.store.join(queue, [Arrival()])
    async with watching(inside, queue, 1) as stream:
        await inside.service.configure(queue, change)
        await stream.until(lambda seen: seen.last[field] == told)


async def test_who_is_prioritised_without_moving_is_told(inside: Inside) -> None:
    queue = await open_queue(inside.service)
    await inside.service.store.join(queue, [Arrival()])
    async with watching(inside, queue, 1) as stream:
        await inside.service.prioritise(queue, 1, 2)
        await stream.until(lambda seen: seen.last["priority"] == 2)
