"""The loop that tells streams, on a real store that goes away at the worst moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairline.answer import Answer
from fairline.errors import FairlineError, StoreUnavailable
from fairline.queue import QueueId
from fairline.store import Arrival
from fairline.ticket import Action
from tests.backends import HOST
from tests.web.inside import Inside, open_queue, serving, until
from tests.web.sse import EventSource

#: So seldom does anyone hear of anything only because all are told again.
SELDOM: dict[str, Any] = {"heartbeat_interval_seconds": 300, "heartbeat_timeout_seconds": 0}


@pytest.fixture
async def inside(valkey_url: str) -> AsyncIterator[Inside]:
    async with serving(valkey_url) as inside:
        yield inside


@asynccontextmanager
async def watching(inside: Inside, queue: QueueId, number: int) -> AsyncIterator[EventSource]:
    """The stream of a ticket, once everything that there was to tell has been told."""
    answer = await inside.room.status(queue, number)
    token = inside.context.ticket_token(queue, answer.settings, answer.standing)
    stream = EventSource(HOST, inside.port, token)
    try:
        await stream.until(lambda seen: bool(seen.events))
        hub = inside.context.hub
        assert hub is not None
        await until(lambda: queue in hub._kept and not hub._kept[queue].moved)
        yield stream
    finally:
        await stream.close()


def away_once(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The next time somebody is to be told, the store is away; answers who it would have been, once it was so."""
    look, missed = inside.room.look, list[int]()

    async def looked(queue: QueueId, numbers: list[int], *, beat: bool = False) -> list[Answer | FairlineError]:
        if not missed:
            missed.extend(numbers)
            raise StoreUnavailable("away for a moment")
        return await look(queue, numbers, beat=beat)

    monkeypatch.setattr(inside.room, "look", looked)
    return missed


async def test_a_line_that_moved_is_told_when_the_store_is_back(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await open_queue(inside.room, **SELDOM)
    await inside.room.store.join(queue, [Arrival()] * 2)
    async with watching(inside, queue, 2) as stream:
        missed = away_once(inside, monkeypatch)
        await inside.room.act(queue, Action.CANCEL, 1)
        await stream.until(lambda seen: seen.last["position"] == 1)
        assert missed == [2]


async def test_who_is_called_once_more_hears_it_when_the_store_is_back(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await open_queue(inside.room, **SELDOM)
    await inside.room.store.join(queue, [Arrival()])
    await inside.room.call_next(queue, 1)
    async with watching(inside, queue, 1) as stream:
        missed = away_once(inside, monkeypatch)
        await inside.room.act(queue, Action.RECALL, 1)
        await stream.until(lambda seen: bool(seen.of("recalled")))
        assert missed == [1]
