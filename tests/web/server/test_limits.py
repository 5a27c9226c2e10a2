"""Limits on what a client may send, and deadlines for it, the same on the fast path and by ASGI."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fairline.service.fairline import Fairline
from fairline.web.server import connection_state as limits
from fairline.web.server.http import BODY_LIMIT
from tests.web.inside import Gate, Inside, Moments, open_queue, serving, until
from tests.web.raw import Answer, chunked, connected, request
from tests.web.running import RunningServer
from tests.web.server.joins import BOTH_WAYS, STATUS, WAYS, join_path


def padded(size: int) -> bytes:
    """A good body of `size` bytes."""
    return json.dumps({"client_id": "a client of the test"}).encode().ljust(size)


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.code, answer.closes) == (status, code, True)


#: Longer than a client may take for anything.
LONG = 10 * max(limits.READ_SECONDS, limits.WRITE_SECONDS, limits.IDLE_SECONDS, limits.LINGER_SECONDS)


# Sizes, on the running server


def framed(path: str, body: bytes, framing: str, chunk: int = 1000) -> bytes:
    """A request with this body, of a length it announces or in chunks."""
    if framing == "length":
        return request("POST", path, body)
    return request("POST", path, b"", transfer_encoding="chunked") + chunked(body, chunk)


FRAMINGS = ["length", "chunks"]


async def test_a_body_may_have_16_kib_and_not_a_byte_more(server: RunningServer, service: Fairline) -> None:
    for way, framing in product(WAYS, FRAMINGS):
        queue = await open_queue(service)
        path = way(join_path(queue))
        async with connected(server.port) as raw:
            large, good = framed(path, padded(BODY_LIMIT + 1), framing), framed(path, padded(100), framing)
            await raw.send(large + good)
            refused(await raw.answer(), 413, "body_too_large")
            await raw.ends()
        assert (await service.stats(queue)).totals.joined == 0
        async with connected(server.port) as raw:
            await raw.send(framed(path, padded(BODY_LIMIT), framing))
            assert (await raw.answer()).status == 201


async def test_a_large_body_behind_another_is_refused_in_its_turn(server: RunningServer, service: Fairline) -> None:
    for way, framing in product(WAYS, FRAMINGS):
        async with connected(server.port) as raw:
            path = way(join_path(await open_queue(service)))
            await raw.send(request("POST", path, padded(100)) + framed(path, padded(20_000), framing))
            assert (await raw.answer()).status == 201
            refused(await raw.answer(), 413, "body_too_large")
            await raw.ends()


async def test_who_sends_a_large_body_to_its_end_still_reads_why_not(server: RunningServer) -> None:
    """A connection closed at once would be reset under the client, and the answer lost with it."""
    for way, framing in product(WAYS, FRAMINGS):
        data = framed(way("/api/v1/queues/demo/join"), b"x" * 1_000_000, framing, 50_000)
        for _ in range(3):
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
    "a trailer, by ASGI": (b"POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ", b"x"),
}


async def test_what_has_no_end_is_refused_and_takes_no_memory(server: RunningServer) -> None:
    for kind, (start, more) in ENDLESS.items():
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
        assert memory(server) - before < 4 * 2**20, kind


def memory(server: RunningServer) -> int:
    """What the workers take, in bytes."""
    files = [Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in server.worker_pids()]
    return sum(int(line.split()[1]) * 1024 for lines in files for line in lines if line.startswith("Rss:"))


async def test_headers_may_have_16_kib(server: RunningServer) -> None:
    for way in WAYS:
        for size, status in ((16_000, 401), (16_384, 431)):
            async with connected(server.port) as raw:
                await raw.send(request("GET", way(STATUS), x_fill="x" * size))
                assert (await raw.answer()).status == status
        async with connected(server.port) as raw:
            await raw.send(request("GET", f"{way(STATUS)}?token={'x' * 8000}"))
            assert (await raw.answer()).status == 401


# Deadlines, inside, by a clock of the test's own


@pytest.fixture(scope="module")
async def served(valkey_url: str) -> AsyncIterator[tuple[Inside, Moments]]:
    with pytest.MonkeyPatch.context() as patch:
        moments = Moments(patch)
        async with serving(valkey_url) as inside:
            yield inside, moments


@pytest.fixture
async def inside(served: tuple[Inside, Moments]) -> Inside:
    """Nobody is connected."""
    inside, _ = served
    await until(lambda: not inside.server.server_state.connections)
    return inside


@pytest.fixture
def moments(served: tuple[Inside, Moments]) -> Moments:
    return served[1]


async def test_a_request_that_drips_in_is_refused(inside: Inside, moments: Moments) -> None:
    """Its time ends some seconds after its first byte, however many come in between."""
    for way, before, part in product(WAYS, [0, 1], ["headers", "length", "chunks"]):
        queue = await open_queue(inside.service)
        if part == "chunks":
            head = request("POST", way(join_path(queue)), b"", transfer_encoding="chunked")
            rest = chunked(padded(200), 1)
        else:
            whole = request("POST", way(join_path(queue)), padded(200))
            cut = 5 if part == "headers" else len(whole) - 200
            head, rest = whole[:cut], whole[cut:]
        async with connected(inside.port) as raw:
            if before:
                await raw.send(request("GET", way(STATUS)))
                assert (await raw.answer()).status == 401
                await moments.pass_by(limits.IDLE_SECONDS / 2)
            await until(lambda: inside.connections)
            (connection,) = inside.connections
            await raw.send(head)
            await until(partial(getattr, connection, "_in_request"))
            for at in range(3):
                await moments.pass_by(limits.READ_SECONDS / 4)
                await raw.send(rest[at : at + 1])
            assert connection._in_request, (way, before, part)  # it still has time
            await moments.pass_by(limits.READ_SECONDS / 2)
            refused(await raw.answer(), 408, "request_timeout")
            await raw.ends()
        assert (await inside.service.stats(queue)).totals.joined == 0
        await until(lambda: not inside.connections)
        await until(lambda: not inside.server.server_state.tasks)  # nobody waits for a body that will not come


async def test_a_connection_that_rests_is_closed_after_its_time(inside: Inside, moments: Moments) -> None:
    for way in WAYS:
        async with connected(inside.port) as raw:
            for _ in range(3):  # the rest begins with each request
                await raw.send(request("GET", way(STATUS)))
                assert (await raw.answer()).status == 401
                await moments.pass_by(limits.IDLE_SECONDS * 0.6)
            assert inside.connections
            await moments.pass_by(limits.IDLE_SECONDS * 0.6)
            await raw.ends()


async def test_a_connection_that_never_says_anything_is_closed(inside: Inside, moments: Moments) -> None:
    async with connected(inside.port) as raw:
        await until(lambda: inside.connections)
        await moments.pass_by(limits.READ_SECONDS * 0.9)
        assert inside.connections
        await moments.pass_by(limits.READ_SECONDS * 0.2)
        await raw.ends()


@BOTH_WAYS
async def test_nobody_is_blamed_for_our_own_slowness(
    inside: Inside, moments: Moments, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    """The first waits for the store longer than any deadline; the second, half sent, for the first."""
    gate, queue = Gate(inside.service, monkeypatch), await open_queue(inside.service)
    second = request("POST", way(join_path(queue)), b'{"client_id":"second client"}')
    async with connected(inside.port) as raw:
        await raw.send(request("POST", way(join_path(queue)), b'{"client_id":"first client"}') + second[:-5])
        await gate.reached()
        await moments.pass_by(LONG)
        gate.open()
        assert (await raw.answer()).status == 201
        await moments.pass_by(limits.READ_SECONDS * 0.9)  # its time begins with its turn
        await raw.send(second[-5:])
        assert (await raw.answer()).status == 201


async def test_a_stream_is_not_closed_by_any_of_them(inside: Inside, moments: Moments) -> None:
    queue = await open_queue(inside.service)
    for way in WAYS:
        async with connected(inside.port) as raw:
            await raw.send(request("POST", join_path(queue), b"{}"))
            token = (await raw.answer()).json()["token"]
            await raw.send(request("GET", way("/api/v1/stream"), token=token))
            await raw.reader.readuntil(b"event: position")
            await moments.pass_by(LONG)
            assert inside.streams == 1
            assert not raw.reader.at_eof()
        await until(lambda: not inside.streams)


@pytest.mark.parametrize("path", [STATUS, "/readyz"], ids=["fast", "full"])
async def test_a_client_that_does_not_read_is_not_read_from(inside: Inside, path: str) -> None:
    """However much it asks for at once, little of it waits here; and it is answered once it reads."""
    state = inside.server.server_state
    before = state.total_requests
    numbers = [str(number) for number in range(20_000)]
    async with connected(inside.port, limit=4096) as raw:
        burst = b"".join(request("GET", path, x_request_id=number) for number in numbers)
        sending = asyncio.create_task(raw.send(burst))
        await until(lambda: inside.connections)
        (on_hold,) = inside.connections
        await until(lambda: on_hold.flow.write_paused and on_hold.flow.read_paused)
        assert state.total_requests - before < len(numbers)
        assert len(on_hold.pipeline) < 300
        assert len(on_hold._unparsed) + on_hold.transport.get_write_buffer_size() < 2**19
        for number in numbers[:1000]:
            assert (await raw.answer()).headers["x-request-id"] == number
        assert len(on_hold._unparsed) + on_hold.transport.get_write_buffer_size() < 2**19
        sending.cancel()
        await asyncio.wait([sending])


async def test_a_client_that_never_reads_is_closed(inside: Inside, moments: Moments) -> None:
    for way in WAYS:
        async with connected(inside.port, limit=4096) as raw:
            sending = asyncio.create_task(raw.send(request("GET", way(STATUS)) * 5000))
            await until(lambda: inside.connections and inside.connections[0].flow.write_paused)
            await moments.pass_by(limits.WRITE_SECONDS + 1)
            await until(lambda: not inside.connections)
            with contextlib.suppress(ConnectionError):
                await sending


async def test_a_refused_client_is_not_listened_to_for_ever(inside: Inside, moments: Moments) -> None:
    async with connected(inside.port) as raw:
        await raw.send(b"nonsense\r\n\r\n")
        refused(await raw.answer(), 400, "bad_request")
        await raw.ends()
        for _ in range(3):
            await moments.pass_by(limits.LINGER_SECONDS / 4)
            assert inside.connections  # it may still send, and is not read
            await raw.send(b"nonsense\r\n\r\n")
        await moments.pass_by(limits.LINGER_SECONDS / 2)
        await until(lambda: not inside.connections)
