"""Faults: real servers, really killed, stopped and cut off. What was acknowledged is there; nothing is there twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Person, Ticket
from fairline.domain.tokens import Keyring
from fairline.errors import StoreError, StoreOverloaded, StoreUnavailable
from fairline.service.fairline import Fairline
from fairline.store import Arrival, Store, open_store
from fairline.store.valkey import client
from fairline.store.valkey.embedded import EmbeddedValkey
from tests.backends import HOST, free_ports, wait_until
from tests.service.people import opened_services
from tests.web.inside import until

QUEUE = QueueId("sale")
SETTINGS = QueueSettings(max_queue_size=1_000_000)
BATCH = 250

OpenService: TypeAlias = Callable[[str], Awaitable[Fairline]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    """A server of this test's own, which may do to it what it likes."""
    embedded = EmbeddedValkey(tmp_path / "data")
    embedded.start()
    yield embedded
    if embedded.pid:
        os.kill(embedded.pid, signal.SIGCONT)
    embedded.stop()


@pytest.fixture
async def open_service() -> AsyncIterator[OpenService]:
    async with opened_services() as services:

        async def open_at(url: str) -> Fairline:
            services.append(Fairline(await open_store(url), Keyring(b"a secret")))
            return services[-1]

        yield open_at


@pytest.fixture
async def service(server: EmbeddedValkey, open_service: OpenService) -> Fairline:
    """A service with an empty queue."""
    service = await open_service(server.start())
    await service.store.create(QUEUE, SETTINGS)
    return service


def hit(server: EmbeddedValkey, how: signal.Signals) -> None:
    assert server.pid is not None
    os.kill(server.pid, how)


async def kill(server: EmbeddedValkey) -> None:
    """kill -9, and see it dead."""
    hit(server, signal.SIGKILL)
    await asyncio.to_thread(wait_until, lambda: server.pid is None, "it did not die")


async def restart(server: EmbeddedValkey) -> None:
    await asyncio.to_thread(server.start)


async def join(service: Fairline, client_id: str | None = None) -> int:
    return (await service.join(QUEUE, JoinRequest(client_id=client_id), Caller())).ticket_status.number


async def all_tickets(store: Store) -> list[Ticket]:
    tickets: list[Ticket] = []
    cursor: str | None = None
    while True:
        page = await store.tickets(QUEUE, None, cursor, 500)
        tickets += page.tickets
        cursor = page.cursor
        if cursor is None:
            return tickets


class Rush:
    """People who join one after the other, each as fast as they are answered, until the store is away."""

    def __init__(self, services: list[Fairline], lines: int, *, named: bool) -> None:
        self.services = services
        self.named = named
        self.numbers: dict[str, int] = {}
        self.unknown: dict[str, StoreError] = {}
        self.enough = asyncio.Event()
        self.lines = [asyncio.create_task(self._line(line)) for line in range(lines)]

    async def _line(self, line: int) -> None:
        service = self.services[line % len(self.services)]
        for turn in range(1_000_000):
            client_id = f"client-{line}-{turn}"
            try:
                self.numbers[client_id] = await join(service, client_id if self.named else None)
            except StoreError as error:
                self.unknown[client_id] = error
                return
            if len(self.numbers) >= 1000:
                self.enough.set()

    async def meets_its_end(self) -> None:
        async with asyncio.timeout(30):
            await asyncio.gather(*self.lines)


# Killed


async def test_a_killed_store_loses_no_acknowledged_join_and_a_retry_makes_no_second(
    server: EmbeddedValkey, service: Fairline, open_service: OpenService
) -> None:
    other = await open_service(server.start())
    rush = Rush([service, other], 64, named=True)
    await rush.enough.wait()
    await kill(server)
    await rush.meets_its_end()
    assert len(rush.unknown) == 64, "everyone was cut off in the middle"
    for error in rush.unknown.values():
        assert isinstance(error, StoreUnavailable)
        assert error.retry_after
        assert error.message.startswith("The store is unavailable")
        assert error.message.endswith("Try again in 2 s.")
    with pytest.raises(StoreUnavailable):
        await join(service, "client-while-away")

    await restart(server)
    clients, again = list(rush.numbers), []
    for first in range(0, len(clients), BATCH):  # a store for which a thousand calls are waiting refuses the next
        again += await asyncio.gather(*(join(service, each) for each in clients[first : first + BATCH]))
    assert again == list(rush.numbers.values())
    retried = await asyncio.gather(*(join(other, client_id) for client_id in rush.unknown))
    numbers = again + retried
    assert len(numbers) == len(set(numbers))
    assert len(await all_tickets(service.store)) == len(numbers)
    assert (await service.stats(QUEUE)).totals.joined == len(numbers)


