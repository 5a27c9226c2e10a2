"""A queue as a plain list of tickets, and what there is to see of it.

Nothing here is clever. Who waits, who holds what and how many are inside is looked up in the list each time it is asked
for, so there is nothing that could disagree with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import pstdev
from typing import Any

from fairline.domain.events import EventType
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import Admission, QueueSettings
from fairline.domain.ticket import Reason, Status, Ticket, TicketStatus
from fairline.store.contract import Clock
from fairline.store.values import Frozen, Group
from tests.model.order import Order
from tests.model.records import Bucket, Desk, Entry, Flow, Happened, Issued, Pressed, Revocation


@dataclass
class State:
    """What a queue is at one moment."""

    queue: QueueId
    settings: QueueSettings
    now: Clock
    version: int = 1
    number: int = 0
    stopped: int = 0
    swept_at: int = 0
    completed: int = 0
    last_admission: int | None = None
    peak: int = 0
    tickets: list[Entry] = field(default_factory=list)
    order: Order = field(default_factory=Order)
    bucket: Bucket = field(default_factory=Bucket)
    flow: Flow = field(default_factory=Flow)
    passes_issued: dict[str, Issued] = field(default_factory=dict)
    calls: dict[bytes, Pressed] = field(default_factory=dict)
    revocations: dict[int, Revocation] = field(default_factory=dict)
    hits: dict[str, list[int]] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    expired: Counter[Reason] = field(default_factory=Counter)
    desks: dict[str, Desk] = field(default_factory=dict)
    cycles: list[int] = field(default_factory=list)
    empty_at: int = 0
    head_joined: int = 0
    passed_at: int = 0
    slowed_at: int = 0
    slowed: int = 0
    aged_at: int | None = None
    left_by_age: list[float] = field(default_factory=list)
    waited_by_age: list[float] = field(default_factory=list)
    groups: dict[int, int] = field(default_factory=dict)
    """When the first of each group joined."""
    frozen: dict[str, Frozen] = field(default_factory=dict)
    entered: dict[int, int] = field(default_factory=dict)
    """The group of each who was frozen for one."""
    members: list[int] = field(default_factory=list)
    parts: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.swept_at = self.now()
        self._event(EventType.QUEUE_CREATED)

    @property
    def clock(self) -> int:
        """The queue's own time, which stands still in outages and never goes back."""
        return max(self.now(), self.swept_at) - self.stopped

    def line(self) -> list[Entry]:
        """Who waits, in order."""
        return sorted((t for t in self.having(Status.WAITING) if not t.on_hold), key=lambda t: t.place)

    def aside(self) -> list[Entry]:
        """Who is held, in order."""
        return sorted((t for t in self.tickets if t.on_hold), key=lambda t: t.place)

    def having(self, *states: Status) -> list[Entry]:
        """The tickets in some states, by number."""
        return [t for t in self.tickets if t.status in states]

    def inside(self) -> int:
        """How many take up capacity."""
        return len(self.having(Status.ADMITTED, Status.ACTIVE))

    def company(self, first: int) -> list[Entry]:
        """Who waits in a group, in the order of joining."""
        return [t for t in self.having(Status.WAITING) if first and t.group == first]

    def group(self, number: int) -> Group | None:
        t = self.find(number)
        if not t or t.status is not Status.WAITING:
            return None
        return (
            Group(t.group, self.groups[t.group], len(self.company(t.group))) if t.group else Group(number, t.joined, 1)
        )

    def find(self, number: int) -> Entry | None:
        """The ticket of a number."""
        return next((t for t in self.tickets if t.number == number), None)

    def _free_capacity(self) -> int:
        s, inside = self.settings, self.inside()
        free = s.max_active - inside
        if s.stock is not None:
            free = min(free, s.stock - self.completed - inside)
        elif s.stock_url:
            free = 0
        return max(0, free)

    # As the store shows it

    def snapshot(self) -> QueueSnapshot:
        return QueueSnapshot(
            now=self.now(),
            stopped=self.stopped,
            version=self.version,
            waiting=len(self.line()),
            admitted=len(self.having(Status.ADMITTED)),
            active=len(self.having(Status.ACTIVE)),
            completed=self.completed,
            stay_seconds=self.flow.stay,
            leave_rate=self.flow.left / self.flow.waited if self.flow.waited > 0 else 0,
            call_rate=self.flow.called / self.flow.span if self.flow.span > 0 else 0,
            out_rate=self.flow.out / self.flow.inside if self.flow.inside > 0 else 0,
            stays_seen=self.flow.out,
            on_hold=len(self.aside()),
            desks_open=len(self._open_desks()),
            cycles=len(self.cycles),
            cycle_seconds=sum(self.cycles) / len(self.cycles) / 1000 if self.cycles else 0,
            calls_seen=self.flow.called,
            tokens=self.bucket.tokens or 0,
            tokens_at=self.bucket.at or 0,
            cycle_spread=pstdev(self.cycles) / 1000 if self.cycles else 0,
            head_joined=self.head_joined,
            pass_rate=self._pass_rate(),
            passed_at=self.passed_at,
            slowed_at=self.slowed_at,
            slowed=self.slowed,
            left_by_age=tuple(self.left_by_age),
            waited_by_age=tuple(self.waited_by_age),
            silences=tuple(
                max(0, self.now() - max(called, self.empty_at)) / 1000 if self.line() else 0
                for called in sorted(desk.called for desk in self._open_desks())
            ),
        )

    def _pass_rate(self) -> float:
        flow, waiting = self.flow, len(self.line())
        if not flow.passed or not waiting or not flow.span:
            return 0.0
        return flow.passed / waiting / (150 * (1 - (1 - min(1, flow.span / 600)) ** 4))

    def _open_desks(self) -> list[Desk]:
        oldest = self.now() - self.settings.desk_idle_seconds * 1000
        manual = self.settings.admission is Admission.MANUAL
        return [desk for desk in self.desks.values() if manual and desk.called > oldest]

    def ticket_status(self, t: Entry) -> TicketStatus:
        return TicketStatus(**self._seen(t))

    def ticket(self, t: Entry) -> Ticket:
        return Ticket(
            **self._seen(t),
            place=t.place,
            admitted=t.admitted,
            started=t.started,
            ended=t.ended,
            page_views=t.views,
            client=t.client,
            person=t.person,
            went=t.went,
        )

    def _seen(self, t: Entry) -> dict[str, Any]:
        """What everyone who asks for a ticket hears."""
        return {
            "number": t.number,
            "status": t.status,
            "priority": t.level,
            "joined": t.joined,
            "reason": t.reason,
            "position": self._position(t),
            "deadline": self._deadline(t),
            "leaving": t.leaving,
            "desk": t.desk or None,
            "on_hold": t.on_hold,
            "drawn_rank": t.drawn_rank,
            "drawn_in": t.drawn_in,
        }

    def status(self, numbers: Sequence[int]) -> list[TicketStatus | None]:
        return [self.ticket_status(t) if (t := self.find(n)) else None for n in numbers]

    def look_up(self, numbers: Sequence[int]) -> list[Ticket | None]:
        return [self.ticket(t) if (t := self.find(n)) else None for n in numbers]

    def _position(self, t: Entry) -> int | None:
        line = self.line()
        return line.index(t) + 1 if t in line else None

    def _deadline(self, t: Entry) -> int | None:
        return None if t.due is None else int(t.due) + self.stopped

    # What happened

    def expired_by_reason(self) -> dict[Reason, int]:
        return {reason: count for reason, count in self.expired.items() if count}

    def _event(self, kind: EventType, number: int | None = None, detail: str = "") -> None:
        self.happened.append((kind, self.now(), number, detail or None))
