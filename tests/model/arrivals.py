"""Who comes: the holder of a ticket, limits, priority passes, and why someone is refused."""

from __future__ import annotations

from fairline.domain.events import EventType
from fairline.domain.opening import Phase
from fairline.domain.queue_settings import OnePer, QueueStatus
from fairline.domain.ticket import LIVE, Action, Status
from fairline.errors import (
    AtCapacity,
    FairlineError,
    GroupFull,
    GroupGone,
    GroupsOff,
    IdempotencyConflict,
    InvalidRequest,
    PassInvalid,
    PriorityPassNotFound,
    QueueFull,
    QueueMaintenance,
    RateLimited,
)
from fairline.store.arrivals import Arrival, Joined
from fairline.store.values import PriorityPass
from tests.model.moves import Moves
from tests.model.order import beside
from tests.model.records import Entry, Holder, Issued

A_MINUTE, AN_HOUR = 60_000, 3_600_000


class Arrivals(Moves):
    """A queue that people join."""

    def join(self, a: Arrival) -> Joined | FairlineError:
        """One arrival: a batch is one after the other."""
        if a.key and (again := next((t for t in self.tickets if t.key == a.key), None)):
            if again.fingerprint != a.fingerprint:
                return IdempotencyConflict()
            return Joined(self.ticket(again), created=False, proven=True, by_key=True)
        holder = self._holder_of(a)
        if holder and (existing := next((t for t in self.having(*LIVE) if t.holder == holder), None)):
            return Joined(self.ticket(existing), created=False, proven=a.client != b"" and a.client == existing.client)
        return self._refusal(a) or Joined(self.ticket(self._enter(a, holder)), created=True, proven=True)

    def _holder_of(self, a: Arrival) -> Holder | None:
        kind = self.settings.one_per
        told = {OnePer.CLIENT: a.client, OnePer.USER: a.user, OnePer.PHONE: a.phone, OnePer.IP: a.address}
        if told.get(kind):
            return kind, told[kind]
        return (OnePer.CLIENT, a.client) if a.client and kind is not OnePer.NONE else None

    def _refusal(self, a: Arrival) -> FairlineError | None:
        waiting = len(self.line())
        if self.settings.status is QueueStatus.MAINTENANCE:
            return QueueMaintenance(self.queue)
        if a.missing:
            return InvalidRequest(a.missing, "is missing: this queue takes nobody without it")
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
        if a.group and (refused := self._group_refusal(*a.group)):
            return refused
        if a.through and not (self._lets_in() and not waiting and self._free_capacity() and self._tokens(0) >= 1):
            return AtCapacity(self.queue)
        return None

    def _group_refusal(self, first: int, joined: int) -> FairlineError | None:
        if not self.settings.group_size:
            return GroupsOff(self.queue)
        company = self.company(first)
        alone = self.find(first)
        since = self.groups[first] if company else alone and alone.joined
        company = company or [t for t in self.having(Status.WAITING) if t is alone]
        drawing = self.settings.phase is Phase.DRAWING
        if not company or since != joined or drawing or any(t.drawn_rank for t in company):
            return GroupGone()
        return GroupFull() if len(company) >= self.settings.group_size else None

    def _enter_group(self, first: int, joined: int) -> Entry:
        """Whose place is the first in line of the group that someone joins."""
        company = self.company(first) or [t for t in self.tickets if t.number == first]
        for t in company:
            t.group = first
        self.groups[first] = joined
        return min(company, key=lambda t: t.place)

    def _enter(self, a: Arrival, holder: Holder | None) -> Entry:
        issued = self.passes_issued.get(a.pass_id)
        if issued:
            issued.used += 1
        for _, name, limit, _ in self._limits_of(a):
            if limit:
                self.hits[name].append(self.now())
        self.number += 1
        level = issued.level if issued else a.priority
        head = self._enter_group(*a.group) if a.group else None
        if head:
            self.order.count += 1
            level, place = head.level, beside(head.place, {t.place for t in self.having(Status.WAITING)})
        else:
            place = self._next_place([other.place for other in self.line()], level)
        t = Entry(
            number=self.number,
            level=level,
            place=place,
            policy=None if head else self.settings.priority_policy,
            group=head.group if head else 0,
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
            self.bucket.tokens, self.bucket.at, self.bucket.token_awaited = self._tokens(0) - 1, self.now(), False
            self._move(t, Action.ADMIT)
        self.peak = max(self.peak, len(self.line()))
        if (level or head) and t in self.line():
            self._note_passed(len(self.line()) - 1 - self.line().index(t))
        return t

    # Limits

    def limit(self, who: str, action: str, limit: int, seconds: float) -> float:
        window, name = round(seconds * 1000), f"{who}:{action}"
        wait = self._blocked(name, limit, window)
        if not wait:
            self.hits[name].append(self.now())
        return wait / 1000

    def _limits_of(self, a: Arrival) -> list[tuple[str, str, int, int]]:
        """Who is counted, under which name, how often they may, and in which window."""
        s = self.settings
        all_of_them = [
            ("address", a.address, f"ip:{a.address.hex()}:join", s.join_limit_per_ip, A_MINUTE),
            ("phone", a.phone, f"phone:{a.phone.hex()}:join", s.join_limit_per_phone, AN_HOUR),
            ("email", a.email, f"email:{a.email.hex()}:join", s.join_limit_per_email, AN_HOUR),
        ]
        return [(who, name, limit, window) for who, told, name, limit, window in all_of_them if told and a.limited]

    def _blocked(self, name: str, limit: int, window: int) -> int:
        """How many ms until one more is allowed. Hits leave in the order they came."""
        hits = self.hits.setdefault(name, [])
        while hits and hits[0] <= self.now() - window:
            hits.pop(0)
        return hits[-limit] + window - self.now() if len(hits) >= limit else 0

    # Passes

    def issue_priority_pass(self, pass_id: str, level: int, uses: int, seconds: float) -> None:
        lasts = round(seconds * 1000)
        self.passes_issued[pass_id] = Issued(level, uses, self.now() + lasts, self.clock + lasts)

    def passes(self) -> list[PriorityPass]:
        valid = [(name, p) for name, p in sorted(self.passes_issued.items()) if p.expires > self.now()]
        return [PriorityPass(name, p.level, p.uses, p.used, p.expires) for name, p in valid]

    def withdraw_priority_pass(self, pass_id: str) -> None:
        issued = self.passes_issued.pop(pass_id, None)
        if not issued or issued.expires <= self.now():
            raise PriorityPassNotFound(self.queue, pass_id)
