"""Answers that come together are made first and written then, and none is lost or out of order by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairline.web.server.write_together import PendingWrites
from tests.web.inside import Inside, open_queue, serving, until
from tests.web.raw import connected, request
from tests.web.server.joins import join_path

TOGETHER = 5


class Line(asyncio.Transport):
    """Stands for the connection to a client; `written` is what all of them were sent, in order."""

    def __init__(self, written: list[bytes], *, closing: bool = False, broken: bool = False) -> None:
        super().__init__()
        self._written, self._closing, self._broken = written, closing, broken

    def write(self, data: Any) -> None:
        if self._broken:
            raise RuntimeError("this one is broken")
        self._written.append(bytes(data))

    def is_closing(self) -> bool:
        return self._closing


@pytest.fixture
async def inside(valkey_url: str) -> AsyncIterator[Inside]:
    async with serving(valkey_url) as inside:
        yield inside


async def test_everything_is_written_in_order_before_anything_new_is_done() -> None:
    written: list[bytes] = []
    pending_writes = PendingWrites()
    for number in range(3):
        pending_writes.add(Line(written), b"%d" % number)
    asyncio.get_running_loop().call_soon(written.append, b"next")
    assert written == []
    await asyncio.sleep(0)
    assert written == [b"0", b"1", b"2", b"next"]
    pending_writes.add(Line(written), b"again")
    await asyncio.sleep(0)
    assert written[-1] == b"again"


async def test_who_cannot_be_written_to_holds_up_nobody() -> None:
    written: list[bytes] = []
    pending_writes = PendingWrites()
    for line in (Line(written, broken=True), Line(written, closing=True), Line(written)):
        pending_writes.add(line, b"answer")
    pending_writes.flush()
    assert written == [b"answer"]
    await asyncio.sleep(0)
    assert written == [b"answer"]


async def test_all_answers_of_a_batch_are_made_before_the_first_is_written(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, made, flushed = await open_queue(inside.service), 0, []
    add, flush = PendingWrites.add, PendingWrites.flush

    def adds(self: PendingWrites, transport: asyncio.Transport, data: bytes) -> None:
        nonlocal made
        made += 1
        add(self, transport, data)

    def flushes(self: PendingWrites) -> None:
        if self.ready:
            flushed.append(made)
        flush(self)

    async def someone(who: int) -> int:
        async with connected(inside.port) as raw:
            connections.release()
            await everyone.wait()
            await raw.send(request("POST", join_path(queue), b'{"client_id":"someone-%d"}' % who))
            return (await raw.answer()).status

    connections, everyone = asyncio.Semaphore(0), asyncio.Event()
    people = [asyncio.ensure_future(someone(who)) for who in range(TOGETHER)]
    for _ in people:
        await connections.acquire()
    await until(lambda: len(inside.connections) == TOGETHER)
    monkeypatch.setattr(PendingWrites, "add", adds)
    monkeypatch.setattr(PendingWrites, "flush", flushes)
    everyone.set()
    assert await asyncio.gather(*people) == [201] * TOGETHER
    assert made == TOGETHER
    assert len(flushed) < TOGETHER


async def test_an_answer_that_is_not_written_yet_is_not_lost_when_the_server_ends(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, add = await open_queue(inside.service), PendingWrites.add

    def end_all() -> None:
        for way in inside.connections:
            way.shutdown()

    def ends_then_adds(self: PendingWrites, transport: asyncio.Transport, data: bytes) -> None:
        asyncio.get_running_loop().call_soon(end_all)  # just before what is added is written
        add(self, transport, data)

    monkeypatch.setattr(PendingWrites, "add", ends_then_adds)
    async with connected(inside.port) as raw:
        await raw.send(request("POST", join_path(queue), b"{}"))
        assert (await raw.answer()).status == 201


def comes(transport: asyncio.Transport, said: bytes) -> None:
    """More comes from a client, or with nothing its end."""
    way: Any = transport.get_protocol()
    if said:
        way.data_received(said)
    elif not way.eof_received():
        transport.close()


@pytest.mark.parametrize(
    ("said", "statuses"),
    [
        pytest.param(request("GET", "/api/v1/status", token="made up"), [201, 401], id="a bad token"),
        pytest.param(request("GET", "/healthz"), [201, 200], id="a call of the ASGI application"),
        pytest.param(b"no request\r\n\r\n", [201, 400], id="no request"),
        pytest.param(b"", [201], id="the end"),
    ],
)
async def test_what_is_said_before_an_answer_is_written_is_answered_after_it(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, said: bytes, statuses: list[int]
) -> None:
    queue, add = await open_queue(inside.service), PendingWrites.add

    def says_more_then_adds(self: PendingWrites, transport: asyncio.Transport, data: bytes) -> None:
        # As uvloop does, which looks for something new to read before it goes on with what is to be done.
        monkeypatch.undo()
        asyncio.get_running_loop().call_soon(comes, transport, said)
        add(self, transport, data)

    monkeypatch.setattr(PendingWrites, "add", says_more_then_adds)
    async with connected(inside.port) as raw:
        await raw.send(request("POST", join_path(queue), b"{}"))
        assert [(await raw.answer()).status for _ in statuses] == statuses
