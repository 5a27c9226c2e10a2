"""Connections that end early: by the client, between request and answer; or by the server, which ends in order."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import secrets
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairline.domain.queue import QueueId
from fairline.process import worker
from fairline.web.server import connection_state as limits
from fairline.web.server.fast_cycle import FastCycle
from tests.backends import HOST
from tests.web.inside import Gate, Inside, open_queue, service_of, serving, serving_on_uvloop, until
from tests.web.raw import Raw, connected, request, slow
from tests.web.running import RunningServer
from tests.web.server.joins import BOTH_WAYS, asked_join, join, joined

BOTH_ENDS = pytest.mark.parametrize("go", [Raw.close, Raw.reset], ids=["FIN", "RST"])


@pytest.fixture
def no_complaints(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged above information."""
    with capture_logs() as logs:
        yield
    assert not [entry for entry in logs if entry["log_level"] != "info"]
    records = [record for when in ("setup", "call", "teardown") for record in caplog.get_records(when)]
    assert not [record for record in records if record.levelno >= logging.WARNING]


@pytest.fixture
async def inside(valkey_url: str, no_complaints: None) -> AsyncIterator[Inside]:
    async with serving(valkey_url) as inside:
        yield inside


@pytest.fixture
async def raw(inside: Inside) -> AsyncIterator[Raw]:
    async with connected(inside.port) as raw:
        yield raw


@pytest.fixture
async def queue(inside: Inside) -> QueueId:
    return await open_queue(inside.service)


async def token(raw: Raw, queue: QueueId) -> str:
    return str((await asked_join(raw, queue))["token"])


async def joined_once_all_are_gone(inside: Inside, queue: QueueId) -> int:
    """How many have joined once no connection is left and all that was under way is done."""
    await until(lambda: not inside.connections)
    await inside.service.close()
    return await joined(inside.service, queue)


# The client goes


@BOTH_WAYS
@BOTH_ENDS
async def test_a_join_whose_client_is_gone_is_done_once(
    inside: Inside, raw: Raw, queue: QueueId, monkeypatch: pytest.MonkeyPatch, way: Any, go: Any
) -> None:
    gate = Gate(inside.service, monkeypatch)
    await raw.send(join(queue, way))
    await gate.reached()
    await go(raw)
    if go is Raw.reset:
        await until(lambda: not inside.connections)
    gate.open()
    assert await joined_once_all_are_gone(inside, queue) == 1


@BOTH_WAYS
@BOTH_ENDS
@pytest.mark.parametrize("sent", [b"", b"{}"], ids=["nothing", "half"])
async def test_half_a_body_is_none(inside: Inside, raw: Raw, queue: QueueId, way: Any, go: Any, sent: bytes) -> None:
    """What came of it would do as a body, but there was to be more."""
    path = way(f"/api/v1/queues/{queue}/join")
    await raw.send(request("POST", path, b"").replace(b"length: 0", b"length: 100") + sent)
    await until(lambda: inside.connections and inside.connections[0].receiving)
    await go(raw)
    assert await joined_once_all_are_gone(inside, queue) == 0


