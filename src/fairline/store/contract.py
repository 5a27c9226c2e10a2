"""The contract every store keeps: atomic, batched operations on queues and tickets.

Each operation is one atomic step: its checks, the change, the counts and the event happen together or not at all. Hot
operations take many tickets at once and answer for each, in order; an answer that is an exception concerns that ticket
only. An operation on a queue that does not exist raises QueueNotFound. A store that does not answer raises
StoreUnavailable, and then the operation may or may not have happened.

The store's clock decides, unless the store was opened with another clock (by tests and the simulator).

Each section of `Store` is a module of the same name in `valkey/` and in `postgres/`. What goes in and comes out is in
`values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from fairline.domain.draw import Member
from fairline.domain.events import Event
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Action, Status, Ticket, TicketStatus, Went
from fairline.errors import FairlineError
from fairline.store.arrivals import Arrival, EstimateSample, JoinCalendar, Joined
from fairline.store.desks import DeskState
from fairline.store.outbox import Outbox
from fairline.store.registry import Registry
from fairline.store.tallies import DeskTallies, Hour, Point, Report, Stats
from fairline.store.values import (
    Arriving,
    Closed,
    Configured,
    Drawn,
    Frozen,
    Group,
    IssuedAt,
    Outcomes,
    Page,
    PriorityPass,
    Reply,
    Revision,
    StepEvent,
    Swept,
)
from fairline.store.visits import Visit, Visitor

#: Milliseconds since 1970.
Clock = Callable[[], int]

#: The most tickets one call may carry: one step must not block the store for long.
MAX_BATCH = 1000

#: How many revisions of its settings a queue keeps.
REVISIONS_KEPT = 200
#: `calls` searches this many of the newest events.
CALLS_WITHIN = 10_000

#: `missed` searches this many of the newest tickets that have ended.
MISSED_LOOKED_AT = 2000

#: The actions of `act`; every other action has an operation of its own.
ACTS = frozenset(
    {
        Action.RECALL,
        Action.RETURN,
        Action.COMPLETE,
        Action.LEAVE,
        Action.CANCEL,
        Action.NO_SHOW,
        Action.TERMINATE,
        Action.HOLD,
        Action.RELEASE,
        Action.REINSTATE,
        Action.PUT_BACK,
    }
)

#: The most people someone can step back behind at once.
MOST_STEPPED_BACK = 100

Kind = Literal["valkey", "postgresql"]


class Store(Protocol):
    """What every store can do. Where tickets are given by number, the answer for a number that does not exist is None
    or TicketNotFound."""

    @property
    def kind(self) -> Kind:
        """The database it is built on."""

    @property
    def registry(self) -> Registry:
        """Everything that belongs to the server and not to a queue."""

    @property
    def outbox(self) -> Outbox:
        """The deliveries to other systems."""

    async def close(self) -> None:
        """Close all connections, and stop everything that was started for them."""

    async def time(self) -> int:
        """The store's clock in milliseconds. Also a check that the store answers."""

    # Queues

    async def queues(self) -> list[QueueId]:
        """The names of all queues, sorted."""

    async def create(self, queue: QueueId, settings: QueueSettings, by: str = "") -> None:
        """Create a queue, or raise QueueExists. `by` is the id of an admin key, for the history."""

    async def settings(self, queue: QueueId) -> Configured:
        """The settings of a queue."""

    async def version(self, queue: QueueId) -> int:
        """The version of its settings: the cheapest question about a queue. A version never comes back, not even in a
        queue that is recreated under the same name, so anything cached about a queue is valid while it stays."""

    async def configure(
        self, queue: QueueId, settings: QueueSettings, version: int, by: str = "", *, event: StepEvent | None = None
    ) -> Configured:
        """Replace the settings if they are still at `version`, or raise SettingsChanged. The same step adds them to the
        history, and writes this event with its detail."""

    async def history(self, queue: QueueId, before: int | None, limit: int) -> list[Revision]:
        """The present and earlier settings, newest first: those before a version, or all. The last REVISIONS_KEPT are
        kept."""

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        """Remove a queue with all its tickets; with a version, only if the settings are still at it, or raise
        SettingsChanged."""

    async def snapshot(self, queue: QueueId) -> QueueSnapshot:
        """The queue at this moment."""

    async def issue_priority_pass(self, queue: QueueId, pass_id: str, level: int, uses: int, seconds: float) -> None:
        """Let a priority pass be used up to `uses` times."""

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        """The priority passes that have not ended, sorted by id."""

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        """Remove a priority pass, or raise PriorityPassNotFound."""

    async def limit(self, queue: QueueId, who: str, action: str, limit: int, seconds: float) -> float:
        """Count a try. If it is over the limit, it is not counted, and the answer is the seconds to wait; otherwise
        0."""

    # Line

    async def join(
        self, queue: QueueId, arrivals: Sequence[Arrival], calendar: JoinCalendar | None = None
    ) -> Reply[Joined | FairlineError]:
        """Give each arrival a new ticket, or the one that its holder already has. If the calendar was worked out from
        other settings than the queue has, SettingsChanged is raised and nothing is done."""

    async def heartbeat(
        self, queue: QueueId, numbers: Sequence[int], *, closing: bool = False
    ) -> Reply[TicketStatus | None]:
        """Extend the deadlines of those who wait, never shorten them, and answer the status of each ticket. Someone who
        was leaving is back. With `closing` it is the last one of a page that closes: the place is kept for at least
        `closed_page_seconds`, and someone who was leaving still is."""

    async def record_heartbeats(self, queue: QueueId, numbers: Sequence[int]) -> None:
        """Write down heartbeats of a moment ago. It brings nobody back: they may have closed their page since."""

    async def status(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        """The status of tickets, changing nothing."""

    async def unload(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        """They are leaving: they have left unless they come back within the grace time."""

    async def look_up(self, queue: QueueId, numbers: Sequence[int]) -> Reply[Ticket | None]:
        """Full tickets, changing nothing."""

    async def record_estimates(self, queue: QueueId, shown: Sequence[EstimateSample]) -> None:
        """Keep the waits that these were shown; at admission they are compared with the real ones and counted. Tickets
        that are gone are left out."""

    async def prioritise(self, queue: QueueId, number: int, level: int) -> Ticket:
        """Move someone who waits forward, by the queue's policy."""

    async def step_back(self, queue: QueueId, number: int, places: int, seen: int | None = None) -> Ticket:
        """Step back behind this many others. A ticket that is further back than the position `seen` already has."""

    async def note_nearly(self, queue: QueueId, places: int) -> list[int]:
        """Mark the first `places` in line as nearly there, with an event for each that was not marked before: once for
        each ticket, even if its place changes later. Returns the newly marked numbers, in order."""

    async def rebind(self, queue: QueueId, number: int, joined: int, moved: int, client: bytes) -> Ticket:
        """Move a ticket to another device if it has moved exactly `moved` times before, or raise TokenMoved."""

    async def group(self, queue: QueueId, number: int) -> Group | None:
        """Who someone waits with: the group that others join with `Arrival.group`. Someone who waits alone is a group
        of one; None if they do not wait. A group stands together in the line. When it is the turn of one of them, all
        go in the same step, as soon as there are places for all."""

    # Admission

    async def admit(self, queue: QueueId, at_most: int, *, every: float = 1.0, lease: float = 0.0) -> Reply[int]:
        """Admit as many as rate, capacity and stock allow; `every` is the seconds between ticks. Does nothing if
        another keeper did it less than `lease` seconds ago."""

    async def call_next(
        self, queue: QueueId, count: int, *, desk: str = "", key: bytes = b"", number: int | None = None
    ) -> list[Ticket]:
        """Call the next `count` people by hand, or one by number. A retry with the same key calls the same people."""

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> None:
        """A desk opens, or closes."""

    async def desks(self, queue: QueueId) -> list[DeskState]:
        """The desks that are named or were seen, by name."""

    # Tickets

    async def visit(self, queue: QueueId, what: Visit, visitors: Sequence[Visitor | tuple[int, bytes]]) -> Outcomes:
        """Start sessions (`start`), record activity (`touch`), or both as needed (`visit`). A visit without page views
        to a session that runs already only asks whether it may continue: nothing is written."""

    async def act(
        self, queue: QueueId, action: Action, numbers: Sequence[int], joined: IssuedAt = (), by: Sequence[bytes] = ()
    ) -> Outcomes:
        """Recall, return, complete, leave, cancel, no-show, terminate, hold, release, reinstate or put back: one of
        ACTS. Someone who is put back waits at their old place, or just behind someone who was given it meanwhile.
        `joined` says when each ticket was issued, if that is known, and `by` who asks; both as in Visitor. A session of
        anyone else raises SessionTaken; if `by` is empty, as for staff, it may be anyone's."""

    async def transfer(self, queue: QueueId, number: int, went: Went) -> Ticket:
        """End a ticket whose holder has a ticket in another queue now. A second time changes nothing."""

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        """End a ticket, and remember why for as long as its session token would have been valid."""

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        """The revoked tickets, and the reasons."""

    async def sweep(
        self, queue: QueueId, at_most: int, *, every: float = 5.0, lease: float = 0.0, stalled: bool = False
    ) -> Swept:
        """End the tickets that are past their deadline. If nobody swept for much longer than `every` seconds, the
        queue's clock stood still; it also does while `stalled`: people who wait cannot reach Fairline."""

    async def close_day(self, queue: QueueId, ends: int, at_most: int, cursor: str | None = None) -> Closed:
        """End the tickets that still wait and joined by the end of the day, `ends`; once for each day."""

    async def tickets(self, queue: QueueId, status: Status | None, cursor: str | None, limit: int) -> Page:
        """Tickets in order: those who wait by place, the others by number."""

    async def on_hold(self, queue: QueueId, limit: int) -> list[Ticket]:
        """Those who are on hold, by their old place."""

    async def arriving(self, queue: QueueId, limit: int) -> list[Arriving]:
        """Those who joined on hold from another queue and have not been released since, by number."""

    async def missed(self, queue: QueueId, since: int, limit: int) -> list[Ticket]:
        """The people who were called and did not come, and whose tickets ended at `since` or later: newest tickets
        first, among the last MISSED_LOOKED_AT that ended."""

    # Draws

    async def freeze_draw(self, queue: QueueId, opening: str) -> Frozen:
        """Write down who is in the draw of an opening: those who wait, on hold or not, and are not past their deadline.
        The next turns of the line are set aside for them. Later calls change nothing and answer the same."""

    async def draw_members(self, queue: QueueId, first: int, limit: int) -> list[Member]:
        """Some of those who are in the draw that was frozen last, from the one at `first`, which counts from 0. Their
        order stays the same."""

    async def place_drawn(self, queue: QueueId, opening: str, drawn: Sequence[Drawn]) -> None:
        """Give people the places and ranks that were drawn for them. Doing it again changes nothing, even if they have
        moved in the line since."""

    async def keep_draw(
        self, queue: QueueId, opening: str, parts: Mapping[str, bytes], *, once: bool = False
    ) -> dict[str, bytes]:
        """Keep parts of what belongs to a draw, and return them as they are kept: with `once`, a part that is kept
        already stays as it is."""

    async def draw_parts(self, queue: QueueId, opening: str, names: Sequence[str]) -> dict[str, bytes]:
        """The parts of a draw that are kept, by name."""

    async def forget_draws(self, queue: QueueId, openings: Sequence[str]) -> None:
        """Remove all that is kept of the draws of some openings."""

    # Events

    async def events(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        """The events after an event, oldest first; without `after`, from the oldest that is kept."""

    async def last_event(self, queue: QueueId) -> str:
        """The id of the newest event, from which `events` can continue."""

    async def newest_events(self) -> dict[QueueId, str]:
        """The id of the newest event of every queue, sorted by name. Every change of the tickets or the settings of a
        queue changes it: as long as it stays, nothing needs to be read again."""

    async def events_lost(self, queue: QueueId, after: str) -> bool:
        """Whether some events after this one are no longer kept."""

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        """The last calls and recalls by hand, and returns to the line, newest first: those among the newest
        CALLS_WITHIN events, so that other events do not make it slow."""

    # Tallies

    async def stats(self, queue: QueueId) -> Stats:
        """The statistics of the queue: now, and in total."""

    async def hourly(self, queue: QueueId) -> list[Hour]:
        """The last HOURS_AT_HAND in which something was counted, oldest first."""

    async def report(self, queue: QueueId, since: int | None, until: int | None) -> Report:
        """The hours among the last HOURS_KEPT that begin at `since` or later and before `until`, in milliseconds, and
        their totals; if neither is given, the totals of all time, with the last HOURS_AT_HAND."""

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        """This many points of `step` minutes each, oldest first and without a gap; the last one includes the present
        minute. The minutes of one day are kept."""

    async def desk_tallies(self, queue: QueueId, *, older: bool = False) -> DeskTallies:
        """What each desk did: in total, and in each of the last HOURS_AT_HAND; with `older`, in all of HOURS_KEPT."""
