"""What the people and the staff of a queue do, second by second, on any server: `server.py` says how it is reached."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from tests.honesty.lines import Line, Person
from tests.honesty.server import Server
from tests.honesty.told import History, Result

#: How often each person is told the wait. A page asks more often, which costs more and measures the same.
HEARTBEAT_SECONDS = 20


class Day:
    """One queue of one server: its people, its desks, and what they were told."""

    def __init__(self, line: Line, server: Server, seed: int) -> None:
        self.line = line
        self._server = server
        self._people = line.people(seed)
        self._chance = random.Random(f"{seed} {line.name} staff")
        self._arrived = 0
        self._waiting: dict[int, Person] = {}
        self._beats: defaultdict[int, list[int]] = defaultdict(list)
        self._giving_up: defaultdict[int, list[int]] = defaultdict(list)
        self._finishing: defaultdict[int, list[int]] = defaultdict(list)
        self._desks: dict[str, tuple[int, int | None]] = {
            f"Desk {number + 1}": (2 + 3 * number, None) for number in range(line.desks)
        }
        self._histories: dict[int, History] = {}
        self._changes = dict(line.changes)

    async def open(self) -> None:
        """Create the queue."""
        await self._server.create(self.line.name, self.line.settings)

    async def second(self, now: int) -> None:
        """All that happens in one second, except for what the server does by itself."""
        for due in [second for second in self._changes if second <= now]:
            await self._server.configure(self.line.name, self._changes.pop(due))
        await self._see(now)
        if leaving := [n for n in self._giving_up.pop(now, ()) if n in self._waiting]:
            await self._give_up(leaving)
        if finishing := self._finishing.pop(now, []):
            await self._server.finish(self.line.name, finishing)
        await self._join(now)
        await self._beat(now)
        if self.line.desks:
            await self._call(now)

    @property
    def result(self) -> Result:
        """What was measured."""
        stops = [self.line.desk_stops] if self.line.desk_stops < float("inf") else []
        return Result(self.line.name, self.line.kind, list(self._histories.values()), [*self.line.changes, *stops])

    async def _see(self, now: int) -> None:
        """Who was let in or called since the last second."""
        for number, at in await self._server.let_in(self.line.name):
            person = self._waiting.pop(number, None)
            if person is None:
                continue
            self._histories[number].admitted = at
            if person.comes and not self.line.desks:
                self._finishing[now + max(1, round(person.stays))].append(number)

    async def _join(self, now: int) -> None:
        first = self._arrived
        while self._arrived < len(self._people) and self._people[self._arrived].arrives < now:
            self._arrived += 1
        people = self._people[first : self._arrived]
        if not people:
            return
        answers = await self._server.join(self.line.name, first, people)
        for person, (number, told) in zip(people, answers, strict=True):
            self._waiting[number] = person
            self._histories[number] = History([told])
            self._beats[now + HEARTBEAT_SECONDS].append(number)
            if person.patience < float("inf"):
                self._giving_up[now + 1 + round(person.patience)].append(number)

    async def _give_up(self, numbers: Sequence[int]) -> None:
        going = [number for number in numbers if not self._waiting.pop(number).vanishes]
        if going:
            await self._server.leave(self.line.name, going)

    async def _beat(self, now: int) -> None:
        numbers = [number for number in self._beats.pop(now, ()) if number in self._waiting]
        if not numbers:
            return
        for number, told in zip(numbers, await self._server.heartbeat(self.line.name, numbers), strict=True):
            if told is not None:
                self._histories[number].answers.append(told)
        self._beats[now + HEARTBEAT_SECONDS] += numbers

    async def _call(self, now: int) -> None:
        for desk, (free, serving) in self._desks.items():
            if now < free:
                continue
            if serving is not None:
                await self._server.finish(self.line.name, [serving])
            if now >= self.line.desk_stops and desk == f"Desk {self.line.desks}":
                self._desks[desk] = (10**9, None)
                continue
            called = await self._server.call(self.line.name, desk)
            lasts = max(1, round(self.line.service_time(self._chance))) if called is not None else 1
            self._desks[desk] = (now + lasts, called)
