"""The contract every store keeps: atomic, batched operations on queues and tickets.

Each operation is one atomic step: its checks, the change, the counters and the event happen together or not at all.
Hot operations take many tickets at once and answer for each, in order; an answer that is an exception is that caller's
alone. An operation on a queue that is not there raises QueueNotFound; a store that does not answer raises
StoreUnavailable, and then what was asked may or may not have been done.

The store's clock decides, unless the store was opened with a clock of its own (by tests and the simulator).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from fairline.domain.events import Event
from fairline.domain.queue import QueueId, QueueSettings, QueueSnapshot
from fairline.domain.ticket import Action, Came, Person, Reason, Status, Ticket, TicketStatus, Went
from fairline.errors import FairlineError
from fairline.store.desks import DeskState
from fairline.store.outbox import Outbox
from fairline.store.registry import Registry
from fairline.store.tallies import DeskTallies, Hour, Point, Report, Stats

T = TypeVar("T")

#: Milliseconds since 1970.
Clock = Callable[[], int]

#: The most tickets one call may carry: one step must not hold up the store for long.
MAX_BATCH = 1000

#: How many revisions of its settings a queue keeps.
REVISIONS_KEPT = 200
#: How far back `calls` looks: among so many of the newest events.
CALLS_WITHIN = 10_000

#: Among so many that ended last, those who did not come are looked for.
MISSED_LOOKED_AT = 2000

#: What `act` does; every other action has an operation of its own.
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
    }
)

#: The most people someone can let pass at once.
MOST_STEPPED_BACK = 100


class Arrival(Struct, frozen=True, kw_only=True):
    """Someone who wants to join. Secrets and addresses are digests already; empty is "not told"."""

    client: bytes = b""
    user: bytes = b""
    phone: bytes = b""
    email: bytes = b""
    """Of the mailbox: only to limit how often it is named."""
    address: bytes = b""
    key: bytes = b""
    """Digest of the idempotency key and its caller."""
    fingerprint: bytes = b""
    """Digest of the body: the same key with another body is a conflict."""
    priority: int = 0
    pass_id: str = ""
    limited: bool = True
    """Staff are not held to the limits of a queue."""
    through: bool = False
    """Joins and is let in, in one step, while nobody waits and there is room; or else AtCapacity."""
    series: str = ""
    """Which of the queue's series its label counts in; the first where it is empty."""
    on_hold: bool = False
    """Joins put aside, to be released later."""
    missing: str = ""
    """A field that the queue requires and that was left out: whoever has no ticket yet is given none."""
    came: Came | None = None
    """The ticket of another queue that this one takes the place of: remembered until it is released, or ends."""
    person: Person = Person()


class JoinCalendar(Struct, frozen=True):
    """What a join needs to know of the calendar, worked out from the settings at `version`: a store has no time zones.
    The step chooses by its own clock. Times are in milliseconds."""

    version: int
    days: tuple[int, ...] = ()
    """When days begin where the queue is: yesterday's, today's and tomorrow's."""
    open: tuple[tuple[int, int], ...] | None = None
    """When it is open, from and until, around now; None where it always is."""
    longest: int | None = None
    """The longest line that can still be served today; None where it does not matter."""


class Joined(Struct, frozen=True):
    """The ticket of an arrival: new, or held already."""

    ticket: Ticket
    created: bool
    proven: bool
    """The caller has shown to be its holder: it is new, or came by the same client, or by the idempotency key of one
    that has not moved to another device."""
    by_key: bool = False
    """It came by the same idempotency key."""


class Reply(Struct, Generic[T], frozen=True):
    """What one call answers: the queue at that moment, and one item for each that was asked for."""

    snapshot: QueueSnapshot
    items: list[T]


class Configured(Struct, frozen=True):
    """Settings with the version they are at."""

    settings: QueueSettings
    version: int


class Revision(Struct, frozen=True):
    """The settings of a queue as someone left them: `by` is the id of an admin key, empty for Fairline itself."""

    version: int
    at: int
    by: str
    settings: QueueSettings
    first: bool
    """The queue was made with these."""


class Arriving(Struct, frozen=True):
    """Someone who is put aside until they are out of the queue they come from."""

    ticket: Ticket
    came: Came


class Lapsed(Struct, frozen=True):
    """A ticket that a sweep ended."""

    number: int
    reason: Reason


class Swept(Struct, frozen=True):
    """What one step of a sweep did; `more` says that it did not come to the end."""

    lapsed: list[Lapsed]
    more: bool


class Closed(Struct, frozen=True):
    """Whom one step of closing ended, and where to go on; None where all is done."""

    numbers: list[int]
    cursor: str | None


class Page(Struct, frozen=True):
    """Some of a listing, and where to go on; None at its end."""

    tickets: list[Ticket]
    cursor: str | None


class PriorityPass(Struct, frozen=True):
    """A priority pass as the store keeps it."""

    id: str
    level: int
    uses: int
    used: int
    expires: int