async def test_joins_that_nobody_can_know_again_are_at_most_those_without_an_answer(
    server: EmbeddedValkey, service: Fairline
) -> None:
    rush = Rush([service], 64, named=False)
    await rush.enough.wait()
    await kill(server)
    await rush.meets_its_end()
    await restart(server)
    kept = {ticket.number for ticket in await all_tickets(service.store)}
    acknowledged = set(rush.numbers.values())
    assert len(acknowledged) == len(rush.numbers)
    assert acknowledged <= kept
    assert len(kept - acknowledged) <= len(rush.unknown)


async def join_batch(store: Store, batch: int) -> None:
    people = [Arrival(person=Person(user_id=f"{batch}/{index}")) for index in range(BATCH)]
    await store.join(QUEUE, people)


async def sizes_of_batches(store: Store) -> Counter[int]:
    """How many of each batch are there; each of them once, and their numbers in a row."""
    tickets = await all_tickets(store)
    names = [ticket.person.user_id or "" for ticket in tickets]
    assert len(names) == len(set(names))
    return Counter(int(name.partition("/")[0]) for name in names)


async def test_a_batch_that_a_kill_met_is_there_whole_or_not_at_all(server: EmbeddedValkey, service: Fairline) -> None:
    acknowledged: set[int] = set()
    enough = asyncio.Event()

    async def line(first: int) -> None:
        with suppress(StoreUnavailable):
            for batch in range(first, 10_000, 8):
                await join_batch(service.store, batch)
                acknowledged.add(batch)
                if len(acknowledged) >= 12:
                    enough.set()

    lines = [asyncio.create_task(line(first)) for first in range(8)]
    await enough.wait()
    await kill(server)
    await asyncio.gather(*lines)
    await restart(server)
    sizes = await sizes_of_batches(service.store)
    assert set(sizes.values()) == {BATCH}
    assert acknowledged <= set(sizes)
    assert len(sizes) <= len(acknowledged) + 8


@pytest.mark.parametrize("cut", [1, 0.7, *(pytest.param(cut, marks=pytest.mark.long) for cut in (1000, 0.3))])
async def test_a_batch_of_which_half_was_written_is_not_there_at_all(
    server: EmbeddedValkey, service: Fairline, cut: float
) -> None:
    file = next((server.folder / "appendonlydir").glob("*.incr.aof"))
    written = []
    for batch in range(3):
        await join_batch(service.store, batch)
        written.append(file.stat().st_size)
    await kill(server)
    last = written[2] - written[1]
    os.truncate(file, written[2] - (int(cut * last) if cut < 1 else int(cut)))
    await restart(server)
    assert await sizes_of_batches(service.store) == {0: BATCH, 1: BATCH}
    snapshot = await service.store.snapshot(QUEUE)
    assert snapshot.waiting == 2 * BATCH
    assert await join(service) == 2 * BATCH + 1, "the numbers go on without a gap"


async def test_the_line_goes_on_after_a_kill_as_if_nothing_had_been(server: EmbeddedValkey, service: Fairline) -> None:
    for n in range(5):
        await join(service, f"client-{n}")
    await service.store.call_next(QUEUE, 1)
    await service.start(QUEUE, 1, "browser")

    async def what_was_told_is_noted() -> bool:
        return (await service.stats(QUEUE)).totals.estimates.compared == 1

    await until(what_was_told_is_noted)
    before = (
        [await service.ticket(QUEUE, n) for n in range(1, 6)],
        await service.settings(QUEUE),
        await service.stats(QUEUE),
    )
    await kill(server)
    await restart(server)
    after = (
        [await service.ticket(QUEUE, n) for n in range(1, 6)],
        await service.settings(QUEUE),
        await service.stats(QUEUE),
    )
    assert after[0] == before[0]
    assert (after[1], after[2].totals) == (before[1], before[2].totals)
    assert [ticket.number for ticket in await service.call_next(QUEUE, 2)] == [2, 3]


# Away, and stopped


