"""A simulation of an evening on the real engine (the store with its scripts, the service and the keeper) with a virtual
clock.

Each second of the evening is one step. People join, send heartbeats, come in and leave as planned in people.py, all in
batches; then the keeper ticks, and sweeps when a sweep is due. Nothing here decides who is let in: the engine does.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from fairline.domain.estimate import Forecast
from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.tokens import Keyring
from fairline.errors import FairlineError
from fairline.keeper.keeper import SWEEP_SECONDS, Keeper
from fairline.service.answers import JoinAnswer
from fairline.service.fairline import Fairline
from fairline.simulation.calls import all_answers, batches
from fairline.simulation.opening import OpeningOutcome, opening_outcome, plan_opening
from fairline.simulation.people import Person, Scenario, draw_people, within
from fairline.store import Lapsed, Store, open_store
from fairline.store.valkey.embedded import EmbeddedValkey

QUEUE = QueueId("simulated")
#: 2027-01-15 08:00:00 UTC: every evening begins at the same moment, so that equal scenarios have equal results.
BEGINNING_MS = 1_800_000_000_000


class Point(Struct, frozen=True):
    """One second of the evening: who waits and is inside at its end, and how many joined and were admitted in it."""

    second: int
    waiting: int
    inside: int
    joined: int
    admitted: int


class Estimates(Struct, frozen=True):
    """How accurate the waits shown at joining were, for everyone who was shown one and was let in."""

    compared: int
    within: int
    mean_error_seconds: float | None

    @property
    def share_within(self) -> float | None:
        """The share of people whose wait was within the shown range."""
        return self.within / self.compared if self.compared else None


class Outcome(Struct, frozen=True):
    """The results of an evening."""

    people: list[Person]
    series: list[Point]
    opening: OpeningOutcome | None = None
    """What came of the opening, if the evening had one."""

    @property
    def endings(self) -> Counter[str]:
        """How many people ended in which way; those still there at the end are under ''."""
        return Counter(person.ending for person in self.people)

    @property
    def waits(self) -> list[int]:
        """The waits of all people who were let in, shortest first."""
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
        """The second from which on nobody waited; None if somebody still waited at the end."""
        last = next((point.second for point in reversed(self.series) if point.waiting), -1)
        return None if last == self.series[-1].second else last + 1

    @property
    def estimates(self) -> Estimates:
        """The accuracy of the shown waits."""
        pairs = [(p.shown, p.waited) for p in self.people if p.shown is not None and p.waited is not None]
        within = sum(shown.low <= waited <= shown.high for shown, waited in pairs)
        errors = [abs(shown.seconds - waited) for shown, waited in pairs]
        return Estimates(len(pairs), within, sum(errors) / len(errors) if errors else None)

    def by_minute(self) -> list[Point]:
        """The series by minutes: who waits and is inside at the end of each, and how many joined and were admitted."""
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
        """The wait that this share of the admitted people did not exceed."""
        return within(self.waits, share)


class VirtualClock:
    """The clock of a simulation, in milliseconds since 1970."""

    def __init__(self) -> None:
        self.second = 0

    def __call__(self) -> int:
        return BEGINNING_MS + self.second * 1000


class Simulation:
    """One evening on a store that was opened with `clock`. Between two steps, everything is possible through `service`:
    changes of settings, forecasts, actions of staff."""

    def __init__(self, wanted: Scenario, store: Store, clock: VirtualClock, queue: QueueId = QUEUE) -> None:
        self.scenario = wanted
        self.people = draw_people(wanted)
        self.service = Fairline(store, Keyring(b"a simulation has nothing to hide"))
        self.queue = queue
        self.clock = clock
        self.series: list[Point] = []
        self.left = len(self.people)
        """How many people have not ended yet."""
        self._store = store
        self._keeper = Keeper(
            store, on_admitted=self._admitted, on_lapsed=self._lapsed, random_bytes=Random(wanted.seed).randbytes
        )
        self._drawn = 0
        self._tickets: dict[int, Person] = {}
        self._arrived = 0
        self._counts: Counter[str] = Counter()
        self._heartbeats_due: defaultdict[int, list[Person]] = defaultdict(list)
        self._giving_up: defaultdict[int, list[Person]] = defaultdict(list)
        self._coming: defaultdict[int, list[Person]] = defaultdict(list)
        self._browsing: defaultdict[int, list[Person]] = defaultdict(list)
        self._leaving: defaultdict[int, list[Person]] = defaultdict(list)
        settings = wanted.settings
        # A heartbeat only has to come before the deadline: fewer heartbeats than a page sends change nothing else.
        lifetime = settings.heartbeat_timeout_seconds + settings.grace_seconds
        self._heartbeat_every = max(1, int(lifetime / 2)) if settings.heartbeat_timeout_seconds else None
        self._view_every = max(1, int(settings.session_seconds / 2))

    @property
    def second(self) -> int:
        """The present second of the evening."""
        return self.clock.second

    @property
    def over(self) -> bool:
        """Whether everyone has come and left, or the longest duration is reached."""
        return self.left == 0 or self.second >= self.scenario.at_most_seconds

    @property
    def _ebbing(self) -> bool:
        """Everyone has come, and nobody waits: people only leave from now on."""
        return self._arrived == len(self.people) and bool(self.series) and self.series[-1].waiting == 0

    async def begin(self) -> None:
        """Create the queue; the first sweep starts its clock."""
        await self._store.create(self.queue, self.scenario.settings)
        if self.scenario.opening:
            await plan_opening(self.service, self.queue, self.scenario, self.clock())
        await self._keeper.sweep()

    async def step(self) -> Point:
        """Simulate one second."""
        self._counts.clear()
        if self.scenario.opening:
            await self._take_steps()
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
        else:  # nobody can be let in, so the numbers can be counted here without the engine
            waiting, inside = 0, self.series[-1].inside - self._counts["completed"]
        self.series.append(Point(self.second, waiting, inside, self._counts["joined"], self._counts["admitted"]))
        self.clock.second += 1
        return self.series[-1]

    async def run_until(self, second: float) -> None:
        """Simulate until this second, or until the end if that is sooner."""
        while not self.over and self.second < second:
            await self.step()

    async def configure(self, **changes: Any) -> None:
        """Change settings of the queue, as an operator would."""
        await self.service.configure(self.queue, changes)

    async def snapshot(self) -> QueueSnapshot:
        """Return a snapshot of the queue."""
        return await self._store.snapshot(self.queue)

    async def forecast(self) -> Forecast:
        """Return the forecast that people would be shown now."""
        snapshot, settings = await self.service.snapshot(self.queue)
        return Forecast(settings, snapshot)

    def outcome(self) -> Outcome:
        """Return the results so far."""
        opening = opening_outcome(self.scenario, self.people, self._drawn) if self.scenario.opening else None
        return Outcome(self.people, self.series, opening)

    async def _take_steps(self) -> None:
        """Take the steps of the opening that are due in this second."""
        while await self._keeper.openings.take(self.queue):
            (opening,) = (await self.service.settings(self.queue)).settings.openings
            self._drawn = opening.count

    # What people do

    async def _join(self) -> None:
        until = self._arrived
        while until < len(self.people) and self.people[until].arrives < self.second + 1:
            until += 1
        arriving = self.people[self._arrived : until]
        calls = (
            self.service.join(self.queue, JoinRequest(client_id=f"person {self._arrived + i}"), Caller())
            for i in range(len(arriving))
        )
        answers = await all_answers(calls)
        self._arrived = until
        for person, answer in zip(arriving, answers, strict=True):
            if isinstance(answer, FairlineError):
                self._end(person, answer.code)
            else:
                self._joined(person, answer)

    def _joined(self, person: Person, answer: JoinAnswer) -> None:
        person.number, person.joined = answer.ticket_status.number, self.second
        person.position, person.shown = answer.ticket_status.position, answer.wait
        self._counts["joined"] += 1
        self._tickets[person.number] = person
        if self._heartbeat_every is not None:
            self._heartbeats_due[self.second + self._heartbeat_every].append(person)
        if math.isfinite(person.patience):
            self._giving_up[self._later(person.patience)].append(person)

    async def _heartbeat(self) -> None:
        waiting = [person for person in self._heartbeats_due.pop(self.second, ()) if _waits(person)]
        for some in batches(waiting):
            await self.service.stream_heartbeats(self.queue, [person.number for person in some])
        if self._heartbeat_every is not None:
            self._heartbeats_due[self.second + self._heartbeat_every] += waiting

    async def _give_up(self) -> None:
        closing = [person for person in self._giving_up.pop(self.second, ()) if _waits(person)]
        await all_answers(self.service.unload(self.queue, person.number) for person in closing)
        for person in closing:
            person.patience = 0.0  # sends no heartbeats from now on; the engine decides when the place is gone

    async def _come(self) -> None:
        coming = [person for person in self._coming.pop(self.second, ()) if not person.ending]
        answers = await all_answers(
            self.service.start(self.queue, person.number, f"person {person.number}") for person in coming
        )
        for person, answer in zip(coming, answers, strict=True):
            if isinstance(answer, FairlineError):
                continue  # came too late: a sweep has ended the ticket, or will
            person.started = self.second
            self._leaving[self._later(person.stays)].append(person)
            if person.stays > self._view_every:
                self._browsing[self.second + self._view_every].append(person)

    async def _browse(self) -> None:
        """People with long stays open a page now and then, which keeps their session alive."""
        inside = [person for person in self._browsing.pop(self.second, ()) if not person.ending]
        await all_answers(self.service.touch(self.queue, person.number, f"person {person.number}") for person in inside)
        self._browsing[self.second + self._view_every] += inside

    async def _leave(self) -> None:
        leaving = [person for person in self._leaving.pop(self.second, ()) if not person.ending]
        answers = await all_answers(self.service.complete(self.queue, person.number) for person in leaving)
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
        """The step in which something happens that takes this long; at the earliest the next one."""
        return self.second + max(1, round(seconds))


#: Something to do at a moment of the evening, such as a change of settings.
Moment = tuple[float, Callable[[Simulation], Awaitable[None]]]


@asynccontextmanager
async def simulation(wanted: Scenario) -> AsyncIterator[Simulation]:
    """Start a simulation on its own embedded store, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="fairline-simulation-") as folder:
        server = EmbeddedValkey(Path(folder), fsync="everysec")
        clock = VirtualClock()
        store = await open_store(await asyncio.to_thread(server.start), clock=clock)
        started = Simulation(wanted, store, clock)
        try:
            await started.begin()
            yield started
            await started.service.close()
        finally:
            await started.service.close()
            await store.close()
            await asyncio.to_thread(server.stop)


async def simulate(
    wanted: Scenario,
    on_progress: Callable[[Simulation], None] | None = None,
    moments: Iterable[Moment] = (),
) -> Outcome:
    """Simulate a whole evening. `on_progress` is called after every second; each of the `moments` is carried out before
    the second that it names."""
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
