"""The model that every store is compared with: all the operations on a queue, over a plain list of tickets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from fairline.domain.events import EventType
from fairline.domain.opening import Phase
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.domain.ticket import LIVE, REASONS, TAKES_BACK, Action, Status, Ticket, TicketStatus, Went
from fairline.domain.waits import Cause
from fairline.errors import (
    AtCapacity,
    FairlineError,
    HolderInLine,
    IdempotencyConflict,
    InGroup,
    QueueHeldBack,
    QueuePaused,
    SessionTaken,
    SettingsChanged,
    TicketNotFound,
    TokenInvalid,
    TransitionRefused,
)
from fairline.store.values import Configured, Lapsed, Swept
from fairline.store.visits import Visit, Visitor
from tests.model.arrivals import Arrivals
from tests.model.draws import Draws
from tests.model.records import Desk, Entry, Pressed, Revocation

CALLS_KEPT = 86_400_000


class Model(Arrivals, Draws):
    """One queue. The operations have the names and the answers of the store's."""

    def configure(
        self, settings: QueueSettings, version: int, event: tuple[EventType, str] | None = None
    ) -> Configured:
        if version != self.version:
            raise SettingsChanged(version, self.version)
        before, self.settings = self.settings, settings
        self.version += 1
        if before.status is QueueStatus.ACTIVE and settings.status is not QueueStatus.ACTIVE:
            self._note_slowed(Cause.PAUSED)
        elif settings.admission_rate < 0.8 * before.admission_rate:
            self._note_slowed(Cause.RATE_CHANGED)
        elif settings.max_active < 0.8 * before.max_active:
            self._note_slowed(Cause.CAPACITY_REDUCED)
        self._event(EventType.SETTINGS_CHANGED, detail=str(self.version))
        if event:
            self._event(event[0], detail=event[1])
        return Configured(settings, self.version)

    # People who wait

    def heartbeat(self, numbers: Sequence[int]) -> list[TicketStatus | None]:
        return [self._heartbeat(n) for n in numbers]

    def _heartbeat(self, number: int) -> TicketStatus | None:
        t = self.find(number)
        if t and t.status is Status.WAITING:
            t.leaving, t.due = False, self._extended(t)
        return self.ticket_status(t) if t else None

    def close_page(self, numbers: Sequence[int]) -> list[TicketStatus | None]:
        return [self._close_page(n) for n in numbers]

    def _close_page(self, number: int) -> TicketStatus | None:
        t = self.find(number)
        if t and t.status is Status.WAITING and not t.leaving:
            due, kept = self._extended(t), self.clock + self.settings.closed_page_seconds * 1000
            t.due = due and max(due, kept)
        return self.ticket_status(t) if t else None

    def keep(self, numbers: Sequence[int]) -> None:
        for t in filter(None, map(self.find, numbers)):
            if t.status is Status.WAITING and not t.leaving:
                t.due = self._extended(t)

    def unload(self, numbers: Sequence[int]) -> list[TicketStatus | None]:
        return [self._unload(n) for n in numbers]

    def _unload(self, number: int) -> TicketStatus | None:
        t = self.find(number)
        if t and t.status is Status.WAITING and not t.leaving:
            t.leaving, t.due = True, self.clock + self.settings.grace_seconds * 1000
        return self.ticket_status(t) if t else None

    def prioritise(self, number: int, level: int) -> Ticket:
        t = self._wanted(number, Action.PRIORITISE)
        self._check_not_drawing()
        self._check_alone(t)
        others = [other.place for other in self.line() if other is not t]
        place = self._next_place(others, level)
        if place < t.place or level > t.level:
            # A level of another policy's time, and a place of this one: neither promises anything of the other.
            t.policy = self.settings.priority_policy if level >= t.level else None
        rank = self.line().index(t)
        t.place, t.level = min(t.place, place), max(t.level, level)
        self._note_passed(rank - self.line().index(t))
        self._event(EventType.PRIORITISED, t.number, str(level))
        return self.ticket(t)

    def step_back(self, number: int, places: int, seen: int | None) -> Ticket:
        t = self._wanted(number, Action.STEP_BACK)
        self._check_not_drawing()
        self._check_alone(t)
        line = self.line()
        rank = line.index(t)
        behind = line[rank + 1 : rank + 1 + places]
        if behind and (seen is None or rank + 1 <= seen):
            dealt = self.order.step_back([other.place for other in line], rank, places, t.level)
            for other, place in zip([*behind, t], dealt, strict=True):
                other.place, other.policy = place, None
            self._event(EventType.STEPPED_BACK, number, str(len(behind)))
        return self.ticket(t)

    def _check_alone(self, t: Entry) -> None:
        if len(self.company(t.group)) > 1:
            raise InGroup

    def _check_not_drawing(self) -> None:
        if self.settings.phase is Phase.DRAWING:
            raise QueueHeldBack(self.queue)

    # Letting in

    def admit(self, at_most: int, *, every: float, lease: float) -> list[int]:
        bucket, now = self.bucket, self.now()
        if bucket.ticked is not None and 0 <= now - bucket.ticked < lease * 1000:
            return []
        self._measure()
        tokens = self._tokens(every)
        bucket.at = bucket.ticked = now
        if not self._lets_in():
            bucket.tokens, bucket.token_awaited = min(tokens, self._most()), False
            return []
        free, line = self._free_capacity(), self.line()
        going = self._next_together(min(math.floor(tokens), free, at_most), free)
        for t in going:
            self._move(t, Action.ADMIT)
        bucket.tokens = tokens - len(going)
        waits_on = len(line) > len(going) and free > len(going)
        bucket.token_awaited = waits_on and (bucket.tokens < 1 or len(going) >= at_most)
        return [t.number for t in going]

    def _next_together(self, many: int, free: int) -> list[Entry]:
        """The first in line, with each group whole, or nobody from a group on that has to wait for room."""
        s = self.settings
        most = s.max_active if s.stock is None else min(s.max_active, s.stock - self.completed)
        going: list[Entry] = []
        for t in self.line():
            if len(going) >= many:
                break
            if t in going:
                continue
            together = [each for each in self.company(t.group) if not each.on_hold] or [t]
            room = free - len(going)
            if len(together) > room and (going or len(together) <= most):
                break
            going += together[:room]
        return going

    def call_next(self, count: int, *, desk: str, key: bytes, number: int | None) -> list[Ticket]:
        press = (count, number, desk)
        if key and (before := self.calls.get(key)):
            if before.press != press:
                raise IdempotencyConflict
            return [ticket for ticket in self.look_up(before.numbers) if ticket]
        if self.settings.status is not QueueStatus.ACTIVE:
            raise QueuePaused(self.queue, self.settings.status)
        if self._held_back():
            raise QueueHeldBack(self.queue)
        free = self._free_capacity()
        if number is None:
            called = self._next_together(min(count, free), free)
        else:
            called = [self._wanted(number, Action.CALL)][:free]
        answers = []
        if called and desk:
            self._note_desk(desk, len(called))
        for t in called:
            t.desk = desk
            self._move(t, Action.CALL)
            answers.append(self.ticket(t))
        if key and called:
            self.calls[key] = Pressed(press, [t.number for t in called], self.clock + CALLS_KEPT)
        return answers

    def _note_desk(self, name: str, many: int) -> None:
        now, before = self.now(), self.desks.get(name)
        idle = self.settings.desk_idle_seconds * 1000
        if before and 0 < now - before.called < idle and self.empty_at <= before.called:
            cycle = (now - before.called) // before.many
            self.cycles = [cycle, *self.cycles][: self.settings.wait_sample]
        self.desks[name] = Desk(now, many)

    # Inside, and out

    def visit(self, what: Visit, visitors: Iterable[Visitor]) -> list[TicketStatus | FairlineError]:
        return [self._visit(what, *visitor) for visitor in visitors]

    def _visit(
        self, what: Visit, number: int, by: bytes, views: int, joined: int | None
    ) -> TicketStatus | FairlineError:
        t = self.find(number)
        if t is None:
            return TicketNotFound(self.queue, number)
        if joined not in (None, t.joined):
            return TokenInvalid("it is for a queue that is no more")
        if t.status is Status.ADMITTED and what != "touch":
            t.by = by
            self._move(t, Action.START)
        if t.status is not Status.ACTIVE:
            return TransitionRefused(Action.TOUCH if what == "touch" else Action.START, t.found, t.reason)
        if t.by != by and (what == "start" or not _is_by(t.by, by)):
            return SessionTaken()
        if what != "start" and views:
            t.views += views
            t.due = self._active_due(t)
        return self.ticket_status(t)

    def transfer(self, number: int, went: Went) -> Ticket:
        t = self.find(number)
        if t is None or t.went != went:
            t = self._wanted(number, Action.TRANSFER)
            t.went = went
            self._move(t, Action.TRANSFER, REASONS[Action.TRANSFER], f"{went.queue} {went.number}")
        return self.ticket(t)

    def act(self, action: Action, numbers: Iterable[int]) -> list[TicketStatus | FairlineError]:
        return [self._answer(partial(self._act, action, n)) for n in numbers]

    def _act(self, action: Action, number: int) -> TicketStatus:
        t = self._wanted(number, action)
        if action in TAKES_BACK:
            self._take_back(t, action)
        elif action in (Action.HOLD, Action.RELEASE):
            if t.status is Status.ADMITTED:
                self._move(t, Action.RETURN)
            elif not self.line():
                self.empty_at = self.now()
            t.on_hold = action is Action.HOLD
            self._event(EventType.PUT_ON_HOLD if t.on_hold else EventType.RELEASED, t.number)
        else:
            self._move(t, action, REASONS.get(action))
        return self.ticket_status(t)

    def _take_back(self, t: Entry, action: Action) -> None:
        if t.reason not in TAKES_BACK[action]:
            raise TransitionRefused(action, t.found, t.reason)
        if t.holder and any(other.holder == t.holder for other in self.having(*LIVE)):
            raise HolderInLine(self.queue)
        if action is Action.REINSTATE and not self._free_capacity():
            raise AtCapacity(self.queue)
        self.expired[t.reason] -= 1
        if action is Action.PUT_BACK:
            if not t.admitted:
                self._unmeasure_end(t)
            while any(other.place == t.place for other in (*self.line(), *self.aside())):
                t.place += 1
        t.reason, t.ended = None, 0
        self._move(t, action)

    def _answer(self, ask: Callable[[], TicketStatus]) -> TicketStatus | FairlineError:
        try:
            return ask()
        except FairlineError as error:
            return error

    def revoke(self, number: int, reason: str) -> Ticket:
        t = self._wanted(number, Action.REVOKE)
        self._move(t, Action.REVOKE, REASONS[Action.REVOKE])
        self.revocations[number] = Revocation(reason, self.clock + self.settings.session_max_seconds * 1000)
        return self.ticket(t)

    def revoked(self) -> dict[int, str]:
        return {number: it.reason for number, it in sorted(self.revocations.items())}

    # Keeping

    def sweep(self, at_most: int, *, every: float, lease: float) -> Swept:
        now, every_ms = self.now(), round(every * 1000)
        away = now - self.swept_at
        if 0 <= away < lease * 1000:
            return Swept([], more=at_most <= 0)
        if away < 0:
            self.stopped += away  # the store's clock was set back; the queue's goes on from where it was
        elif away > 1.5 * every_ms:
            self.stopped += away - every_ms
            self._event(EventType.CLOCK_STOPPED, detail=f"{(away - every_ms) / 1000:.17g}")
        self.swept_at = now
        due = sorted(self._all_due())[:at_most]
        lapsed = []
        for _, member in due:
            t = self.find(int(member)) if member.isdigit() else None
            if t is None:
                self._clear(member)
            elif t.status in LIVE:
                reason = self._lapse_reason(t)
                self._move(t, Action.LAPSE, reason)
                lapsed.append(Lapsed(t.number, reason))
            else:
                self.tickets.remove(t)
        return Swept(lapsed, more=len(due) >= at_most)

    def _all_due(self) -> Iterable[tuple[float, bytes]]:
        """Everything whose time has come, with the name it has among the deadlines."""
        every = [(t.due, str(t.number).encode()) for t in self.tickets if t.due is not None]
        every += [(call.due, b"k" + key) for key, call in self.calls.items()]
        every += [(it.due, b"r%d" % number) for number, it in self.revocations.items()]
        every += [(it.due, b"p" + name.encode()) for name, it in self.passes_issued.items()]
        return [(due, member) for due, member in every if due <= self.clock]

    def _clear(self, member: bytes) -> None:
        kind, name = member[:1], member[1:]
        if kind == b"k":
            del self.calls[name]
        elif kind == b"r":
            del self.revocations[int(name)]
        else:
            del self.passes_issued[name.decode()]


def _is_by(started: bytes, by: bytes) -> bool:
    return started == by or (by != b"" and started.endswith(by))
