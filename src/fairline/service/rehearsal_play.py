"""What happens in a rehearsal: people join the pre-queue, reload, wait, are let in and leave, and each promise of an
opening is looked at from outside."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from fairline.domain.draw import commitment, draw_key, leaf_of, root_by_path, value_of
from fairline.domain.events import Event, EventType
from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.opening import After, Opening, OpeningState
from fairline.domain.opening_steps import in_force
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.domain.rehearsal import RehearsalStep, StepName, rehearsal_settings, rehearsed_fields
from fairline.domain.ticket import Status
from fairline.errors import FairlineError, QueueNotFound, TicketExpired, TransitionRefused
from fairline.service.answers import StatusAnswer
from fairline.service.draws import Draws
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings

#: The first step of the opening is this long after the rehearsal begins, and the start so long after that.
LEAD_SECONDS = 1.5
PREQUEUE_SECONDS = 4.0
#: How many people reload at once, to see whether they get a second place.
RELOADS = 10
#: How long people are let in at most. Those who still wait then have lost nothing.
ADMISSION_SECONDS = 14.0
#: A step that is taken later than this after its time is late.
LATE_MS = 1500
#: The rate is checked in spans of this many seconds; a tick lets in what the rate allows since the last one.
PACE_SECONDS = 5.0
POLL_SECONDS = 0.1

Note = Callable[[RehearsalStep], Awaitable[None]]


class Play:
    """One rehearsal, in the queue `stage`."""

    def __init__(
        self, service: Fairline, stage: QueueId, settings: QueueSettings, opening: Opening, people: int
    ) -> None:
        self._service = service
        self._store = service.store
        self._stage = stage
        self._openings = Openings(service)
        self._settings = settings
        self._plan = opening
        self._clients = [secrets.token_hex(8) for _ in range(people)]
        self._numbers: list[int] = []
        self._opening = ""
        self._beat_at = 0.0
        self.at = StepName.PREQUEUE
        """What is being looked at."""

    async def prepare(self) -> None:
        """Make the queue with the opening in small."""
        base = rehearsal_settings(self._settings, len(self._clients))
        await self._store.create(self._stage, base)
        during = in_force(self._settings, self._plan)
        now = datetime.fromtimestamp(await self._store.time() / 1000, UTC)
        begins = now + timedelta(seconds=LEAD_SECONDS)
        starts = begins + timedelta(seconds=PREQUEUE_SECONDS) if self._plan.prequeue_at else begins
        fields: dict[str, Any] = {
            "name": "rehearsal",
            "prequeue_at": begins if self._plan.prequeue_at else None,
            "starts_at": starts,
            "draw": self._plan.draw,
            "settings": rehearsed_fields(during, self._plan),
            "add_stock": len(self._clients) if self._plan.add_stock else None,
            "recheck_inside": self._plan.recheck_inside,
            "after": self._plan.after,
        }
        try:
            self._opening = (await self._openings.create(self._stage, fields)).opening.id
        except BaseException:
            await self.wipe()
            raise

    async def wipe(self) -> None:
        """Delete the queue with all that is in it."""
        with suppress(QueueNotFound):
            await self._service.delete(self._stage)

    async def is_gone(self) -> bool:
        """Whether nothing of it is left."""
        return self._stage not in await self._store.queues()

    async def run(self, note: Note) -> None:
        """Play through it."""
        if self._plan.prequeue_at:
            self.at = StepName.PREQUEUE
            await self._reach(OpeningState.PREQUEUE)
            await note(await self._on_time(StepName.PREQUEUE, EventType.PREQUEUE_OPENED))
            self.at = StepName.JOIN
            await note(await self._join())
            self.at = StepName.HELD
            await note(await self._held())
        self.at = StepName.START
        await self._reach(OpeningState.OPEN)
        await note(await self._on_time(StepName.START, EventType.OPENING_STARTED))
        if not self._plan.prequeue_at:
            self.at = StepName.JOIN
            await note(await self._join())
        order = list(self._numbers)
        if self._plan.drawn:
            self.at = StepName.RECEIPTS
            step, order = await self._receipts()
            await note(step)
        self.at = StepName.ORDER
        admitted = await self._let_in()
        await note(_in_order(order, [event.ticket for event in admitted]))
        self.at = StepName.PACE
        await note(await self._paced(admitted))
        self.at = StepName.EVERYONE
        await note(await self._everyone(admitted))
        self.at = StepName.END
        await note(await self._end())

    async def _opening_now(self) -> tuple[Opening, QueueSettings]:
        found = await self._openings.one(self._stage, self._opening)
        return found.opening, found.configured.settings

    async def _reach(self, state: OpeningState) -> None:
        """Wait until the opening is as far, or farther."""
        states = list(OpeningState)
        while states.index((await self._opening_now())[0].state) < states.index(state):
            if self._numbers:
                await self._beat()
            await asyncio.sleep(POLL_SECONDS)

    async def _events(self, *kinds: EventType) -> list[Event]:
        found: list[Event] = []
        after = None
        while events := await self._service.events(self._stage, after):
            found += [event for event in events if event.type in kinds]
            after = events[-1].id
        return found

    async def _on_time(self, name: StepName, kind: EventType) -> RehearsalStep:
        opening, _ = await self._opening_now()
        due = opening.begins_ms if name is StepName.PREQUEUE else opening.closes_ms
        (event,) = await self._events(kind)
        late = max(0, event.at - due)
        if name is StepName.START and opening.drawn:
            found = "drawn" if opening.count == len(self._numbers) else "drawn_others"
            values: dict[str, str | int | float] = {
                "drawn": opening.count,
                "people": len(self._numbers),
                "seconds": round(late / 1000, 1),
            }
            return RehearsalStep(name, passed=found == "drawn", found=found, values=values)
        return RehearsalStep(name, late <= LATE_MS, "on_time" if late <= LATE_MS else "late", {"ms": late})

    async def _join(self) -> RehearsalStep:
        """Everyone joins, and some join again."""

        async def join(client: str) -> StatusAnswer:
            return await self._service.join(self._stage, JoinRequest(client_id=client), Caller(visitor=client))

        answers = await asyncio.gather(*map(join, self._clients))
        self._numbers = sorted(each.ticket_status.number for each in answers)
        again = await asyncio.gather(*map(join, self._clients[:RELOADS]))
        first = [each.ticket_status.number for each in answers[:RELOADS]]
        once = len(set(self._numbers)) == len(self._clients)
        kept = [each.ticket_status.number for each in again] == first
        found = "joined" if once and kept else "joined_twice"
        return RehearsalStep(StepName.JOIN, found == "joined", found, {"n": len(self._numbers)})

    async def _statuses(self) -> list[StatusAnswer]:
        found = await self._service.statuses(self._stage, self._numbers)
        answers = [each for each in found if isinstance(each, StatusAnswer)]
        if len(answers) < len(found):
            raise next(each for each in found if isinstance(each, FairlineError))
        return answers

    async def _held(self) -> RehearsalStep:
        """Nobody is let in before the start."""
        answers = await self._statuses()
        held = all(each.ticket_status.status is Status.WAITING for each in answers)
        unplaced = all(each.ticket_status.position is None for each in answers)
        found = "held" if held and unplaced else "let_in_early" if not held else "had_position"
        return RehearsalStep(StepName.HELD, found == "held", found)

    async def _receipts(self) -> tuple[RehearsalStep, list[int]]:
        """Check everyone's receipt against what is published, and return the order drawn."""
        draws = Draws(self._store)
        ranks: dict[int, int] = {}
        proved = 0
        for answer in await self._statuses():
            receipt = await draws.receipt(self._stage, answer.ticket_status)
            state = await draws.state(receipt.draw)
            leaf = leaf_of(receipt.label, receipt.nonce)
            key = draw_key(state.secret or b"", state.randomness or b"", state.root or b"")
            entries = [entry.leaf async for entry in draws.entries(state)]
            proved += (
                commitment(state.secret or b"") == state.commitment
                and root_by_path(leaf, receipt.path) == state.root
                and value_of(key, leaf) == receipt.value
                and entries[receipt.rank - 1] == leaf
            )
            ranks[answer.ticket_status.number] = receipt.rank
        order = sorted(ranks, key=ranks.__getitem__)
        whole = sorted(ranks.values()) == list(range(1, len(self._numbers) + 1)) and proved == len(self._numbers)
        found = "proved" if whole else "not_proved"
        return RehearsalStep(StepName.RECEIPTS, whole, found, {"n": proved, "people": len(self._numbers)}), order

    async def _let_in(self) -> list[Event]:
        """Wait until all are let in, or the time is over; who is let in comes and leaves again at once."""
        during = (await self._opening_now())[1]
        deadline = time.monotonic() + ADMISSION_SECONDS
        came_in: list[Event] = []
        while len(came_in) < len(self._numbers) and time.monotonic() < deadline:
            if during.by_hand:
                await self._service.call_next(self._stage, min(5, len(self._numbers)))
            await self._beat()
            await asyncio.sleep(POLL_SECONDS)
            came_in = await self._events(EventType.ADMITTED, EventType.CALLED)
        return came_in

    async def _beat(self) -> None:
        """Those who wait send heartbeats; those who were let in come, and leave again."""
        waiting: list[int] = []
        for each in await self._statuses():
            status = each.ticket_status
            if status.status is Status.WAITING:
                waiting.append(status.number)
            elif status.status is Status.ADMITTED:
                await self._service.start(self._stage, status.number, f"{self._stage}-{status.number}")
                await self._service.complete(self._stage, status.number)
        if time.monotonic() - self._beat_at > 1.0:
            self._beat_at = time.monotonic()
            await asyncio.gather(*map(self._heartbeat, waiting))

    async def _heartbeat(self, number: int) -> None:
        with suppress(TicketExpired, TransitionRefused):  # let in meanwhile
            await self._service.heartbeat(self._stage, number)

    async def _paced(self, admitted: list[Event]) -> RehearsalStep:
        """In no span were more people let in than the rate allows."""
        _, settings = await self._opening_now()
        rate = settings.admission_rate
        if settings.by_hand:
            return RehearsalStep(StepName.PACE, passed=True, found="called", values={"n": len(admitted)})
        if not admitted:
            return RehearsalStep(StepName.PACE, passed=False, found="nobody_let_in")
        allowed = settings.bucket + rate * (PACE_SECONDS + 1)
        times = [event.at for event in admitted]
        most = max(sum(at <= other < at + 1000 * PACE_SECONDS for other in times) for at in times)
        seconds = round(max(1.0, (times[-1] - times[0]) / 1000), 1)
        kept = most <= allowed
        rehearsed = rate != in_force(self._settings, self._plan).admission_rate
        found = "too_fast" if not kept else "pace_raised" if rehearsed else "pace_kept"
        values: dict[str, str | int | float] = {"n": len(admitted), "seconds": seconds, "rate": rate}
        return RehearsalStep(StepName.PACE, kept, found, values)

    async def _everyone(self, admitted: list[Event]) -> RehearsalStep:
        """Everyone was let in once, or waits still."""
        await self._beat()
        numbers = [event.ticket for event in admitted]
        answers = await self._statuses()
        waiting = {each.ticket_status.number for each in answers if each.ticket_status.status is Status.WAITING}
        done = {each.ticket_status.number for each in answers if each.ticket_status.status is Status.COMPLETED}
        lost = len(set(self._numbers) - waiting - done)
        twice = len(numbers) - len(set(numbers))
        found = "lost" if lost else "twice" if twice else "all_here"
        values: dict[str, str | int | float] = {"done": len(done), "waiting": len(waiting), "n": lost or twice}
        return RehearsalStep(StepName.EVERYONE, found == "all_here", found, values)

    async def _end(self) -> RehearsalStep:
        """End it, and look at what it leaves behind."""
        ends = datetime.fromtimestamp(await self._store.time() / 1000, UTC) + timedelta(seconds=1.2)
        await self._openings.change(self._stage, self._opening, {"ends_at": ends})
        await self._reach(OpeningState.ENDED)
        opening, settings = await self._opening_now()
        base = rehearsal_settings(self._settings, len(self._clients))
        restored = replace(settings, openings=(), stock=base.stock) == base
        closes = opening.after is After.CLOSE
        good = restored and settings.status is QueueStatus.MAINTENANCE
        found = ("closed" if closes else "restored") if good else "not_restored"
        return RehearsalStep(StepName.END, good, found)


def _in_order(order: list[int], admitted: list[int | None]) -> RehearsalStep:
    """Whether people were let in in this order, as far as they were."""
    expected = order[: len(admitted)]
    wrong = sum(one != other for one, other in zip(expected, admitted, strict=True))
    found = "out_of_order" if wrong else "in_order" if admitted else "nobody_let_in"
    return RehearsalStep(StepName.ORDER, found == "in_order", found, {"n": len(admitted), "wrong": wrong})