Kind = Literal["valkey", "postgresql"]
Visit = Literal["start", "touch", "visit"]


class EstimateSample(NamedTuple):
    """What someone was told of their wait when they joined, in seconds."""

    number: int
    seconds: float
    low: float
    high: float


class Visitor(NamedTuple):
    """Someone who comes to the inside: the ticket, the digest of who it is, and how many page views that were. With
    `joined`, only to the ticket that was taken then: in a queue made anew its number is somebody else's.

    Who it is has one part or two: a secret that one client alone has, then the browser at its address. A session is
    that of `by` where it was started by the same, or by what ends so: a client without its secret is known by the
    browser. To start it once more takes the whole."""

    number: int
    by: bytes
    views: int = 1
    joined: int | None = None


class Store(Protocol):
    """What `room` needs of a store. Where tickets are given by number, a number that is not there answers None or
    TicketNotFound."""

    @property
    def kind(self) -> Kind:
        """What it is built on."""

    @property
    def registry(self) -> Registry:
        """What belongs to the server rather than to a queue."""

    @property
    def outbox(self) -> Outbox:
        """What is to be sent out of the house."""

    async def close(self) -> None:
        """Give back all connections, and end what was started for them."""

    async def time(self) -> int:
        """The store's clock in milliseconds; also says that the store answers."""

    # Queues

    async def queues(self) -> list[QueueId]:
        """The names of all queues, sorted."""

    async def create(self, queue: QueueId, settings: QueueSettings, by: str = "") -> None:
        """Make a queue, or raise QueueExists. `by` is who, for the history: the id of an admin key."""

    async def settings(self, queue: QueueId) -> Configured:
        """The settings of a queue."""

    async def version(self, queue: QueueId) -> int:
        """The version its settings are at: the least that can be asked of a queue. It never comes back, not in a queue
        that is recreated under the name either: whoever remembers anything of a queue goes by it."""

    async def configure(self, queue: QueueId, settings: QueueSettings, version: int, by: str = "") -> Configured:
        """Replace the settings if they are still at `version`, or raise SettingsChanged. The history has it from the
        same step on."""

    async def history(self, queue: QueueId, before: int | None, limit: int) -> list[Revision]:
        """The settings as they were, newest first; those before a version, or from the present ones. The last
        REVISIONS_KEPT are kept."""

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        """Remove a queue with all its tickets; with a version, only if the settings are still at it, or raise
        SettingsChanged."""

    async def snapshot(self, queue: QueueId) -> QueueSnapshot:
        """The queue at this moment."""

    # People who wait

    async def join(
        self, queue: QueueId, arrivals: Sequence[Arrival], calendar: JoinCalendar | None = None
    ) -> Reply[Joined | FairlineError]:
        """Give each arrival a ticket, or the one its holder has already. Terms of other settings than the queue has
        raise SettingsChanged, and nothing is done."""

    async def heartbeat(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        """Note a sign of life of those who wait; everyone is answered where they stand. Who had closed their page is
        back."""

    async def record_heartbeats(self, queue: QueueId, numbers: Sequence[int]) -> None:
        """Note that these gave a sign of life a moment ago. It brings nobody back: they may have closed their page
        since."""

    async def status(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        """Where tickets stand, changing nothing."""

    async def look_up(self, queue: QueueId, numbers: Sequence[int]) -> Reply[Ticket | None]:
        """All that is kept of tickets."""

    async def unload(self, queue: QueueId, numbers: Sequence[int]) -> Reply[TicketStatus | None]:
        """Their page was closed: they have the grace to come back, then they have left."""

    async def record_estimates(self, queue: QueueId, shown: Sequence[EstimateSample]) -> None:
        """Remember what these were told of their wait; when they are let in, it is compared and counted. Whoever is
        not there any more is left out."""

    async def prioritise(self, queue: QueueId, number: int, level: int) -> Ticket:
        """Move someone who waits up, by the queue's policy."""

    async def step_back(self, queue: QueueId, number: int, places: int, seen: int | None = None) -> Ticket:
        """Let so many others go first. Whoever is further back than the position `seen` has done so already."""

    async def note_nearly(self, queue: QueueId, places: int) -> list[int]:
        """Note of the first so many in line that it is nearly their turn, with an event for each it was not noted of
        before: once for each ticket, whatever becomes of its place. Answers who they are, in order."""

    async def rebind(self, queue: QueueId, number: int, joined: int, moved: int, client: bytes) -> Ticket:
        """Take a ticket to another device, if it has moved as often as `moved` says; or raise TokenMoved."""

    # Letting in

    async def admit(self, queue: QueueId, at_most: int, *, every: float = 1.0, lease: float = 0.0) -> Reply[int]:
        """Let in as many as rate, room and stock allow; `every` is the seconds between ticks. Does nothing where
        someone did it less than `lease` seconds ago."""

    async def call_next(
        self, queue: QueueId, count: int, *, desk: str = "", key: bytes = b"", number: int | None = None
    ) -> list[Ticket]:
        """Call the next `count` people by hand, or one by number; the same key calls the same people again."""

    # Inside, and out

    async def visit(
        self, queue: QueueId, what: Visit, visitors: Sequence[Visitor | tuple[int, bytes]]
    ) -> Reply[TicketStatus | FairlineError]:
        """Start sessions (`start`), note activity (`touch`), or both where need be (`visit`). Without page views, a
        visit of a session that runs already only asks whether it may: nothing is written."""

    async def act(
        self,
        queue: QueueId,
        action: Action,
        numbers: Sequence[int],
        joined: Sequence[int | None] = (),
        by: Sequence[bytes] = (),
    ) -> Reply[TicketStatus | FairlineError]:
        """Recall, return, complete, leave, cancel, no-show, terminate, hold, release or reinstate: one of ACTS.
        `joined` says when each ticket was taken, where that is known (as of a Visitor). `by` says who asks, as of a
        Visitor too: a session of anyone else is SessionTaken; empty, as for staff, it may be anyone's."""

    async def transfer(self, queue: QueueId, number: int, went: Went) -> Ticket:
        """End a ticket whose holder has another one in another queue now. To do it again changes nothing."""

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        """End a ticket, and remember why for as long as its pass would have lived."""

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        """What is revoked, and why."""

    # Keeping

    async def sweep(
        self, queue: QueueId, at_most: int, *, every: float = 5.0, lease: float = 0.0, stalled: bool = False
    ) -> Swept:
        """End what is past its deadline. If nobody swept for much longer than `every` seconds, time stood still; so
        it does while `stalled`: nobody who waits can reach us."""

    async def limit(self, queue: QueueId, who: str, action: str, limit: int, seconds: float) -> float:
        """Count a try; answers the seconds to wait where it is over the limit, and then is not counted."""

    async def close_day(self, queue: QueueId, ends: int, at_most: int, cursor: str | None = None) -> Closed:
        """End everyone who still waits and joined by the end of the day `ends`; once for each day."""

    # Desks

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> None:
        """A desk says that it is open, or that it is not."""

    async def desks(self, queue: QueueId) -> list[DeskState]:
        """The desks that are named or were seen, by name."""

    async def desk_tallies(self, queue: QueueId, *, older: bool = False) -> DeskTallies:
        """What each desk did: so far, and in each of the last HOURS_AT_HAND; with `older`, in all of HOURS_KEPT."""

    # Passes

    async def issue_priority_pass(self, queue: QueueId, pass_id: str, level: int, uses: int, seconds: float) -> None:
        """Let a priority pass be used so many times."""

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        """The passes that have not ended, sorted by id."""

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        """Make a pass useless at once, or raise PassNotFound."""

    # Reading

    async def tickets(self, queue: QueueId, status: Status | None, cursor: str | None, limit: int) -> Page:
        """Tickets in order: by place those who wait, by number the others."""

    async def on_hold(self, queue: QueueId, limit: int) -> list[Ticket]:
        """Those who are put aside, by their old place."""

    async def arriving(self, queue: QueueId, limit: int) -> list[Arriving]:
        """Those who joined put aside from another queue and have not been released since, by number."""

    async def missed(self, queue: QueueId, since: int, limit: int) -> list[Ticket]:
        """Who was called and did not come, and ended from `since` on: newest tickets first. Looks at the last
        `MISSED_LOOKED_AT` that ended."""

    async def events(self, queue: QueueId, after: str | None, limit: int) -> list[Event]:
        """What happened after an event, oldest first; from the oldest kept without `after`."""

    async def last_event(self, queue: QueueId) -> str:
        """The id of the newest event: what `events` goes on from."""

    async def newest_events(self) -> dict[QueueId, str]:
        """The id of the newest event of every queue, sorted by name. It changes with whatever changes who is in the
        queue or how it is set, so that whoever knows a queue can leave it alone until then."""

    async def events_lost(self, queue: QueueId, after: str) -> bool:
        """Whether events after this one are not kept any more."""

    async def calls(self, queue: QueueId, limit: int) -> list[Event]:
        """The last calls and recalls by hand, and returns to the line, newest first: those among the newest
        CALLS_WITHIN events, so that the cost does not grow with what else happened."""

    async def stats(self, queue: QueueId) -> Stats:
        """The queue in figures."""

    async def hourly(self, queue: QueueId) -> list[Hour]:
        """The last HOURS_AT_HAND in which something was counted, oldest first."""

    async def report(self, queue: QueueId, since: int | None, until: int | None) -> Report:
        """Those of the last HOURS_KEPT that begin from `since` on and before `until`, in milliseconds, and what they
        come to; where neither is given, all there ever was, with the last HOURS_AT_HAND."""

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        """So many points of `step` minutes each, oldest first and without a hole; the last has the present one. The
        minutes of a day are kept."""