async def test_a_store_that_is_away_at_the_start_is_told(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    for url in (f"valkey://{HOST}:{port}", f"valkey+unix://{tmp_path}/nobody.sock", f"valkey+cluster://{HOST}:{port}"):
        with pytest.raises(StoreUnavailable, match="The store is unavailable"):
            async with asyncio.timeout(30):
                await open_store(url)


async def test_a_store_that_hangs_costs_everyone_a_bounded_time_and_then_works_again(
    server: EmbeddedValkey, open_service: OpenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(client._LIMITS, "socket_timeout", 2.0)
    service = await open_service(server.start())
    await service.store.create(QUEUE, SETTINGS)
    assert await join(service, "client-0") == 1
    hit(server, signal.SIGSTOP)
    monkeypatch.setattr(service._joins, "_patience", 0.5)
    names = [f"client-{n}" for n in range(5000)]
    outcomes = await asyncio.gather(*(join(service, name) for name in names), return_exceptions=True)
    kinds = Counter(type(outcome) for outcome in outcomes)
    assert kinds.keys() == {StoreUnavailable, StoreOverloaded}
    assert kinds[StoreUnavailable] <= 2 * 250, "20 batches, and not one time-out of two seconds after the other"
    with pytest.raises(StoreUnavailable, match="Timeout"):
        await service.ticket(QUEUE, 1)

    hit(server, signal.SIGCONT)
    monkeypatch.setattr(service._joins, "_patience", 60.0)
    numbers = await asyncio.gather(*(join(service, name) for name in names))
    assert numbers[0] == 1
    assert sorted(numbers) == list(range(1, 5001))
    assert len(await all_tickets(service.store)) == 5000


# Cut off


class Wire:
    """Between a client and the server; `cut_next` loses the next answer together with its connection."""

    def __init__(self, server: str, here: Path) -> None:
        self.server = server
        self.url = f"valkey+unix://{here}"
        self.here = here
        self.cut_next = False
        self.cuts = 0

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[Wire]:
        listener = await asyncio.start_unix_server(self._connected, self.here)
        try:
            yield self
        finally:
            listener.close()

    async def _connected(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        far, far_out = await asyncio.open_unix_connection(self.server)
        ends = near_out, far_out
        with suppress(OSError):
            await asyncio.gather(self._carry(near, far_out, ends), self._answer(far, near_out, ends))

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, ends: tuple[asyncio.StreamWriter, ...]
    ) -> None:
        while data := await source.read(65536):
            sink.write(data)
        for end in ends:
            end.close()

    async def _answer(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, ends: tuple[asyncio.StreamWriter, ...]
    ) -> None:
        while data := await source.read(65536):
            if self.cut_next:
                self.cut_next = False
                self.cuts += 1
                break
            sink.write(data)
        for end in ends:
            end.close()


@pytest.fixture
async def wire(server: EmbeddedValkey, service: Fairline, tmp_path: Path) -> AsyncIterator[Wire]:
    """To the server of `service`."""
    async with Wire(unquote(server.start().partition("://")[2]), tmp_path / "wire.sock").laid() as wire:
        yield wire


@pytest.fixture
async def far(wire: Wire, open_service: OpenService) -> Fairline:
    """A service at the other end of the wire."""
    return await open_service(wire.url)


async def test_a_call_whose_answer_was_lost_is_never_sent_again_by_itself(
    service: Fairline, wire: Wire, far: Fairline
) -> None:
    acknowledged, lost = set(), 0
    for turn in range(60):
        if turn in (0, 1):
            acknowledged.add(await join(far))  # the script is known, and the settings
            continue
        wire.cut_next = turn % 3 == 0
        try:
            acknowledged.add(await join(far))
        except StoreUnavailable:
            lost += 1
    assert wire.cuts == lost == 19
    kept = {ticket.number for ticket in await all_tickets(service.store)}
    assert acknowledged < kept
    assert len(kept) == len(acknowledged) + lost == 60


async def test_a_retry_after_a_lost_answer_finds_the_ticket(service: Fairline, wire: Wire, far: Fairline) -> None:
    await join(far)
    for n in range(10):
        wire.cut_next = True
        with pytest.raises(StoreUnavailable):
            await join(far, f"client-{n}")
        found = await far.join(QUEUE, JoinRequest(client_id=f"client-{n}"), Caller())
        assert (found.ticket_status.number, found.created) == (n + 2, False)
