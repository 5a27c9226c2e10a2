"""A queue with its store and its clock, in the words the contract suite uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from fairline.domain.events import Event
from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Reason, Status, Ticket, TicketStatus
from fairline.errors import FairlineError
from fairline.store import Arrival, JoinCalendar, Joined, Store
from tests.backends import FakeClock

#: As `every` of a sweep: however long ago the last one was, it was no outage.
NO_OUTAGE = 1e9
#: Who starts a session where the test does not care.
VISITOR = b"visitor"
MANY = 1000
#: A queue whose people are called by hand, and stay however long they send no heartbeat.
WALK_IN = {"admission": "manual", "heartbeat_timeout_seconds": 0}
DAY = 86_400_000


class Venue:
    """One queue of the backend under test."""

    def __init__(self, store: Store, queue: QueueId, clock: FakeClock) -> None:
        self.store = store
        self.queue = queue
        self.clock = clock

    # Joining

    async def try_join(self, **arrival: Any) -> Joined | FairlineError:
        """One arrival, whatever becomes of it."""
        (outcome,) = (await self.store.join(self.queue, [Arrival(**arrival)])).items
        return outcome

    async def join(self, **arrival: Any) -> Joined:
        """One arrival that must not be refused."""
        joined = await self.try_join(**arrival)
        assert isinstance(joined, Joined), joined
        return joined

    async def joins(self, count: int, **arrival: Any) -> list[int]:
        """`count` arrivals in one call, all alike; each must get a ticket of its own. Their numbers."""
        items = (await self.store.join(self.queue, [Arrival(**arrival)] * count)).items
        numbers = [item.ticket.number for item in items if isinstance(item, Joined) and item.created]
        assert len(numbers) == count, items
        return numbers

    async def one(self, status: Status, **arrival: Any) -> int:
        """A ticket in this state. Where it was admitted it was by hand, ahead of those who wait."""
        number = (await self.join(**arrival)).ticket.number
        if status is Status.EXPIRED:
            await self.act(Action.CANCEL, number)
        elif status is not Status.WAITING:
            await self.store.call_next(self.queue, 1, number=number)
        if status in (Status.ACTIVE, Status.COMPLETED):
            await self.start(number)
        if status is Status.COMPLETED:
            await self.act(Action.COMPLETE, number)
        assert (await self.ticket(number)).status is status
        return number

    # What happens to tickets

    async def heartbeat(self, number: int) -> TicketStatus:
        (ticket_status,) = (await self.store.heartbeat(self.queue, [number])).items
        assert ticket_status
        return ticket_status

    async def unload(self, number: int) -> TicketStatus:
        (ticket_status,) = (await self.store.unload(self.queue, [number])).items
        assert ticket_status
        return ticket_status

    async def admit(self, at_most: int = MANY) -> list[int]:
        return (await self.store.admit(self.queue, at_most)).items

    async def call(self, count: int = 1, **press: Any) -> list[int]:
        return [ticket.number for ticket in await self.store.call_next(self.queue, count, **press)]

    async def start(self, number: int, by: bytes = VISITOR) -> TicketStatus | FairlineError:
        (outcome,) = (await self.store.visit(self.queue, "start", [(number, by)])).items
        return outcome

    async def touch(self, number: int, by: bytes = VISITOR) -> TicketStatus | FairlineError:
        (outcome,) = (await self.store.visit(self.queue, "touch", [(number, by)])).items
        return outcome

    async def act(self, action: Action, number: int) -> TicketStatus | FairlineError:
        (outcome,) = (await self.store.act(self.queue, action, [number])).items
        return outcome

    # Time

    async def sweep(self) -> dict[int, Reason]:
        """The tickets that lapse now, and why; however long ago the last sweep was, it was no outage."""
        swept = await self.store.sweep(self.queue, MANY, every=NO_OUTAGE)
        assert not swept.more
        return {lapse.number: lapse.reason for lapse in swept.lapsed}

    async def after(self, seconds: float) -> dict[int, Reason]:
        """The tickets that lapse within this many seconds."""
        self.clock.advance(seconds)
        return await self.sweep()

    # Reading

    async def ticket(self, number: int) -> Ticket:
        (ticket,) = (await self.store.look_up(self.queue, [number])).items
        assert ticket
        return ticket

    async def seconds_left(self, number: int) -> float | None:
        """How long until the ticket's deadline."""
        deadline = (await self.ticket(number)).deadline
        return None if deadline is None else (deadline - self.clock()) / 1000

    async def tickets(self, status: Status | None = None, page: int = MANY) -> list[Ticket]:
        """A whole listing, page by page."""
        tickets: list[Ticket] = []
        cursor: str | None = None
        while True:
            got = await self.store.tickets(self.queue, status, cursor, page)
            tickets += got.tickets
            cursor = got.cursor
            if cursor is None:
                return tickets

    async def line(self) -> list[int]:
        """Who waits, in order; not who is on hold."""
        return [ticket.number for ticket in await self.tickets(Status.WAITING) if not ticket.on_hold]

    async def events(self) -> list[Event]:
        return await self.store.events(self.queue, None, MANY)

    async def happened(self, number: int) -> list[tuple[str, str | None]]:
        """The events of one ticket: type and detail."""
        return [(event.type.value, event.detail) for event in await self.events() if event.ticket == number]

    async def everything(self) -> list[object]:
        """All that can be seen of the queue: equal before and after what must change nothing."""
        return [
            await self.store.settings(self.queue),
            await self.store.history(self.queue, None, MANY),
            await self.store.stats(self.queue),
            await self.store.hourly(self.queue),
            await self.store.passes(self.queue),
            await self.store.revoked(self.queue),
            await self.tickets(),
            await self.events(),
        ]

    async def configure(self, **changes: Any) -> None:
        now = await self.store.settings(self.queue)
        await self.store.configure(self.queue, checked(changes, now.settings), now.version)


OpenVenue: TypeAlias = Callable[..., Awaitable[Venue]]


async def calendar(v: Venue, **more: Any) -> JoinCalendar:
    """The terms of now, by days of UTC."""
    today = v.clock() // DAY * DAY
    return JoinCalendar((await v.store.settings(v.queue)).version, (today - DAY, today, today + DAY), **more)