@BOTH_WAYS
async def test_what_waits_behind_a_lost_request_is_not_done(
    inside: Inside, raw: Raw, queue: QueueId, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    gate = Gate(inside.service, monkeypatch)
    await raw.send(join(queue, way) + (join(queue) + join(queue, slow)) * 10)
    await gate.reached()
    await raw.reset()
    # Nothing is read while others wait, so the loss is noticed by the answer.
    gate.open()
    assert await joined_once_all_are_gone(inside, queue) == 1


@BOTH_WAYS
async def test_a_client_that_goes_in_a_burst_leaves_no_trace(
    inside: Inside, raw: Raw, queue: QueueId, way: Any
) -> None:
    await raw.send((join(queue, way) + join(queue) + join(queue, slow)) * 10)
    assert (await raw.answer()).status == 201
    await raw.close()
    assert 1 <= await joined_once_all_are_gone(inside, queue) <= 30


@BOTH_ENDS
async def test_a_hundred_who_go_at_once_are_joined_once_each(server: RunningServer, go: Any) -> None:
    async with service_of(server) as service:
        queue = await open_queue(service)

        async def one(number: int) -> None:
            async with connected(server.port) as raw:
                await raw.send(join(queue, slow if number % 2 else str))
                await go(raw)

        for start in range(0, 100, 20):
            await asyncio.gather(*map(one, range(start, start + 20)))

        async def all_of_them() -> bool:
            return await joined(service, queue) == 100

        await until(all_of_them)
        async with connected(server.port) as raw:
            await raw.send(join(queue))
            assert (await raw.answer()).json()["ticket"] == 101
    assert not server.logs("http.failed")
    assert "Traceback" not in (server.data.parent / "server.log").read_text()


async def test_nobody_who_misbehaves_leaves_a_trace(
    valkey_url: str, no_complaints: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three hundred clients that go, fall silent, or do not read, at any point, on the loop that workers have."""
    monkeypatch.setattr(worker, "REAP_SECONDS", 0.02)
    for name in ("READ_SECONDS", "WRITE_SECONDS", "LINGER_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(limits, name, 0.3)
    rng = random.Random(7)
    queue = QueueId(f"q-{secrets.token_hex(6)}")
    kinds = [
        join(queue),
        join(queue, slow),
        request("GET", "/api/v1/status"),
        request("GET", "/readyz"),
        request("POST", slow("/api/v1/heartbeat"), b" " * 9000),
        request("POST", "/nowhere", b" " * 20_000),
        b"nonsense\r\n\r\n",
    ]

    async def misbehave(port: int) -> None:
        data = b"".join(rng.choices(kinds, k=rng.choice([1, 2, 5, 100])))
        cut, then = rng.randrange(len(data) + 1), rng.randrange(5)
        async with connected(port, limit=4096) as raw:
            sending = asyncio.create_task(raw.send(data[: rng.choice([cut, len(data)])]))
            await asyncio.wait([sending], timeout=rng.choice([0, 0.01]))
            match then:
                case 0:
                    await raw.reset()
                case 1:
                    raw.half_close()
                    await raw.over()
                case 2:
                    await raw.over()  # silent, until it is closed
                case 3:
                    await asyncio.sleep(0.5)  # does not read
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)  # it may well have met a closed connection

    with serving_on_uvloop(valkey_url) as inside:
        for _ in range(6):
            async with asyncio.timeout(20):
                await asyncio.gather(*(misbehave(inside.port) for _ in range(50)))
        await until(lambda: not inside.server.server_state.connections)
        await until(lambda: not inside.server.server_state.tasks)
        async with connected(inside.port) as raw:
            await raw.send(request("GET", "/healthz"))
            assert (await raw.answer()).status == 200


async def test_what_a_refused_client_goes_on_to_say_is_not_done(inside: Inside, raw: Raw, queue: QueueId) -> None:
    """Not even if it is what it said before, and would be taken at once."""
    assert "ticket" in await asked_join(raw, queue)
    for _ in range(5):
        await raw.send(b"\r\n" * 2048)  # the parser waits for a request, and counts none of it
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (431, "headers_too_large", True)
    await raw.send(join(queue))
    assert await joined_once_all_are_gone(inside, queue) == 1


async def test_an_answered_request_is_let_go_at_once(inside: Inside, raw: Raw, queue: QueueId) -> None:
    """A new client is remembered once it has its answer; nothing of it waits for a collection."""
    gc.collect()  # what tests before this one left
    gc.disable()
    try:
        for number in range(20):
            await raw.send(join(queue, x_request_id=f"new-{number}"))
            assert (await raw.answer()).status == 201
        kept = [each for each in gc.get_objects() if type(each) is FastCycle]
        assert len(kept) <= 1  # the last one may still be on its way
    finally:
        gc.enable()


@BOTH_WAYS
async def test_a_client_that_never_read_leaves_no_trace(
    valkey_url: str, no_complaints: None, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    """Wherever in an answer it got stuck."""
    monkeypatch.setattr(worker, "REAP_SECONDS", 0.02)
    monkeypatch.setattr(limits, "WRITE_SECONDS", 0.1)

    with serving_on_uvloop(valkey_url) as inside:
        for fill in range(1, 60, 12):
            async with connected(inside.port, limit=4096) as raw:
                burst = request("GET", way("/api/v1/status"), x_request_id="x" * fill) * 3000
                sending = asyncio.create_task(raw.send(burst))
                await until(lambda: inside.connections)
                await until(lambda: not inside.connections)
                await asyncio.gather(sending, return_exceptions=True)  # it met a closed connection
        await until(lambda: not inside.server.server_state.tasks)


# The client has said all it had to say


@BOTH_WAYS
async def test_a_half_closed_client_gets_its_answers(
    inside: Inside, raw: Raw, queue: QueueId, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    gate = Gate(inside.service, monkeypatch)
    await raw.send(join(queue, way) * 2 + join(queue) + join(queue, slow))
    raw.half_close()
    await gate.reached()
    await until(lambda: inside.connections[0]._eof or inside.connections[0].flow.read_paused)
    gate.open()
    assert [answer.status for answer in await raw.answers(4)] == [201, 200, 201, 201]
    await raw.ends()
    await until(lambda: not inside.connections)


@BOTH_WAYS
async def test_a_half_closed_client_is_answered_what_it_sent_whole(
    inside: Inside, raw: Raw, queue: QueueId, way: Any
) -> None:
    await raw.send(join(queue, way) + join(queue, way)[:-5])
    raw.half_close()
    assert (await raw.answer()).status == 201
    await raw.ends()
    assert await joined(inside.service, queue) == 1


@BOTH_WAYS
async def test_a_half_closed_connection_is_closed_when_nothing_is_under_way(raw: Raw, way: Any) -> None:
    await raw.send(request("GET", way("/api/v1/status")))
    assert (await raw.answer()).status == 401
    raw.half_close()
    await raw.ends()


# Streams


@BOTH_WAYS
@pytest.mark.parametrize("go", [Raw.close, Raw.reset, Raw.half_close], ids=["FIN", "RST", "half"])
@pytest.mark.parametrize("behind", [0, 5])
async def test_a_stream_whose_client_goes_is_forgotten_at_once(
    inside: Inside, raw: Raw, queue: QueueId, way: Any, go: Any, behind: int
) -> None:
    """Even where more came behind it, which is never read."""
    ticket = await token(raw, queue)
    await raw.send(request("GET", way("/api/v1/stream"), token=ticket) + join(queue) * behind)
    await raw.reader.readuntil(b"event: position")
    assert inside.streams == 1
    gone = go(raw)
    if gone is not None:
        await gone
    async with asyncio.timeout(2):  # long before anything is written to it
        await until(lambda: not inside.streams)
    assert await joined(inside.service, queue) == 1


# The server goes


@BOTH_WAYS
async def test_what_is_under_way_when_the_server_ends_is_answered(
    inside: Inside, raw: Raw, queue: QueueId, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    gate = Gate(inside.service, monkeypatch)
    async with connected(inside.port) as idle:
        await idle.send(request("GET", "/healthz"))
        assert (await idle.answer()).status == 200
        await raw.send(join(queue, way) + join(queue))
        await gate.reached()
        inside.server.should_exit = True
        await idle.ends()
    gate.open()
    first, last = await raw.answers(2)
    assert (first.status, first.closes, last.status, last.closes) == (201, False, 201, True)
    await raw.ends()


@BOTH_WAYS
async def test_a_stream_that_opens_as_the_server_ends_is_sent_away(
    inside: Inside, raw: Raw, queue: QueueId, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    ticket = await token(raw, queue)
    gate = Gate(inside.service, monkeypatch, "status")
    await raw.send(request("GET", way("/api/v1/stream"), token=ticket))
    await gate.reached()
    inside.server.should_exit = True
    await until(lambda: inside.connections[0]._ending)
    gate.open()
    told = await raw.rest()
    assert b"event: position" in told
    assert told.count(b"retry: ") == 2


async def test_sigterm_ends_the_server_in_order(tmp_path: Path) -> None:
    """A client in the middle of a request may finish it, if it does not take too long."""
    server = RunningServer(tmp_path, workers=1)
    try:
        async with service_of(server) as service:
            queue = await open_queue(service)
            whole = {way: join(queue, way) for way in (str, slow)}
            async with (
                connected(server.port) as idle,
                connected(server.port) as fast,
                connected(server.port) as full,
                connected(server.port) as headers,
                connected(server.port) as full_headers,
                connected(server.port) as silent,
                connected(server.port) as stream,
            ):
                await stream.send(request("GET", "/api/v1/stream", token=await token(idle, queue)))
                await stream.reader.readuntil(b"event: position")
                await fast.send(whole[str][:-5])
                await full.send(whole[slow][:-5])
                await headers.send(whole[str][:20])
                await full_headers.send(whole[slow][:20])
                await silent.send(whole[str][:-5])
                # All of it has arrived when a later request of one more connection is answered.
                await idle.send(request("GET", "/healthz"))
                assert (await idle.answer()).status == 200
                server.process.send_signal(signal.SIGTERM)
                assert b"retry: " in await stream.rest()
                await idle.ends()
                with pytest.raises(ConnectionRefusedError):
                    await asyncio.open_connection(HOST, server.port)
                rest = {
                    fast: whole[str][-5:],
                    full: whole[slow][-5:],
                    headers: join(queue)[20:],
                    full_headers: join(queue, slow)[20:],
                }
                for raw, data in rest.items():
                    await raw.send(data)
                    answer = await raw.answer()
                    assert (answer.status, answer.closes) == (201, True)
                    await raw.ends()
                assert await joined(service, queue) == 5
                late = await silent.answer()
                assert (late.status, late.code, late.closes) == (408, "request_timeout", True)
        assert await asyncio.to_thread(server.process.wait, 60) == 0
    finally:
        server.stop()
    assert not server.logs("http.failed")
    assert "Traceback" not in (tmp_path / "server.log").read_text()
