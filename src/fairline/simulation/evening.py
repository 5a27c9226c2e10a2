"""An evening in virtual time, on the real engine: the store with its scripts, the room and the keeper, by a clock of
ours.

A second of the evening is one step: people join, give signs of life, come in and leave as the crowd says, all in
batches; then the keeper ticks, and sweeps when it is due. Nothing here decides who is let in: the engine does.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from fairline.aio.grouping import GroupedCall
from fairline.domain.estimate import Forecast
from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.tokens import Keyring
from fairline.errors import FairlineError, StoreError
from fairline.keeper.keeper import SWEEP_SECONDS, Keeper
from fairline.service.answers import JoinAnswer
from fairline.service.fairline import Fairline
from fairline.simulation.people import Person, Scenario, gather
from fairline.store import MAX_BATCH, Lapsed, Store, open_store
from fairline.store.valkey.embedded import EmbeddedValkey

T = TypeVar("T")

QUEUE = QueueId("simulated")
#: 2027-01-15 08:00:00 UTC: every evening begins at the same moment, so that equal ones are equal.
BEGINNING_MS = 1_800_000_000_000


class Point(Struct, frozen=True):
    """One second of the evening: the line and the inside at its end, and what happened in it."""

    second: int
    waiting: int
    inside: int
    joined: int
    admitted: int


class Estimates(Struct, frozen=True):
    """How the waits that were shown at joining turned out, for everyone who was shown one and let in."""

    compared: int
    within: int
    mean_error_seconds: float | None

    @property
    def share_within(self) -> float | None:
        """The share of shown ranges that held."""
        return self.within / self.compared if self.compared else None


class Outcome(Struct, frozen=True):
    """What the evening was like."""

    people: list[Person]
    series: list[Point]

    @property
    def endings(self) -> Counter[str]:
        """How many ended how; those still there at the end are under ''."""
        return Counter(person.ending for person in self.people)

    @property
    def waits(self) -> list[int]:
        """The waits of all who were let in, shortest first."""
        return sorted(person.waited for person in self.people if person.waited is not None)

    @property
    def peak(self) -> Point:
        """The second in which the line was longest."""
        return max(self.series, key=lambda point: point.waiting)

    @property
    def fullest(self) -> Point:
        """The second in which most were inside."""
        return max(self.series, key=lambda point: point.inside)

    @property
    def empty_at(self) -> int | None:
        """From which second on nobody waited any more; None if somebody still did at the end."""
        last = next((point.second for point in reversed(self.series) if point.waiting), -1)
        return None if last == self.series[-1].second else last + 1

    @property
    def estimates(self) -> Estimates:
        """How good the shown waits were."""
        known = [(p.shown, p.waited) for p in self.people if p.shown is not None and p.waited is not None]
        within = sum(shown.low <= waited <= shown.high for shown, waited in known)
        errors = [abs(shown.seconds - waited) for shown, waited in known]
        return Estimates(len(known), within, sum(errors) / len(errors) if errors else None)

    def by_minute(self) -> list[Point]:
        """The series by the minute: the line and the inside at its end, the sums of what happened in it."""
        minutes = (self.series[first : first + 60] for first in range(0, len(self.series), 60))
        return [
            Point(
                some[0].second,
                some[-1].waiting,
                some[-1].inside,
                sum(point.joined for point in some),
                sum(point.admitted for point in some),
            )
            for some in minutes
        ]

    def wait_within(self, share: float) -> int | None:
        """The wait that `share` of those let in did not exceed."""
        waits = self.waits
        return waits[max(0, math.ceil(share * len(waits)) - 1)] if waits else None


class VirtualClock:
    """Milliseconds since 1970, as the simulation says."""

    def __init__(self) -> None:
        self.second = 0

    def __call__(self) -> int:
        return BEGINNING_MS + self.second * 1000


class Simulation:
    """One evening on a store that was opened with `clock`. Between two steps the engine may be asked and told anything
    through `room`: settings change, forecasts are taken, staff act."""

    def __init__(self, wanted: Scenario, store: Store, clock: VirtualClock, queue: QueueId = QUEUE) -> None:
        self.scenario = wanted
        self.people = gather(wanted)
        self.service = Fairline(store, Keyring(b"a simulation has nothing to hide"))
        self.queue = queue
        self.clock = clock
        self.series: list[Point] = []
        self.left = len(self.people)
        """How many have not come to their end yet."""
        self._store = store
        self._keeper = Keeper(store, on_admitted=self._admitted, on_lapsed=self._lapsed)
        self._tickets: dict[int, Person] = {}
        self._arrived = 0
        self._counts: Counter[str] = Counter()
        self._beating: defaultdict[int, list[Person]] = defaultdict(list)
        self._giving_up: defaultdict[int, list[Person]] = defaultdict(list)
        self._coming: defaultdict[int, list[Person]] = defaultdict(list)
        self._browsing: defaultdict[int, list[Person]] = defaultdict(list)
        self._leaving: defaultdict[int, list[Person]] = defaultdict(list)
        settings = wanted.settings
        # A sign of life matters only before the deadline: asking less often than a page does changes nothing else.
        alive = settings.heartbeat_timeout_seconds + settings.grace_seconds
        self._beat_every = max(1, int(alive / 2)) if settings.heartbeat_timeout_seconds else None
        self._view_every = max(1, int(settings.session_seconds / 2))

    @property
    def second(self) -> int:
        """How far the evening has come."""
        return self.clock.second

    @property
    def over(self) -> bool:
        """Everyone came, and went again; or it has lasted as long as it may."""
        return self.left == 0 or self.second >= self.scenario.at_most_seconds

    @property
    def _ebbing(self) -> bool:
        """Everyone has come, and nobody waits: people only leave from now on."""
        return self._arrived == len(self.people) and bool(self.series) and self.series[-1].waiting == 0

    async def begin(self) -> None:
        """Make the queue; the first sweep starts its clock."""
        await self._store.create(self.queue, self.scenario.settings)
        await self._keeper.sweep()

    async def step(self) -> Point:
        """One second."""
        self._counts.clear()
        await self._join()
        await self._heartbeat()
        await self._give_up()
        await self._come()
        await self._browse()
        await self._leave()
        sweeps = self.second % SWEEP_SECONDS == 0
        if sweeps:
            await self._keeper.sweep()
        if sweeps or not self._ebbing:
            await self._keeper.tick()
            snapshot = await self.snapshot()
            waiting, inside = snapshot.waiting, snapshot.inside
        else:  # there is nobody to let in, and the engine need not be asked for what can be counted
            waiting, inside = 0, self.series[-1].inside - self._counts["completed"]
        self.series.append(Point(self.second, waiting, inside, self._counts["joined"], self._counts["admitted"]))
        self.clock.second += 1
        return self.series[-1]

    async def run_until(self, second: float) -> None:
        """Go on until a moment, or the end if that is sooner."""
        while not self.over and self.second < second:
            await self.step()

    async def configure(self, **changes: Any) -> None:
        """Change settings of the queue, as an operator would."""
        await self.service.configure(self.queue, changes)

    async def snapshot(self) -> QueueSnapshot:
        """The queue at this moment."""
        return await self._store.snapshot(self.queue)

    async def forecast(self) -> Forecast:
        """What the engine would tell people at this moment."""
        snapshot, settings = await self.service.snapshot(self.queue)
        return Forecast(settings, snapshot)

    def outcome(self) -> Outcome:
        """What the evening was like so far."""
        return Outcome(self.people, self.series)

    # What people do

    async def _join(self) -> None:
        until = self._arrived
        while until < len(self.people) and self.people[until].arrives < self.second + 1:
            until += 1
        arriving = self.people[self._arrived : until]
        asked = (
            self.service.join(self.queue, JoinRequest(client_id=f"person {self._arrived + i}"), Caller())
            for i in range(len(arriving))
        )
        answers = await _all(asked)
        self._arrived = until
        for person, answer in zip(arriving, answers, strict=True):
            if isinstance(answer, FairlineError):
                self._end(person, answer.code)
            else:
                self._welcome(person, answer)

    def _welcome(self, person: Person, welcome: JoinAnswer) -> None:
        person.number, person.joined = welcome.ticket_status.number, self.second
        person.position, person.shown = welcome.ticket_status.position, welcome.wait
        self._counts["joined"] += 1
        self._tickets[person.number] = person
        if self._beat_every is not None:
            self._beating[self.second + self._beat_every].append(person)
        if math.isfinite(person.patience):
            self._giving_up[self._later(person.patience)].append(person)

    async def _heartbeat(self) -> None:
        waiting = [person for person in self._beating.pop(self.second, ()) if _waits(person)]
        for some in _batches(waiting):
            await self.service.statuses(self.queue, [person.number for person in some], heartbeat=True)
        if self._beat_every is not None:
            self._beating[self.second + self._beat_every] += waiting

    async def _give_up(self) -> None:
        closing = [person for person in self._giving_up.pop(self.second, ()) if _waits(person)]
        await _all(self.service.unload(self.queue, person.number) for person in closing)
        for person in closing:
            person.patience = 0.0  # gives no sign of life from now on; the engine decides when the place is gone

    async def _come(self) -> None:
        coming = [person for person in self._coming.pop(self.second, ()) if not person.ending]
        answers = await _all(
            self.service.start(self.queue, person.number, f"person {person.number}") for person in coming
        )
        for person, answer in zip(coming, answers, strict=True):
            if isinstance(answer, FairlineError):
                continue  # came too late: the sweep has ended it, or will
            person.started = self.second
            self._leaving[self._later(person.stays)].append(person)
            if person.stays > self._view_every:
                self._browsing[self.second + self._view_every].append(person)

    async def _browse(self) -> None:
        """Whoever stays long looks at a page now and then, which keeps the session alive."""
        inside = [person for person in self._browsing.pop(self.second, ()) if not person.ending]
        await _all(self.service.touch(self.queue, person.number, f"person {person.number}") for person in inside)
        self._browsing[self.second + self._view_every] += inside

    async def _leave(self) -> None:
        leaving = [person for person in self._leaving.pop(self.second, ()) if not person.ending]
        answers = await _all(self.service.complete(self.queue, person.number) for person in leaving)
        for person, answer in zip(leaving, answers, strict=True):
            if not isinstance(answer, FairlineError):
                self._end(person, "completed")

    # What the engine does

    def _admitted(self, queue: QueueId, numbers: list[int]) -> None:
        self._counts["admitted"] += len(numbers)
        for number in numbers:
            person = self._tickets[number]
            person.admitted = self.second
            if math.isfinite(person.comes_after):
                self._coming[self._later(person.comes_after)].append(person)

    def _lapsed(self, queue: QueueId, lapsed: list[Lapsed]) -> None:
        for lapse in lapsed:
            self._end(self._tickets[lapse.number], lapse.reason)

    def _end(self, person: Person, ending: str) -> None:
        person.ended, person.ending = self.second, str(ending)
        self._counts[person.ending] += 1
        self._tickets.pop(person.number, None)
        self.left -= 1

    def _later(self, seconds: float) -> int:
        """The step in which something happens that takes some time: never this one."""
        return self.second + max(1, round(seconds))


#: Something to do at a moment of the evening, such as a change of settings.
Moment = tuple[float, Callable[[Simulation], Awaitable[None]]]


@asynccontextmanager
async def simulation(wanted: Scenario) -> AsyncIterator[Simulation]:
    """A simulation that has begun, on an embedded store of its own that goes with it."""
    with tempfile.TemporaryDirectory(prefix="fairline-simulation-") as folder:
        server = EmbeddedValkey(Path(folder), fsync="everysec")
        clock = VirtualClock()
        store = await open_store(await asyncio.to_thread(server.start), clock=clock)
        found = Simulation(wanted, store, clock)
        try:
            await found.begin()
            yield found
            await found.service.close()
        finally:
            await found.service.close()
            await store.close()
            await asyncio.to_thread(server.stop)


async def simulate(
    wanted: Scenario,
    on_progress: Callable[[Simulation], None] | None = None,
    moments: Iterable[Moment] = (),
) -> Outcome:
    """Run a whole evening; `on_progress` hears of every second, `moments` come before the second they name."""
    to_come = sorted(moments, key=lambda moment: moment[0], reverse=True)
    async with simulation(wanted) as running:
        while not running.over:
            while to_come and to_come[-1][0] <= running.second:
                await to_come.pop()[1](running)
            await running.step()
            if on_progress:
                on_progress(running)
        return running.outcome()


def _waits(person: Person) -> bool:
    return person.admitted is None and not person.ending and person.patience > 0


def _batches(people: Sequence[Person]) -> Iterable[Sequence[Person]]:
    return (people[first : first + MAX_BATCH] for first in range(0, len(people), MAX_BATCH))


async def _all(asked: Iterable[GroupedCall[T]]) -> list[T | FairlineError]:
    """Ask for many things at once, and wait for each answer; an error of ours is an answer too."""
    answers: list[T | FairlineError] = []
    waiting = list(asked)
    for first in range(0, len(waiting), MAX_BATCH):
        some = await _some(waiting[first : first + MAX_BATCH])
        answers.extend(some)
    return answers


async def _some(asked: Sequence[GroupedCall[T]]) -> Sequence[T | FairlineError]:
    done = asyncio.get_running_loop().create_future()
    answers: list[T | FairlineError] = []

    def keep(answer: T | Exception) -> None:
        if isinstance(answer, StoreError) or (isinstance(answer, Exception) and not isinstance(answer, FairlineError)):
            if not done.done():
                done.set_exception(answer)
            return
        answers.append(answer)
        if len(answers) == len(asked) and not done.done():
            done.set_result(None)

    for each in asked:  # they go out in this order, and are answered in it
        each.then(keep)
    await done
    return answers
