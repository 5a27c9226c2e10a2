"""Limits on what a client may send, and deadlines for it, the same on both lanes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fairline.web import connection as limits
from fairline.web import worker
from fairline.web.http import BODY_LIMIT
from tests.web.inside import Gate, Inside, open_queue, room_of, serving, until
from tests.web.lane.joins import BOTH_LANES, STATUS, join_path
from tests.web.raw import Answer, Raw, chunked, connected, request
from tests.web.running import RunningServer


def padded(size: int) -> bytes:
    """A good body of so many bytes."""
    return json.dumps({"client_id": "a client of ours"}).encode().ljust(size)


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.code, answer.closes) == (status, code, True)


# Sizes, on the running server


@BOTH_LANES
@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_a_body_may_have_16_kib_and_not_a_byte_more(server: RunningServer, lane: Any, framing: str) -> None:
    async with room_of(server) as room:
        queue = await open_queue(room)

        def join(size: int) -> bytes:
            if framing == "length":
                return request("POST", lane(join_path(queue)), padded(size))
            head = request("POST", lane(join_path(queue)), b"", transfer_encoding="chunked")
            return head + chunked(padded(size), 1000)

        async with connected(server.port) as raw:
            await raw.send(join(BODY_LIMIT + 1) + join(100))
            refused(await raw.answer(), 413, "body_too_large")
            await raw.ends()
        assert (await room.stats(queue)).totals.joined == 0
        async with connected(server.port) as raw:
            await raw.send(join(BODY_LIMIT))
            assert (await raw.answer()).status == 201


@BOTH_LANES
@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_a_large_body_behind_another_is_refused_in_its_turn(
    server: RunningServer, lane: Any, framing: str
) -> None:
    async with room_of(server) as room, connected(server.port) as raw:
        path = lane(join_path(await open_queue(room)))
        if framing == "length":
            large = request("POST", path, padded(20_000))
        else:
            large = request("POST", path, b"", transfer_encoding="chunked") + chunked(padded(20_000), 1000)
        await raw.send(request("POST", path, padded(100)) + large)
        assert (await raw.answer()).status == 201
        refused(await raw.answer(), 413, "body_too_large")
        await raw.ends()


@BOTH_LANES
@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_who_sends_a_large_body_to_its_end_still_reads_why_not(
    server: RunningServer, lane: Any, framing: str
) -> None:
    """A connection closed at once would be reset under the client, and the answer lost with it."""
    path, body = lane("/api/v1/queues/demo/join"), b"x" * 3_000_000
    if framing == "length":
        data = request("POST", path, body)
    else:
        data = request("POST", path, b"", transfer_encoding="chunked") + chunked(body, 50_000)
    for _ in range(5):
        async with connected(server.port) as raw:
            await raw.send(data)
            refused(await raw.answer(), 413, "body_too_large")
            await raw.ends()


ENDLESS = {
    "an address": (b"GET /", b"x"),
    "a query": (b"GET /api/v1/status?token=", b"x"),
    "a header": (b"GET /api/v1/status HTTP/1.1\r\nhost: x\r\nx: ", b"x"),
    "the name of a header": (b"GET /api/v1/status HTTP/1.1\r\nhost: x\r\n", b"x"),
    "headers": (b"GET /api/v1/status HTTP/1.1\r\nhost: x\r\n", b"a: b\r\n"),
    "empty lines": (b"", b"\r\n"),
    "a trailer": (b"POST /api/v1/heartbeat HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ", b"x"),
    "trailers": (b"POST /api/v1/heartbeat HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
    "a chunk's extension": (
        b"POST /api/v1/heartbeat HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;",
        b"x",
    ),
    "a trailer, full lane": (b"POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ", b"x"),
}


@pytest.mark.parametrize(("start", "more"), ENDLESS.values(), ids=ENDLESS)
async def test_what_has_no_end_is_refused_and_takes_no_memory(server: RunningServer, start: bytes, more: bytes) -> None:
    before = memory(server)
    async with connected(server.port) as raw:
        await raw.send(start)
        with contextlib.suppress(ConnectionError):  # the server stops listening at some point
            for _megabyte in range(16):
                await raw.send(more * (2**20 // len(more)))
        answer = await raw.answer()
        if answer.status != 404 or not start.startswith(b"POST /nowhere"):  # which may be answered before its end
            refused(answer, 431, "headers_too_large")
        await raw.ends()
    assert memory(server) - before < 4 * 2**20


def memory(server: RunningServer) -> int:
    """What the workers take, in bytes."""
    files = [Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in server.worker_pids()]
    return sum(int(line.split()[1]) * 1024 for lines in files for line in lines if line.startswith("Rss:"))


@BOTH_LANES
async def test_headers_may_have_16_kib(server: RunningServer, lane: Any) -> None:
    for size, status in ((16_000, 401), (16_384, 431)):
        async with connected(server.port) as raw:
            await raw.send(request("GET", lane(STATUS), x_fill="x" * size))
            assert (await raw.answer()).status == status
    async with connected(server.port) as raw:
        await raw.send(request("GET", f"{lane(STATUS)}?fill={'x' * 8000}"))
        assert (await raw.answer()).status == 401


# Deadlines, inside, where they are short


@pytest.fixture
async def inside(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Inside]:
    monkeypatch.setattr(worker, "REAP_SECONDS", 0.02)
    async with serving(valkey_url) as inside:
        yield inside


@pytest.fixture
async def raw(inside: Inside) -> AsyncIterator[Raw]:
    async with connected(inside.port) as raw:
        yield raw


async def drip(raw: Raw, data: bytes) -> None:
    """Send a byte at a time, slowly, until the server has had enough."""
    with contextlib.suppress(ConnectionError):
        for at in range(len(data)):
            await raw.send(data[at : at + 1])
            await asyncio.sleep(0.02)


@BOTH_LANES
@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize("part", ["headers", "length", "chunks"])
async def test_a_request_that_drips_in_is_refused(
    inside: Inside, raw: Raw, monkeypatch: pytest.MonkeyPatch, lane: Any, before: int, part: str
) -> None:
    monkeypatch.setattr(limits, "READ_SECONDS", 0.3)
    queue = await open_queue(inside.room)
    if before:
        await raw.send(request("GET", lane(STATUS)))
        assert (await raw.answer()).status == 401
    if part == "chunks":
        head, rest = request("POST", lane(join_path(queue)), b"", transfer_encoding="chunked"), chunked(padded(200), 1)
    else:
        whole = request("POST", lane(join_path(queue)), padded(200))
        cut = 5 if part == "headers" else len(whole) - 200
        head, rest = whole[:cut], whole[cut:]
    await raw.send(head)
    dripping = asyncio.create_task(drip(raw, rest))
    refused(await raw.answer(), 408, "request_timeout")
    await raw.ends()
    dripping.cancel()
    await asyncio.gather(dripping, return_exceptions=True)  # it may have met a closed connection
    assert (await inside.room.stats(queue)).totals.joined == 0
    await until(lambda: not inside.server.server_state.tasks)  # nobody waits for a body that will not come


@BOTH_LANES
async def test_a_connection_that_rests_is_closed_after_its_time(
    inside: Inside, raw: Raw, monkeypatch: pytest.MonkeyPatch, lane: Any
) -> None:
    loop = asyncio.get_running_loop()
    since = 0.0
    for _ in range(3):  # each request begins the rest anew
        await raw.send(request("GET", lane(STATUS)))
        assert (await raw.answer()).status == 401
        monkeypatch.setattr(limits, "READ_SECONDS", 0.05)
        monkeypatch.setattr(limits, "IDLE_SECONDS", 0.7)
        since = loop.time()
        await asyncio.sleep(0.3)
    await raw.ends()
    assert 0.6 < loop.time() - since < 5


async def test_a_connection_that_never_says_anything_is_closed(
    inside: Inside, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "READ_SECONDS", 0.1)
    await raw.ends()


@BOTH_LANES
async def test_nobody_is_blamed_for_our_own_slowness(
    inside: Inside, raw: Raw, monkeypatch: pytest.MonkeyPatch, lane: Any
) -> None:
    """The first waits for the store longer than any deadline; the second, half sent, for the first."""
    gate, queue = Gate(inside.room, monkeypatch), await open_queue(inside.room)
    second = request("POST", lane(join_path(queue)), b'{"client_id":"second client"}')
    await raw.send(request("POST", lane(join_path(queue)), b'{"client_id":"first client"}') + second[:-5])
    await gate.reached()
    monkeypatch.setattr(limits, "READ_SECONDS", 0.6)
    monkeypatch.setattr(limits, "IDLE_SECONDS", 0.6)
    await asyncio.sleep(0.8)
    gate.open()
    assert (await raw.answer()).status == 201
    await asyncio.sleep(0.15)  # its time begins with its turn
    await raw.send(second[-5:])
    assert (await raw.answer()).status == 201


@BOTH_LANES
async def test_a_stream_is_not_closed_by_any_of_them(
    inside: Inside, raw: Raw, monkeypatch: pytest.MonkeyPatch, lane: Any
) -> None:
    queue = await open_queue(inside.room)
    await raw.send(request("POST", join_path(queue), b"{}"))
    token = (await raw.answer()).json()["token"]
    await raw.send(request("GET", lane("/api/v1/stream"), token=token))
    await raw.reader.readuntil(b"event: position")
    for name in ("READ_SECONDS", "IDLE_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(limits, name, 0.1)
    await asyncio.sleep(0.4)
    assert inside.streams == 1
    assert not raw.reader.at_eof()


@pytest.mark.parametrize("path", [STATUS, "/readyz"], ids=["fast", "full"])
async def test_a_client_that_does_not_read_is_not_read_from(inside: Inside, path: str) -> None:
    """However much it asks for at once, little of it waits here; and it is answered once it reads."""
    numbers = [str(number) for number in range(40_000)]
    async with connected(inside.port, room=4096) as raw:
        burst = b"".join(request("GET", path, x_request_id=number) for number in numbers)
        sending = asyncio.create_task(raw.send(burst))
        await no_more_answers(inside)
        (held,) = inside.lanes
        assert inside.server.server_state.total_requests < len(numbers)
        assert held.flow.read_paused
        assert len(held.pipeline) < 300
        assert len(held._held) + held.transport.get_write_buffer_size() < 2**19
        for number in numbers[:1000]:
            assert (await raw.answer()).headers["x-request-id"] == number
        assert len(held._held) + held.transport.get_write_buffer_size() < 2**19
        sending.cancel()
        await asyncio.wait([sending])


async def no_more_answers(inside: Inside) -> None:
    """The server has answered something, and answers nothing more."""
    state, before = inside.server.server_state, 0
    while not state.total_requests or state.total_requests != before:
        before = state.total_requests
        await asyncio.sleep(0.1)


@BOTH_LANES
async def test_a_client_that_never_reads_is_closed(inside: Inside, monkeypatch: pytest.MonkeyPatch, lane: Any) -> None:
    monkeypatch.setattr(limits, "WRITE_SECONDS", 0.2)
    async with connected(inside.port, room=4096) as raw:
        sending = asyncio.create_task(raw.send(request("GET", lane(STATUS)) * 5000))
        await until(lambda: inside.lanes)
        await until(lambda: not inside.lanes)
        with contextlib.suppress(ConnectionError):
            await sending


async def test_a_refused_client_is_not_listened_to_for_ever(
    inside: Inside, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LINGER_SECONDS", 0.5)
    await raw.send(b"nonsense\r\n\r\n")
    refused(await raw.answer(), 400, "bad_request")
    await raw.ends()
    assert inside.lanes  # it may still send, and is not looked at
    await drip(raw, b"nonsense\r\n\r\n" * 10)
    await until(lambda: not inside.lanes)
