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

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.tokens import Keyring
from fairline.errors import ServiceFailed
from fairline.keeper.stock import Stocktaker, fetch_seats
from fairline.service.fairline import Fairline
from fairline.store import Arrival, open_store
from tests.web.inside import until


class SeatService:
    """An event service of someone else's: answers as the test says, and counts the requests."""

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, b'{"seats": 50}')
        self.asked = 0
        self.hangs = threading.Event()
        self.hangs.set()
        self.drips = False
        seat_service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seat_service.asked += 1
                seat_service.hangs.wait(10)
                status, headers, body = seat_service.answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in (bytes([byte]) for byte in body * 100) if seat_service.drips else (body,):
                    with contextlib.suppress(OSError):
                        self.wfile.write(piece)
                        time.sleep(0.02 if seat_service.drips else 0)

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
def seat_service() -> Iterator[SeatService]:
    made = SeatService()
    yield made
    made.stop()


@pytest.fixture
async def service(module_valkey_url: str) -> AsyncIterator[Fairline]:
    store = await open_store(module_valkey_url)
    yield Fairline(store, Keyring(b"x" * 32))
    for queue in await store.queues():
        await store.delete(queue)
    await store.close()


QUEUE = QueueId("sale")


async def stock(service: Fairline) -> int | None:
    return (await service.settings(QUEUE)).settings.stock


@asynccontextmanager
async def taking(*services: Fairline) -> AsyncIterator[None]:
    tasks = [
        asyncio.create_task(Stocktaker(service, round_seconds=0.02, retry_seconds=0.1).run())
        for service in services
        for _ in "ab"
    ]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def becomes(service: Fairline, expected: int) -> None:
    async with asyncio.timeout(30):
        while (found := await stock(service)) != expected:
            assert found is None
            await asyncio.sleep(0.01)


async def test_the_stock_is_asked_for_once_and_then_people_are_let_in(
    service: Fairline, seat_service: SeatService
) -> None:
    await service.create("sale", {"stock_url": seat_service.url, "admission_rate": 1000})
    await service.store.join(QUEUE, [Arrival()] * 60)
    assert (await service.store.admit(QUEUE, 100)).items == []
    async with taking(service):
        await becomes(service, 50)
        assert len((await service.store.admit(QUEUE, 100)).items) == 50
        seat_service.answer = (200, {}, b'{"seats": 9}')
        await service.set_stock(QUEUE, 70)  # the operator's word, from here on
        assert await stock(service) == 70
    assert seat_service.asked == 1


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
    service: Fairline, seat_service: SeatService, answer: tuple[int, dict[str, str], bytes]
) -> None:
    seat_service.answer = answer
    await service.create("sale", {"stock_url": seat_service.url, "admission_rate": 1000})
    await service.store.join(QUEUE, [Arrival()] * 3)
    async with taking(service):
        await until(lambda: seat_service.asked >= 2)
        assert await stock(service) is None
        assert (await service.store.admit(QUEUE, 100)).items == []
        seat_service.answer = (200, {}, b'{"seats": 2, "venue": "hall"}')
        await becomes(service, 2)
    assert len((await service.store.admit(QUEUE, 100)).items) == 2


async def test_the_log_says_which_service_failed_but_not_how_it_is_asked(service: Fairline) -> None:
    addresses = ["us:s3cr3t@127.0.0.1:9/seats", "127.0.0.1:9/s3cr3t?key=s3cr3t", "127.0.0.1:9?s3cr3t", "127.0.0.1:9"]
    with capture_logs() as logs:
        for number, address in enumerate(addresses):
            await service.create(f"sale{number}", {"stock_url": f"http://{address}"})
            await Stocktaker(service).take(QueueId(f"sale{number}"))
    assert [line["event"] for line in logs] == ["queue.stock_unknown"] * len(addresses)
    assert {line["url"] for line in logs} == {"http://127.0.0.1:9/…"}
    assert "s3cr3t" not in str(logs)


async def test_a_service_that_is_not_there_is_asked_again(service: Fairline, seat_service: SeatService) -> None:
    seat_service.stop()
    await service.create("sale", {"stock_url": seat_service.url})
    async with taking(service):
        snapshot, settings = await service.snapshot(QUEUE)
        assert settings.stock_unknown
        again = SeatService()
        await service.configure(QUEUE, {"stock_url": again.url})
        await becomes(service, 50)
        again.stop()
    assert not (await service.settings(QUEUE)).settings.stock_unknown
    assert snapshot.inside == 0


async def test_an_address_that_is_none_is_a_service_that_failed(service: Fairline) -> None:
    odd = QueueId("odd")
    await service.store.create(odd, QueueSettings(stock_url="http://[foo/"))  # as it could once be set
    await Stocktaker(service).take(odd)
    assert (await service.settings(odd)).settings.stock_unknown


async def test_one_that_hangs_is_given_up(seat_service: SeatService) -> None:
    seat_service.hangs.clear()
    with pytest.raises(ServiceFailed, match="no answer within"):
        await fetch_seats(seat_service.url, 0.2)


async def test_an_operator_who_sets_it_meanwhile_is_not_overruled(service: Fairline, seat_service: SeatService) -> None:
    seat_service.hangs.clear()
    await service.create("sale", {"stock_url": seat_service.url})
    taking_once = asyncio.create_task(Stocktaker(service).take(QUEUE))
    await until(lambda: seat_service.asked == 1)
    await service.set_stock(QUEUE, 7)
    seat_service.hangs.set()
    await taking_once
    assert await stock(service) == 7


async def test_one_that_drips_is_given_up_too(seat_service: SeatService) -> None:
    seat_service.drips = True
    with pytest.raises(ServiceFailed, match="is not"):
        await fetch_seats(seat_service.url, 0.5)


async def test_one_that_hangs_holds_up_nobody_elses_queue(service: Fairline, seat_service: SeatService) -> None:
    seat_service.hangs.clear()
    good = SeatService()
    await service.create("stuck", {"stock_url": seat_service.url})
    async with taking(service):
        await until(lambda: seat_service.asked > 0)
        await service.create("sale", {"stock_url": good.url})
        await becomes(service, 50)
    good.stop()
