"""Stock from an outside service: asked for until it is known, once, and nobody is let in before."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairline.domain.queue import QueueId, QueueSettings
from fairline.domain.tokens import Keyring
from fairline.errors import ServiceFailed
from fairline.keeper.stock import Stocktaker, fetch_seats
from fairline.service.fairline import Room
from fairline.store import Arrival, open_store
from tests.backends import Valkey
from tests.web.inside import until


class Service:
    """An event service of someone else's: answers as it is told to, and counts who asks."""

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, b'{"seats": 50}')
        self.asked = 0
        self.hangs = threading.Event()
        self.hangs.set()
        self.drips = False
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.asked += 1
                service.hangs.wait(10)
                status, headers, body = service.answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in (bytes([byte]) for byte in body * 100) if service.drips else (body,):
                    with contextlib.suppress(OSError):
                        self.wfile.write(piece)
                        time.sleep(0.02 if service.drips else 0)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/seats"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.hangs.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    backend = Valkey(tmp_path_factory.mktemp("stock"))
    yield backend.start()
    backend.stop()


@pytest.fixture
async def room(url: str) -> AsyncIterator[Room]:
    store = await open_store(url)
    yield Room(store, Keyring(b"x" * 32))
    for queue in await store.queues():
        await store.delete(queue)
    await store.close()


QUEUE = QueueId("sale")


async def stock(room: Room) -> int | None:
    return (await room.settings(QUEUE)).settings.stock


@asynccontextmanager
async def taking(*rooms: Room) -> AsyncIterator[None]:
    tasks = [
        asyncio.create_task(Stocktaker(room, round_seconds=0.02, retry_seconds=0.1).run())
        for room in rooms
        for _ in "ab"
    ]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def becomes(room: Room, expected: int) -> None:
    async with asyncio.timeout(30):
        while (found := await stock(room)) != expected:
            assert found is None
            await asyncio.sleep(0.01)


async def test_the_stock_is_asked_for_once_and_then_people_are_let_in(room: Room, service: Service) -> None:
    await room.create("sale", {"stock_url": service.url, "admission_rate": 1000})
    await room.store.join(QUEUE, [Arrival()] * 60)
    assert (await room.store.admit(QUEUE, 100)).items == []
    async with taking(room):
        await becomes(room, 50)
        assert len((await room.store.admit(QUEUE, 100)).items) == 50
        service.answer = (200, {}, b'{"seats": 9}')
        await room.set_stock(QUEUE, 70)  # the operator's word, from here on
        assert await stock(room) == 70
    assert service.asked == 1


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}, b'{"seats": 50}'),
        (404, {}, b""),
        (200, {}, b""),
        (200, {}, b"fifty"),
        (200, {}, b'{"seats": -1}'),
        (200, {}, b'{"seats": "50"}'),
        (200, {}, b'{"seats": 2.5}'),
        (200, {}, b"[" * 100_000),
        (302, {"location": "/elsewhere"}, b""),
    ],
    ids=lambda answer: f"{answer[0]} {answer[2][:20]!r}",
)
async def test_whatever_else_it_answers_nobody_is_let_in_until_it_is_known(
    room: Room, service: Service, answer: tuple[int, dict[str, str], bytes]
) -> None:
    service.answer = answer
    await room.create("sale", {"stock_url": service.url, "admission_rate": 1000})
    await room.store.join(QUEUE, [Arrival()] * 3)
    async with taking(room):
        await until(lambda: service.asked >= 2)
        assert await stock(room) is None
        assert (await room.store.admit(QUEUE, 100)).items == []
        service.answer = (200, {}, b'{"seats": 2, "venue": "hall"}')
        await becomes(room, 2)
    assert len((await room.store.admit(QUEUE, 100)).items) == 2


async def test_the_log_says_which_service_failed_but_not_how_it_is_asked(room: Room) -> None:
    addresses = ["us:s3cr3t@127.0.0.1:9/seats", "127.0.0.1:9/s3cr3t?key=s3cr3t", "127.0.0.1:9?s3cr3t", "127.0.0.1:9"]
    with capture_logs() as logs:
        for number, address in enumerate(addresses):
            await room.create(f"sale{number}", {"stock_url": f"http://{address}"})
            await Stocktaker(room).take(QueueId(f"sale{number}"))
    assert [line["event"] for line in logs] == ["queue.stock_unknown"] * len(addresses)
    assert {line["url"] for line in logs} == {"http://127.0.0.1:9/…"}
    assert "s3cr3t" not in str(logs)


async def test_a_service_that_is_not_there_is_asked_again(room: Room, service: Service) -> None:
    service.stop()
    await room.create("sale", {"stock_url": service.url})
    async with taking(room):
        view, settings = await room.view(QUEUE)
        assert settings.stock_unknown
        again = Service()
        await room.configure(QUEUE, {"stock_url": again.url})
        await becomes(room, 50)
        again.stop()
    assert not (await room.settings(QUEUE)).settings.stock_unknown
    assert view.inside == 0


async def test_an_address_that_is_none_is_a_service_that_failed(room: Room) -> None:
    odd = QueueId("odd")
    await room.store.create(odd, QueueSettings(stock_url="http://[foo/"))  # as it could once be set
    await Stocktaker(room).take(odd)
    assert (await room.settings(odd)).settings.stock_unknown


async def test_one_that_hangs_is_given_up(service: Service) -> None:
    service.hangs.clear()
    with pytest.raises(ServiceFailed, match="no answer within"):
        await fetch_seats(service.url, 0.2)


async def test_an_operator_who_sets_it_meanwhile_is_not_overruled(room: Room, service: Service) -> None:
    service.hangs.clear()
    await room.create("sale", {"stock_url": service.url})
    taking_once = asyncio.create_task(Stocktaker(room).take(QUEUE))
    await until(lambda: service.asked == 1)
    await room.set_stock(QUEUE, 7)
    service.hangs.set()
    await taking_once
    assert await stock(room) == 7


async def test_one_that_drips_is_given_up_too(service: Service) -> None:
    service.drips = True
    with pytest.raises(ServiceFailed, match="is not"):
        await fetch_seats(service.url, 0.5)


async def test_one_that_hangs_holds_up_nobody_elses_queue(room: Room, service: Service) -> None:
    service.hangs.clear()
    good = Service()
    await room.create("stuck", {"stock_url": service.url})
    async with taking(room):
        await until(lambda: service.asked > 0)
        await room.create("sale", {"stock_url": good.url})
        await becomes(room, 50)
    good.stop()
