"""How a ticket goes from one state to another, with everything that belongs to it: deadlines, tallies, events."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from fairline.domain.events import EventType
from fairline.domain.opening import Phase
from fairline.domain.queue_settings import Admission, QueueStatus
from fairline.domain.ticket import TRANSITIONS, Action, Reason, Status, goes_to
from fairline.domain.waits import Cause
from fairline.errors import TicketNotFound, TransitionRefused
from tests.model.records import Entry
from tests.model.state import State

EVENT_OF = {
    Action.ADMIT: EventType.ADMITTED,
    Action.CALL: EventType.CALLED,
    Action.RECALL: EventType.RECALLED,
    Action.RETURN: EventType.RETURNED,
    Action.START: EventType.STARTED,
    Action.COMPLETE: EventType.COMPLETED,
    Action.TRANSFER: EventType.TRANSFERRED,
    Action.REINSTATE: EventType.REINSTATED,
    Action.PUT_BACK: EventType.PUT_BACK,
}


class Moves(State):
    """A queue whose tickets move along the table of transitions."""

    def _wanted(self, number: int, action: Action) -> Entry:
        """The ticket of a number, if the table lets it go this way."""
        t = self.find(number)
        if t is None:
            raise TicketNotFound(self.queue, number)
        if goes_to(t.status, action, on_hold=t.on_hold) is None:
            raise TransitionRefused(action, t.found, t.reason)
        return t

    def _move(self, t: Entry, action: Action, reason: Reason | None = None, detail: str = "") -> None:
        """Along the table, with everything that belongs to it."""
        s, now, clock = self.settings, self.now(), self.clock
        empty = not self.line()
        before, t.status = t.status, TRANSITIONS[t.status, action]
        t.leaving = t.on_hold = False
        t.group = t.number if t.status is Status.WAITING and self.company(t.number) else 0
        match t.status:
            case Status.WAITING:
                t.admitted, t.desk, t.due = 0, "", self._waiting_due()
                self.peak = max(self.peak, len(self.line()))
                self.empty_at = now if empty else self.empty_at
            case Status.ADMITTED:
                if before is Status.WAITING:
                    t.admitted = self.last_admission = now
                    self.waits.append(max(0, now - t.joined))
                    self.flow.called += 1
                    self.head_joined = t.joined
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
        self._event(EVENT_OF.get(action, EventType.EXPIRED), t.number, detail or t.reason or t.desk)

    # Deadlines

    def _waiting_due(self) -> float | None:
        s = self.settings
        timeout = s.heartbeat_timeout_seconds
        return self.clock + (timeout + s.grace_seconds) * 1000 if timeout else None

    def _extended(self, t: Entry) -> float | None:
        """The deadline after a heartbeat: none shortens it."""
        due = self._waiting_due()
        return due and max(due, t.due or 0)

    def _active_due(self, t: Entry) -> float:
        return min(self.clock + self.settings.session_seconds * 1000, t.cap)

    def _lapse_reason(self, t: Entry) -> Reason:
        if t.status is Status.WAITING:
            return Reason.LEFT if t.leaving else Reason.HEARTBEAT_TIMEOUT
        if t.status is Status.ADMITTED:
            return Reason.NO_SHOW if self.settings.admission is Admission.MANUAL else Reason.CLAIM_TIMEOUT
        return Reason.SESSION_TIMEOUT

    # Places and tokens

    def _next_place(self, line: Sequence[float], level: int) -> float:
        aside = [t.place for t in self.aside()]
        return self.order.next_place(line, level, self.settings.priority_policy, self.settings.priority_skip, aside)

    def _tokens(self, every: float) -> float:
        rate, bucket, most = self.settings.admission_rate, self.bucket, self._most()
        since = 0 if bucket.at is None else max(0, self.now() - bucket.at)
        tokens = most if bucket.tokens is None else bucket.tokens
        # Who waits for a token loses none by a late tick, up to two of them; otherwise burst is the most.
        limit = max(most, min(1.0, tokens) + 2 * rate * round(every * 1000) / 1000) if bucket.token_awaited else most
        return min(limit, tokens + rate * since / 1000)

    def _most(self) -> float:
        s = self.settings
        return max(1.0, s.admission_rate) if s.burst is None else s.burst

    def _lets_in(self) -> bool:
        s = self.settings
        active = s.status is QueueStatus.ACTIVE and s.admission is Admission.AUTO and s.admission_rate > 0
        return active and not self._held_back()

    def _held_back(self) -> bool:
        return self.settings.phase in (Phase.PREQUEUE, Phase.DRAWING)

    # What is measured

    def _measure(self) -> None:
        """Fade what was seen of the line, and add the time since. Time without a keeper does not count."""
        flow, now = self.flow, self.now()
        seconds = 0 if flow.at is None else max(0, now - flow.at) / 1000
        if seconds > 60 or self._held_back():
            seconds = 0
        fade, waiting = math.exp(-seconds / 600), len(self.line())
        flow.waited = flow.waited * fade + waiting * seconds
        flow.span = flow.span * fade + (seconds if waiting else 0)
        flow.left *= fade
        flow.called *= fade
        flow.passed *= fade**4
        flow.inside += (len(self.having(Status.ADMITTED)) + len(self.having(Status.ACTIVE))) * seconds
        flow.at = now
        self._measure_ages()

    def _measure_ages(self) -> None:
        """Now and then, four of the line stand for all of it: how long they have waited."""
        now, line = self.now(), self.line()
        seconds = 0 if self.aged_at is None else (now - self.aged_at) / 1000
        if not line or (self.aged_at is not None and 0 <= seconds < 5):
            return
        if seconds < 0 or seconds > 60:
            seconds = 0
        fade, looked = math.exp(-seconds / 600), min(4, len(line))
        self.left_by_age = [each * fade for each in self.left_by_age or [0.0] * 8]
        self.waited_by_age = [each * fade for each in self.waited_by_age or [0.0] * 8]
        for n in range(looked):
            t = line[(2 * n + 1) * len(line) // (2 * looked)]
            self.waited_by_age[self._age(now - t.joined)] += len(line) * seconds / looked
        self.aged_at = now

    def _age(self, ms: int) -> int:
        """The class of the time since a ticket joined: from 0, 30, 60, 120 … 1920 seconds."""
        return bisect_right([30, 60, 120, 240, 480, 960, 1920], ms / 1000)

    def _note_passed(self, many: int) -> None:
        if many > 0:
            self.flow.passed += many
            self.passed_at = self.now()

    def _note_slowed(self, cause: Cause) -> None:
        self.slowed_at, self.slowed = self.now(), list(Cause).index(cause) + 1

    def _measure_end(self, t: Entry, before: Status) -> None:
        if before is Status.WAITING:
            self.flow.left += 1
            self.left_by_age = self.left_by_age or [0.0] * 8
            self.waited_by_age = self.waited_by_age or [0.0] * 8
            self.left_by_age[self._age(self.now() - t.joined)] += 1
        else:
            self.flow.stays = min(self.flow.stays + 1, 200)
            self.flow.stay += (max(0, self.now() - t.admitted) / 1000 - self.flow.stay) / self.flow.stays
            keep = 1 - 1 / min(2000, max(400, 2 * self.settings.max_active))
            self.flow.inside, self.flow.out = self.flow.inside * keep, self.flow.out * keep + 1

    def _unmeasure_end(self, t: Entry) -> None:
        """Who was removed and put back has not left the line. What was seen of it has faded meanwhile."""
        remains = math.exp(-max(0, self.now() - t.ended) / 1000 / 600)
        self.flow.left = max(0, self.flow.left - remains)
        age = self._age(t.ended - t.joined)
        self.left_by_age[age] = max(0, self.left_by_age[age] - remains)
