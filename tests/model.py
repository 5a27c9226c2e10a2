"""A queue as a plain list of tickets: what every store is compared with.

Nothing here is clever. Who waits, who holds what and how many are inside is looked up in the list each time it is asked
for, so there is nothing that could disagree with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from fairline.errors import (
    FairlineError,
    HolderInLine,
    IdempotencyConflict,
    NoRoom,
    PassInvalid,
    PassNotFound,
    QueueFull,
    QueueMaintenance,
    QueuePaused,
    RateLimited,
    SessionTaken,
    SettingsChanged,
    TicketNotFound,
    TransitionRefused,
)
from fairline.events import EventType
from fairline.line import Order, PriorityPolicy
from fairline.queue import Admission, OnePer, QueueId, QueueSettings, QueueStatus, QueueView
from fairline.store.contract import Arrival, Clock, Configured, Joined, Lapsed, Pass, Swept, Visit, Visitor
from fairline.ticket import (
    LIVE,
    REASONS,
    REINSTATED,
    TRANSITIONS,
    Action,
    Person,
    Reason,
    Standing,
    Status,
    Ticket,
    Went,
    goes_to,
)

ADDRESS_WINDOW, PHONE_WINDOW, CALLS_KEPT = 60_000, 3_600_000, 86_400_000
EVENT_OF = {
    Action.ADMIT: EventType.ADMITTED,
    Action.CALL: EventType.CALLED,
    Action.RECALL: EventType.RECALLED,
    Action.RETURN: EventType.RETURNED,
    Action.START: EventType.STARTED,
    Action.COMPLETE: EventType.COMPLETED,
    Action.TRANSFER: EventType.TRANSFERRED,
}

Holder = tuple[OnePer, bytes]
Happened = tuple[EventType, int, int | None, str | None]


@dataclass
class Entry:
    """One ticket. `due` and `cap` are in the queue's time, the others in the store's."""

    number: int
    level: int
    place: float
    policy: PriorityPolicy | None
    """By which it has this level and place; None where someone let others pass."""
    joined: int
    client: bytes
    holder: Holder | None
    key: bytes
    fingerprint: bytes
    person: Person
    due: float | None
    status: Status = Status.WAITING
    reason: Reason | None = None
    leaving: bool = False
    admitted: int = 0
    started: int = 0
    ended: int = 0
    cap: float = 0
    views: int = 0
    by: bytes = b""
    counter: str = ""
    held: bool = False
    went: Went | None = None

    @property
    def found(self) -> str:
        return "held" if self.held else self.status.value


@dataclass
class Desk:
    """A desk: when it last called, and how many."""

    called: int
    many: int


@dataclass
class Issued:
    """A priority pass."""

    level: int
    uses: int
    expires: int
    due: float
    used: int = 0


@dataclass
class Pressed:
    """A *call next* with an idempotency key."""

    press: tuple[int, int | None, str]
    numbers: list[int]
    due: float


@dataclass
class Revocation:
    """Why a ticket was revoked."""

    reason: str
    due: float


@dataclass
class Flow:
    """What is measured of the line and the inside."""

    at: int | None = None
    span: float = 0
    waited: float = 0
    left: float = 0
    called: float = 0
    stay: float = 0
    stays: int = 0
    inside: float = 0
    out: float = 0


@dataclass
class Bucket:
    """Tokens, and when they were counted."""

    tokens: float | None = None
    at: int | None = None
    ticked: int | None = None
    """When a keeper last looked."""
    held: bool = False
    """Someone waited for nothing but the next token."""


@dataclass
class Model:
    """One queue. The operations have the names and the answers of the store's."""

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

    def __post_init__(self) -> None:
        self.swept_at = self.now()
        self._event(EventType.QUEUE_CREATED)

    # What there is

    @property
    def clock(self) -> int:
        """The queue's own time, which stands still in outages and never goes back."""
        return max(self.now(), self.swept_at) - self.stopped

    def line(self) -> list[Entry]:
        """Who waits, in order."""
        return sorted((t for t in self.having(Status.WAITING) if not t.held), key=lambda t: t.place)

    def aside(self) -> list[Entry]:
        """Who is held, in order."""
        return sorted((t for t in self.tickets if t.held), key=lambda t: t.place)

    def having(self, *states: Status) -> list[Entry]:
        """The tickets in some states, by number."""
        return [t for t in self.tickets if t.status in states]

    def inside(self) -> int:
        """How many take up room."""
        return len(self.having(Status.ADMITTED, Status.ACTIVE))

    def find(self, number: int) -> Entry | None:
        """The ticket of a number."""
        return next((t for t in self.tickets if t.number == number), None)

    def view(self) -> QueueView:
        return QueueView(
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
            held=len(self.aside()),
            desks_open=len(self._open_desks()),
            cycles=len(self.cycles),
            cycle_seconds=sum(self.cycles) / len(self.cycles) / 1000 if self.cycles else 0,
        )

    def _open_desks(self) -> list[Desk]:
        oldest = self.now() - self.settings.desk_idle_seconds * 1000
        manual = self.settings.admission is Admission.MANUAL
        return [desk for desk in self.desks.values() if manual and desk.called > oldest]

    def standing(self, t: Entry) -> Standing:
        return Standing(
            number=t.number,
            status=t.status,
            priority=t.level,
            joined=t.joined,
            reason=t.reason,
            position=self._position(t),
            deadline=self._deadline(t),
            leaving=t.leaving,
            counter=t.counter or None,
            held=t.held,
        )

    def ticket(self, t: Entry) -> Ticket:
        return Ticket(
            number=t.number,
            status=t.status,
            priority=t.level,
            joined=t.joined,
            reason=t.reason,
            position=self._position(t),
            deadline=self._deadline(t),
            leaving=t.leaving,
            place=t.place,
            admitted=t.admitted,
            started=t.started,
            ended=t.ended,
            page_views=t.views,
            counter=t.counter or None,
            held=t.held,
            client=t.client,
            person=t.person,
            went=t.went,
        )

    def rank(self, numbers: Sequence[int]) -> list[Standing | None]:
        return [self.standing(t) if (t := self.find(n)) else None for n in numbers]

    def look_up(self, numbers: Sequence[int]) -> list[Ticket | None]:
        return [self.ticket(t) if (t := self.find(n)) else None for n in numbers]

    def expired_by_reason(self) -> dict[Reason, int]:
        return {reason: count for reason, count in self.expired.items() if count}

    def count(self, *kinds: EventType) -> int:
        """How often something happened."""
        return sum(kind in kinds for kind, *_ in self.happened)

    # The settings

    def configure(self, settings: QueueSettings, version: int) -> Configured:
        if version != self.version:
            raise SettingsChanged(version, self.version)
        self.settings = settings
        self.version += 1
        self._event(EventType.SETTINGS_CHANGED, detail=str(self.version))
        return Configured(settings, self.version)

    # People who wait

    def join(self, a: Arrival) -> Joined | FairlineError:
        """One arrival: a batch is one after the other."""
        if a.key and (again := next((t for t in self.tickets if t.key == a.key), None)):
            if again.fingerprint != a.fingerprint:
                return IdempotencyConflict()
            return Joined(self.ticket(again), created=False, proven=True, by_key=True)
        holder = self._holder_of(a)
        if holder and (held := next((t for t in self.having(*LIVE) if t.holder == holder), None)):
            return Joined(self.ticket(held), created=False, proven=a.client != b"" and a.client == held.client)
        return self._refusal(a) or Joined(self.ticket(self._enter(a, holder)), created=True, proven=True)

    def beat(self, numbers: Sequence[int]) -> list[Standing | None]:
        return [self._beat(n) for n in numbers]

    def unload(self, numbers: Sequence[int]) -> list[Standing | None]:
        return [self._unload(n) for n in numbers]

    def prioritise(self, number: int, level: int) -> Ticket:
        t = self._wanted(number, Action.PRIORITISE)
        others = [other.place for other in self.line() if other is not t]
        place = self._next_place(others, level)
        if place < t.place or level > t.level:
            t.policy = self.settings.priority_policy
        t.place, t.level = min(t.place, place), max(t.level, level)
        self._event(EventType.PRIORITISED, t.number, str(level))
        return self.ticket(t)

    def let_pass(self, number: int, places: int, seen: int | None) -> Ticket:
        t = self._wanted(number, Action.PASS)
        line = self.line()
        rank = line.index(t)
        behind = line[rank + 1 : rank + 1 + places]
        if behind and (seen is None or rank + 1 <= seen):
            dealt = self.order.let_pass([other.place for other in line], rank, places, t.level)
            for other, place in zip([*behind, t], dealt, strict=True):
                other.place, other.policy = place, None
            self._event(EventType.PASSED, number, str(len(behind)))
        return self.ticket(t)

    # Letting in

    def admit(self, at_most: int, *, every: float, lease: float) -> list[int]:
        bucket, now = self.bucket, self.now()
        if bucket.ticked is not None and 0 <= now - bucket.ticked < lease * 1000:
            return []
        self._measure()
        tokens = self._tokens(every)
        bucket.at = bucket.ticked = now
        if not self._lets_in():
            bucket.tokens, bucket.held = min(tokens, self._most()), False
            return []
        free, line = self._room(), self.line()
        going = line[: min(math.floor(tokens), free, at_most)]
        for t in going:
            self._move(t, Action.ADMIT)
        bucket.tokens = tokens - len(going)
        waits_on = len(line) > len(going) and free > len(going)
        bucket.held = waits_on and (bucket.tokens < 1 or len(going) == at_most)
        return [t.number for t in going]

    def _tokens(self, every: float) -> float:
        rate, bucket, most = self.settings.admission_rate, self.bucket, self._most()
        since = 0 if bucket.at is None else max(0, self.now() - bucket.at)
        tokens = most if bucket.tokens is None else bucket.tokens
        # Whoever waits for a token loses none by a late tick, up to two of them; otherwise burst is the most.
        limit = max(most, min(1.0, tokens) + 2 * rate * round(every * 1000) / 1000) if bucket.held else most
        return min(limit, tokens + rate * since / 1000)

    def _most(self) -> float:
        s = self.settings
        return max(1.0, s.admission_rate) if s.burst is None else s.burst

    def _lets_in(self) -> bool:
        s = self.settings
        return s.status is QueueStatus.ACTIVE and s.admission is Admission.AUTO and s.admission_rate > 0

    def call_next(self, count: int, *, counter: str, key: bytes, number: int | None) -> list[Ticket]:
        press = (count, number, counter)
        if key and (before := self.calls.get(key)):
            if before.press != press:
                raise IdempotencyConflict
            return [ticket for ticket in self.look_up(before.numbers) if ticket]
        if self.settings.status is not QueueStatus.ACTIVE:
            raise QueuePaused(self.queue, self.settings.status)
        wanted = self.line() if number is None else [self._wanted(number, Action.CALL)]
        called = wanted[: min(count if number is None else 1, self._room())]
        answers = []
        if called and counter:
            self._note_desk(counter, len(called))
        for t in called:
            t.counter = counter
            self._move(t, Action.CALL)
            answers.append(self.ticket(t))
        if key and called:
            self.calls[key] = Pressed(press, [t.number for t in called], self.clock + CALLS_KEPT)
        return answers

    # Inside, and out

    def visit(self, what: Visit, visitors: Iterable[Visitor]) -> list[Standing | FairlineError]:
        return [self._visit(what, *visitor) for visitor in visitors]

    def transfer(self, number: int, went: Went) -> Ticket:
        t = self.find(number)
        if t is None or t.went != went:
            t = self._wanted(number, Action.TRANSFER)
            t.went = went
            self._move(t, Action.TRANSFER, REASONS[Action.TRANSFER], f"{went.queue} {went.number}")
        return self.ticket(t)

    def act(self, action: Action, numbers: Iterable[int]) -> list[Standing | FairlineError]:
        return [self._answer(partial(self._act, action, n)) for n in numbers]

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

    def limit(self, who: str, action: str, limit: int, seconds: float) -> float:
        window, name = round(seconds * 1000), f"{who}:{action}"
        wait = self._blocked(name, limit, window)
        if not wait:
            self.hits[name].append(self.now())
        return wait / 1000

    # Passes

    def issue_pass(self, pass_id: str, level: int, uses: int, seconds: float) -> None:
        lasts = round(seconds * 1000)
        self.passes_issued[pass_id] = Issued(level, uses, self.now() + lasts, self.clock + lasts)

    def passes(self) -> list[Pass]:
        valid = [(name, p) for name, p in sorted(self.passes_issued.items()) if p.expires > self.now()]
        return [Pass(name, p.level, p.uses, p.used, p.expires) for name, p in valid]

    def withdraw_pass(self, pass_id: str) -> None:
        issued = self.passes_issued.pop(pass_id, None)
        if not issued or issued.expires <= self.now():
            raise PassNotFound(self.queue, pass_id)

    # The parts

    def _position(self, t: Entry) -> int | None:
        line = self.line()
        return line.index(t) + 1 if t in line else None

    def _deadline(self, t: Entry) -> int | None:
        return None if t.due is None else int(t.due) + self.stopped

    def _event(self, kind: EventType, number: int | None = None, detail: str = "") -> None:
        self.happened.append((kind, self.now(), number, detail or None))

    def _answer(self, ask: Callable[[], Standing]) -> Standing | FairlineError:
        try:
            return ask()
        except FairlineError as error:
            return error

    def _wanted(self, number: int, action: Action) -> Entry:
        """The ticket of a number, if the table lets it go this way."""
        t = self.find(number)
        if t is None:
            raise TicketNotFound(self.queue, number)
        if goes_to(t.status, action, held=t.held) is None:
            raise TransitionRefused(action, t.found, t.reason)
        return t

    def _holder_of(self, a: Arrival) -> Holder | None:
        kind = self.settings.one_per
        told = {OnePer.CLIENT: a.client, OnePer.USER: a.user, OnePer.PHONE: a.phone, OnePer.IP: a.address}
        return (kind, told[kind]) if told.get(kind) else None

    def _limits_of(self, a: Arrival) -> list[tuple[str, str, int, int]]:
        """Who is counted, under which name, how often they may, and in which window."""
        s = self.settings
        all_of_them = [
            ("address", a.address, f"ip:{a.address.hex()}:join", s.join_limit_per_ip, ADDRESS_WINDOW),
            ("phone", a.phone, f"phone:{a.phone.hex()}:join", s.join_limit_per_phone, PHONE_WINDOW),
        ]
        return [(who, name, limit, window) for who, told, name, limit, window in all_of_them if told and a.limited]

    def _refusal(self, a: Arrival) -> FairlineError | None:
        waiting = len(self.line())
        if self.settings.status is QueueStatus.MAINTENANCE:
            return QueueMaintenance(self.queue)
        if waiting >= self.settings.max_queue_size:
            return QueueFull(self.queue, waiting)
        if a.pass_id:
            issued = self.passes_issued.get(a.pass_id)
            if not issued or issued.expires <= self.now():
                return PassInvalid("it has ended or was withdrawn")
            if issued.used >= issued.uses:
                return PassInvalid("it is used up")
        for who, name, limit, window in self._limits_of(a):
            if limit and (wait := self._blocked(name, limit, window)):
                return RateLimited(who, wait / 1000)
        if a.through and not (self._lets_in() and not waiting and self._room() and self._tokens(0) >= 1):
            return NoRoom(self.queue)
        return None

    def _blocked(self, name: str, limit: int, window: int) -> int:
        """How many ms until one more is allowed. Hits leave in the order they came."""
        hits = self.hits.setdefault(name, [])
        while hits and hits[0] <= self.now() - window:
            hits.pop(0)
        return hits[-limit] + window - self.now() if len(hits) >= limit else 0

    def _enter(self, a: Arrival, holder: Holder | None) -> Entry:
        issued = self.passes_issued.get(a.pass_id)
        if issued:
            issued.used += 1
        for _, name, limit, _ in self._limits_of(a):
            if limit:
                self.hits[name].append(self.now())
        self.number += 1
        level = issued.level if issued else a.priority
        t = Entry(
            number=self.number,
            level=level,
            place=self._next_place([other.place for other in self.line()], level),
            policy=self.settings.priority_policy,
            joined=self.now(),
            client=a.client,
            holder=holder,
            key=a.key,
            fingerprint=a.fingerprint,
            person=a.person,
            due=self._waiting_due(),
        )
        if not self.line() and not a.through:
            self.empty_at = self.now()
        self.tickets.append(t)
        self._event(EventType.JOINED, t.number, str(level) if level else "")
        if a.through:
            self.bucket.tokens, self.bucket.at, self.bucket.held = self._tokens(0) - 1, self.now(), False
            self._move(t, Action.ADMIT)
        self.peak = max(self.peak, len(self.line()))
        return t

    def _next_place(self, line: Sequence[float], level: int) -> float:
        aside = [t.place for t in self.aside()]
        return self.order.next_place(line, level, self.settings.priority_policy, self.settings.priority_skip, aside)

    def _waiting_due(self) -> float | None:
        s = self.settings
        timeout = s.heartbeat_timeout_seconds
        return self.clock + (timeout + s.grace_seconds) * 1000 if timeout else None

    def _beat(self, number: int) -> Standing | None:
        t = self.find(number)
        if t and t.status is Status.WAITING:
            t.leaving, t.due = False, self._waiting_due()
        return self.standing(t) if t else None

    def _unload(self, number: int) -> Standing | None:
        t = self.find(number)
        if t and t.status is Status.WAITING and not t.leaving:
            t.leaving, t.due = True, self.clock + self.settings.grace_seconds * 1000
        return self.standing(t) if t else None

    def _room(self) -> int:
        s, inside = self.settings, self.inside()
        free = s.max_active - inside
        if s.stock is not None:
            free = min(free, s.stock - self.completed - inside)
        elif s.stock_url:
            free = 0
        return max(0, free)

    def _visit(self, what: Visit, number: int, by: bytes, views: int) -> Standing | FairlineError:
        t = self.find(number)
        if t is None:
            return TicketNotFound(self.queue, number)
        if t.status is Status.ADMITTED and what != "touch":
            t.by = by
            self._move(t, Action.START)
        if t.status is not Status.ACTIVE:
            return TransitionRefused(Action.TOUCH if what == "touch" else Action.START, t.found, t.reason)
        if t.by != by:
            return SessionTaken()
        if what != "start" and views:
            t.views += views
            t.due = self._active_due(t)
        return self.standing(t)

    def _act(self, action: Action, number: int) -> Standing:
        t = self._wanted(number, action)
        if action is Action.REINSTATE:
            self._reinstate(t)
        elif action in (Action.HOLD, Action.RELEASE):
            if t.status is Status.ADMITTED:
                self._move(t, Action.RETURN)
            elif not self.line():
                self.empty_at = self.now()
            t.held = action is Action.HOLD
            self._event(EventType.HELD if t.held else EventType.RELEASED, t.number)
        else:
            self._move(t, action, REASONS.get(action))
        return self.standing(t)

    def _reinstate(self, t: Entry) -> None:
        if t.reason not in REINSTATED:
            raise TransitionRefused(Action.REINSTATE, t.found, t.reason)
        if t.holder and any(other.holder == t.holder for other in self.having(*LIVE)):
            raise HolderInLine(self.queue)
        if not self._room():
            raise NoRoom(self.queue)
        self.expired[t.reason] -= 1
        t.status, t.reason, t.ended = Status.ADMITTED, None, 0
        t.due = self.clock + self.settings.claim_seconds * 1000
        self._event(EventType.REINSTATED, t.number, t.counter)

    def _note_desk(self, name: str, many: int) -> None:
        now, before = self.now(), self.desks.get(name)
        idle = self.settings.desk_idle_seconds * 1000
        if before and 0 < now - before.called < idle and self.empty_at <= before.called:
            cycle = (now - before.called) // before.many
            self.cycles = [cycle, *self.cycles][: self.settings.wait_sample]
        self.desks[name] = Desk(now, many)

    def _active_due(self, t: Entry) -> float:
        return min(self.clock + self.settings.session_seconds * 1000, t.cap)

    def _lapse_reason(self, t: Entry) -> Reason:
        if t.status is Status.WAITING:
            return Reason.LEFT if t.leaving else Reason.HEARTBEAT_TIMEOUT
        if t.status is Status.ADMITTED:
            return Reason.NO_SHOW if self.settings.admission is Admission.MANUAL else Reason.CLAIM_TIMEOUT
        return Reason.SESSION_TIMEOUT

    def _move(self, t: Entry, action: Action, reason: Reason | None = None, detail: str = "") -> None:
        """Along the table, with everything that belongs to it."""
        s, now, clock = self.settings, self.now(), self.clock
        empty = not self.line()
        before, t.status = t.status, TRANSITIONS[t.status, action]
        t.leaving = t.held = False
        match t.status:
            case Status.WAITING:
                t.admitted, t.counter, t.due = 0, "", self._waiting_due()
                self.peak = max(self.peak, len(self.line()))
                self.empty_at = now if empty else self.empty_at
            case Status.ADMITTED:
                if before is Status.WAITING:
                    t.admitted = self.last_admission = now
                    self.waits.append(max(0, now - t.joined))
                    self.flow.called += 1
                t.due = clock + s.claim_seconds * 1000
            case Status.ACTIVE:
                t.started, t.cap = now, clock + s.session_max_seconds * 1000
                t.due = self._active_due(t)
            case Status.COMPLETED | Status.EXPIRED:
                t.ended, t.due = now, clock + s.retain_seconds * 1000
                t.reason = reason if t.status is Status.EXPIRED else None
                self.completed += t.status is Status.COMPLETED
                if t.reason:
                    self.expired[t.reason] += 1
                self._measure_end(t, before)
        self._event(EVENT_OF.get(action, EventType.EXPIRED), t.number, detail or t.reason or t.counter)

    def _measure(self) -> None:
        """Fade what was seen of the line, and add the time since. Time nobody kept does not count."""
        flow, now = self.flow, self.now()
        seconds = 0 if flow.at is None else max(0, now - flow.at) / 1000
        if seconds > 60:
            seconds = 0
        fade, waiting = math.exp(-seconds / 600), len(self.line())
        flow.waited = flow.waited * fade + waiting * seconds
        flow.span = flow.span * fade + (seconds if waiting else 0)
        flow.left *= fade
        flow.called *= fade
        flow.inside += (len(self.having(Status.ADMITTED)) + len(self.having(Status.ACTIVE))) * seconds
        flow.at = now

    def _measure_end(self, t: Entry, before: Status) -> None:
        if before is Status.WAITING:
            self.flow.left += 1
        else:
            self.flow.stays = min(self.flow.stays + 1, 200)
            self.flow.stay += (max(0, self.now() - t.admitted) / 1000 - self.flow.stay) / self.flow.stays
            keep = 1 - 1 / min(2000, max(200, 2 * self.settings.max_active))
            self.flow.inside, self.flow.out = self.flow.inside * keep, self.flow.out * keep + 1

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
