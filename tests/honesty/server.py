"""The ways to a server: in virtual time on the engine itself, and over HTTP (live.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.errors import FairlineError
from fairline.keeper.keeper import SWEEP_SECONDS, Keeper
from fairline.service.answers import StatusAnswer
from fairline.service.fairline import Fairline
from fairline.store import open_store
from tests.backends import START, FakeClock
from tests.honesty.lines import Person
from tests.honesty.told import Told


class Server(Protocol):
    """What people and staff do. Times are in seconds since the beginning."""

    async def create(self, queue: str, settings: Mapping[str, Any]) -> None: ...

    async def configure(self, queue: str, changes: Mapping[str, Any]) -> None: ...

    async def join(self, queue: str, first: int, people: Sequence[Person]) -> list[tuple[int, Told]]: ...

    async def heartbeat(self, queue: str, numbers: Sequence[int]) -> list[Told | None]: ...

    async def leave(self, queue: str, numbers: Sequence[int]) -> None: ...

    async def finish(self, queue: str, numbers: Sequence[int]) -> None: ...

    async def call(self, queue: str, desk: str) -> int | None: ...

    async def let_in(self, queue: str) -> list[tuple[int, float]]: ...


class Engine:
    """The engine on a store whose clock is pushed on."""

    def __init__(self, service: Fairline, keeper: Keeper, clock: FakeClock) -> None:
        self.service, self._keeper, self._clock = service, keeper, clock
        self._seen: dict[str, str] = {}

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return (self._clock.now - START) / 1000

    async def pass_second(self, second: int) -> None:
        """Go on to the next second: people act in the middle of one, the server does its rounds at its end."""
        self._clock.now = START + 1000 * second
        if second % SWEEP_SECONDS == 0:
            await self._keeper.sweep()
        await self._keeper.tick()
        self._clock.advance(0.5)

    async def create(self, queue: str, settings: Mapping[str, Any]) -> None:
        await self.service.create(queue, dict(settings))
        await self.let_in(queue)

    async def configure(self, queue: str, changes: Mapping[str, Any]) -> None:
        await self.service.configure(QueueId(queue), dict(changes))

    async def join(self, queue: str, first: int, people: Sequence[Person]) -> list[tuple[int, Told]]:
        calls = [
            self.service.join(QueueId(queue), JoinRequest(client_id=f"p{n}"), Caller(priority=each.level, staff="s"))
            for n, each in enumerate(people, first)
        ]
        answers = [await call for call in calls] if len(calls) < 3 else await _together(calls)
        return [(each.ticket_status.number, self._told(each)) for each in answers]

    async def heartbeat(self, queue: str, numbers: Sequence[int]) -> list[Told | None]:
        answers = await self.service.stream_heartbeats(QueueId(queue), list(numbers))
        return [
            self._told(each) if isinstance(each, StatusAnswer) and each.ticket_status.position else None
            for each in answers
        ]

    async def leave(self, queue: str, numbers: Sequence[int]) -> None:
        await _together([self.service.leave(QueueId(queue), number) for number in numbers])

    async def finish(self, queue: str, numbers: Sequence[int]) -> None:
        await _together([self.service.start(QueueId(queue), number, f"p{number}") for number in numbers])
        await _together([self.service.complete(QueueId(queue), number) for number in numbers])

    async def call(self, queue: str, desk: str) -> int | None:
        called = await self.service.call_next(QueueId(queue), 1, desk)
        return called[0].number if called else None

    async def let_in(self, queue: str) -> list[tuple[int, float]]:
        events = await self.service.events(QueueId(queue), self._seen.get(queue, "0"), 10_000)
        if events:
            self._seen[queue] = events[-1].id
        return [
            (each.ticket, (each.at - START) / 1000)
            for each in events
            if each.type in ("admitted", "called") and each.ticket is not None
        ]

    def _told(self, answer: StatusAnswer) -> Told:
        wait, cause = answer.wait, answer.wait_changed
        seconds, low, high = wait.rounded if wait else (None, None, None)
        return Told(self.now, seconds, low, high, cause)


async def _together(calls: Sequence[Any]) -> list[Any]:
    """Make many calls at once, so that they are grouped as on a server; one that is refused is left out."""
    import asyncio

    answers = await asyncio.gather(*calls, return_exceptions=True)
    for each in answers:
        if isinstance(each, BaseException) and not isinstance(each, FairlineError):
            raise each
    return [each for each in answers if not isinstance(each, BaseException)]


@asynccontextmanager
async def engine(url: str) -> AsyncIterator[Engine]:
    """The engine on the store at this address."""
    clock = FakeClock()
    store = await open_store(url, clock=clock)
    service = Fairline(store, Keyring(b"a measurement has nothing to hide"))
    try:
        yield Engine(service, Keeper(store), clock)
    finally:
        await service.close()
        await store.close()
