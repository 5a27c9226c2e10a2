"""What happens in a queue, live."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

import httpx
import msgspec
import pytest

from fairline.domain.events import Event, EventType
from fairline.errors import KeyInvalid, StoreUnavailable
from fairline.store import Role
from fairline.web.admin import records, streams
from fairline.web.admin.records import LiveEvents
from tests.backends import PATIENCE_SECONDS
from tests.web.admin.desk import (
    ADMIN,
    Join,
)
from tests.web.running import RunningServer


class Listener:
    """Reads a queue's events as they come."""

    def __init__(self, server: RunningServer, queue: str, key: str, last: str = "", after: str = "") -> None:
        self._client = httpx.Client(base_url=server.base_url + ADMIN, timeout=20)
        headers = {"authorization": f"Bearer {key}", "accept": "text/event-stream"}
        if last:
            headers["last-event-id"] = last
        request = self._client.build_request(
            "GET", f"/queues/{queue}/events", headers=headers, params={"after": after} if after else {}
        )
        self.answer = self._client.send(request, stream=True)
        self._lines = self.answer.iter_lines()

    def block(self) -> dict[str, str]:
        """The next block of fields."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line:
                return fields
            name, _, value = line.partition(":")
            fields[name] = value.strip()
        raise EOFError

    def event(self) -> dict[str, str]:
        """The next event."""
        while "event" not in (fields := self.block()):
            pass
        return fields

    def close(self) -> None:
        self.answer.close()
        self._client.close()


def test_events_come_live_and_go_on_from_the_last_one_heard(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer, keys: dict[Role, str]
) -> None:
    join(queue)
    listener = Listener(server, queue, keys[Role.VIEWER])
    assert listener.answer.status_code == 200
    assert listener.answer.headers["content-type"].startswith("text/event-stream")
    assert listener.answer.headers["cache-control"] == "no-store"
    assert [listener.event()["event"] for _ in range(2)] == ["queue_created", "joined"]
    admin.post(f"/queues/{queue}/call-next", json={"desk": "C"})
    heard = listener.event()
    data = msgspec.json.decode(heard["data"])
    assert (heard["event"], data["type"], data["ticket"], data["detail"]) == ("called", "called", 1, "C")
    assert heard["id"] == data["id"]
    listener.close()
    admin.post(f"/queues/{queue}/tickets/1/start")
    again = Listener(server, queue, keys[Role.VIEWER], last=heard["id"])
    assert again.event()["event"] == "started"
    again.close()
    live = Listener(server, queue, keys[Role.VIEWER], after="latest")
    live.block()  # `retry`: it listens
    admin.post(f"/queues/{queue}/tickets/1/complete")
    assert live.event()["event"] == "completed"
    live.close()


def test_a_stream_of_events_ends_with_its_queue(admin: httpx.Client, queue: str, server: RunningServer) -> None:
    listener = Listener(server, queue, server.admin_key)
    assert listener.event()["event"] == "queue_created"
    admin.delete(f"/queues/{queue}")
    with pytest.raises(EOFError):
        listener.event()
    listener.close()


@pytest.mark.parametrize("path", ["/queues/{}/events", "/queues/{}/live", "/live"])
def test_nothing_is_told_once_the_key_of_a_stream_was_taken_away(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer, path: str
) -> None:
    made = admin.post("/keys", json={"role": "viewer", "name": "leaves"}).json()
    headers = {"authorization": f"Bearer {made['key']}", "accept": "text/event-stream"}
    url = f"{server.base_url}{ADMIN}{path.format(queue)}"
    with httpx.stream("GET", url, headers=headers, timeout=20) as answer:
        lines = answer.iter_lines()
        while not next(lines).startswith("data:"):
            pass
        assert admin.delete(f"/keys/{made['id']}").status_code == 204
        join(queue)
        rest = "\n".join(lines)
    assert "event: joined" not in rest
    assert not re.search(f'"id":"{queue}"[^}}]*"waiting":1', rest)
    assert path.endswith("events") or rest.rstrip().endswith('event: ended\ndata: {"code":"key_invalid"}')


def test_a_stream_of_events_is_refused_like_any_call(server: RunningServer, queue: str) -> None:
    for name, key, after, status in (
        (queue, "fl_wrong-wrong-wrong", "", 401),
        ("nobody-made-this", server.admin_key, "", 404),
        ("nobody-made-this", server.admin_key, "latest", 404),
        (queue, server.admin_key, "x", 422),
    ):
        listener = Listener(server, name, key, after=after)
        assert listener.answer.status_code == status
        assert listener.answer.headers["content-type"] == "application/problem+json"
        listener.close()


def test_open_streams_of_events_do_not_hold_up_the_end_of_the_server(
    server: RunningServer, admin: httpx.Client, queue: str
) -> None:
    listeners = [Listener(server, queue, server.admin_key) for _ in range(4)]
    for listener in listeners:
        assert listener.event()["event"] == "queue_created"
    before = len(server.lines())
    server.stop()
    # uvicorn says so where it had to cut them off.
    assert not [line for line in server.lines()[before:] if "graceful shutdown exceeded" in line]
    for listener in listeners:
        assert "retry" in listener.block()
        with pytest.raises(EOFError):
            listener.block()
        listener.close()
    server.start()
    assert admin.get(f"/queues/{queue}").status_code == 200


class Line:
    """Stands where a stream has its connection."""

    def __init__(self) -> None:
        self.sent = b""
        self.unread = 0
        self.closed = self.aborted = False

    def write(self, data: bytes) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


class Happenings:
    """Takes the place of the service in a stream: as many events as one wants, a page at a time."""

    def __init__(self) -> None:
        self.count = 0
        self.reads = 0
        self.error: Exception | None = None

    async def events(self, queue: str, after: str | None, limit: int) -> list[Any]:

        self.reads += 1
        if self.error:
            raise self.error
        begin = int(after or 0) + 1
        return [Event(str(n), EventType.JOINED, 1, n) for n in range(begin, min(self.count, begin + limit - 1) + 1)]

    async def labels(self, queue: str, numbers: list[int]) -> dict[int, str]:

        return {}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:

    for name, seconds in {
        "POLL_SECONDS": 0.005,
        "AWAY_SECONDS": 0.005,
        "KEEP_ALIVE_SECONDS": 0.05,
        "SLOW_SECONDS": 0.05,
    }.items():
        for module in (records, streams):
            monkeypatch.setattr(module, name, seconds, raising=False)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def live_events(service: Happenings, refusal: list[Exception]) -> Any:

    async def still_allowed() -> None:
        if refusal:
            raise refusal[0]

    return LiveEvents(cast(Any, service), cast(Any, "q"), None, still_allowed)


async def test_a_quiet_stream_is_kept_alive_and_ends_when_its_key_is_taken_away(quick: None) -> None:

    refusal: list[Exception] = []
    line = Line()
    live_events(Happenings(), refusal).opened(line)
    await until(lambda: line.sent.count(b":\n\n") >= 2)
    refusal.append(KeyInvalid())
    await until(lambda: line.closed)


async def test_a_key_that_cannot_be_looked_at_for_a_while_costs_no_event(quick: None) -> None:
    refusal: list[Exception] = [StoreUnavailable("gone")]
    service, line = Happenings(), Line()
    stream = live_events(service, refusal)
    service.count = 3
    stream.opened(line)
    await until(lambda: service.reads > 3)
    assert b"event" not in line.sent
    refusal.clear()
    await until(lambda: line.sent.count(b"event: joined") == 3)
    stream.lost()


async def test_a_stream_outlives_an_outage_of_the_store_and_misses_nothing(quick: None) -> None:

    service, line = Happenings(), Line()
    stream = live_events(service, [])
    service.error = StoreUnavailable("gone")
    stream.opened(line)
    await until(lambda: service.reads > 3)
    service.count, service.error = 1234, None
    await until(lambda: line.sent.count(b"event: joined") == 1234)
    assert line.sent.find(b"id: 1\n") < line.sent.find(b"id: 2\n") < line.sent.find(b"id: 1234\n")
    stream.lost()


async def test_a_slow_reader_is_not_read_ahead_for_and_given_up_in_the_end(quick: None) -> None:
    service, line = Happenings(), Line()
    service.count, line.unread = 10**6, 10**6
    stream = live_events(service, [])
    stream.opened(line)
    await until(lambda: line.aborted)
    assert service.reads == 1
    stream.lost()


async def test_a_lost_client_ends_the_reading(quick: None) -> None:
    service, line = Happenings(), Line()
    stream = live_events(service, [])
    stream.opened(line)
    await until(lambda: service.reads > 3)
    stream.lost()
    await asyncio.sleep(0.02)
    reads = service.reads
    await asyncio.sleep(0.05)
    assert service.reads == reads
    live_events(service, []).lost()  # one that was never opened
