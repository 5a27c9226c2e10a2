"""The use cases of walk-in lines, in addition to those of every queue: stepping back, transfers to another queue, moves
to another device, and desks."""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote

from msgspec import Struct

from fairline.domain.desk_name import desk_name
from fairline.domain.estimate import Forecast
from fairline.domain.opening import Phase
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import LIVE, Action, Status, Ticket, TicketStatus, Went, goes_to
from fairline.domain.tokens import GroupClaims, MoveClaims
from fairline.domain.typed_code import read_typed, typed_code
from fairline.errors import (
    GroupGone,
    GroupsOff,
    HolderInLine,
    InvalidRequest,
    RateLimited,
    TicketNotFound,
    TokenInvalid,
    TransitionRefused,
)
from fairline.service.answers import JoinAnswer, printed_label
from fairline.service.fairline import Fairline
from fairline.store import DeskHour, DeskState, DeskTallies, DeskTotals, Joined

#: How long a link to another device is valid.
MOVE_SECONDS = 600
#: How long the link of a group works, if somebody of it waits for so long.
GROUP_SECONDS = 86_400
#: How often codes may be typed at one address in an hour, for a queue: a stranger must not find one by trying.
MOST_TYPED = 60
HOUR_SECONDS = 3600.0


def move_path(queue: QueueId, code: str) -> str:
    """The path at which a browser redeems a move code; browsers do not send what comes after #."""
    return f"/join/{quote(queue, safe='')}/move#{code}"


def group_path(queue: QueueId, code: str) -> str:
    """Where the code of a group leads to."""
    return f"/q/{quote(queue, safe='')}?group={code}"


class WalkInSnapshot(Struct, frozen=True, kw_only=True):
    """A walk-in line at a moment: its desks and its tickets by state."""

    snapshot: QueueSnapshot
    settings: QueueSettings
    desks: list[DeskState]
    line: list[Ticket]
    on_hold: list[Ticket]
    called: list[Ticket]
    serving: list[Ticket]
    missed: list[Ticket]


class WalkIn:
    """The use cases of people and staff in walk-in lines. It adds to `Fairline` and has no state of its own."""

    def __init__(self, service: Fairline) -> None:
        self._service = service
        self._store = service.store

    async def step_back(self, queue: QueueId, number: int, places: int = 1, seen: int | None = None) -> Ticket:
        """Let the next `places` people go first. With the position that was `seen`, a repeated call has no further
        effect."""
        return await self._store.step_back(queue, number, places, seen)

    # What staff see

    async def snapshot(self, queue: QueueId, limit: int) -> WalkInSnapshot:
        """Read the tickets that wait, are called, are served, are on hold, or were no-shows today, up to `limit` of
        each. A ticket that changes its state meanwhile is only shown in its new state."""
        snapshot, settings = await self._service.snapshot(queue)
        _, today, _ = settings.calendar.days(snapshot.now)
        line, called, serving, on_hold, missed, desks = await asyncio.gather(
            self._store.tickets(queue, Status.WAITING, None, limit),
            self._store.tickets(queue, Status.ADMITTED, None, limit),
            self._store.tickets(queue, Status.ACTIVE, None, limit),
            self._store.on_hold(queue, limit),
            self._store.missed(queue, today, limit),
            self._store.desks(queue),
        )
        missed_, serving_, called_, on_hold_, line_ = _once(
            missed, serving.tickets, called.tickets, on_hold, [ticket for ticket in line.tickets if not ticket.on_hold]
        )
        return WalkInSnapshot(
            snapshot=snapshot,
            settings=settings,
            desks=desks,
            line=line_,
            on_hold=on_hold_,
            called=called_,
            serving=serving_,
            missed=missed_,
        )

    # To another queue

    async def transfer(self, queue: QueueId, number: int, to: QueueId, priority: int | None = None) -> Ticket:
        """Transfer someone to another queue, as the same person with the same priority or another one.

        The two queues may be on different nodes, so a transfer has three steps. First, the person joins the other queue
        on hold, with an idempotency key that only this transfer has. Then their ticket here ends. Then the ticket there
        is released. If a step fails, the person counts in at most one line. From the second step on, the record here
        has the new ticket. Repeating the transfer continues where it stopped, and so does the keeper
        (keeper/transfers.py).
        """
        if to == queue:
            raise InvalidRequest("queue", "must be another queue than the one they are in")
        if priority is not None and not 0 <= priority <= 3:
            raise InvalidRequest("priority", f"must be a level from 0 to 3; got {priority}")
        ticket = await self._service.ticket(queue, number)
        if ticket.went is None:
            await self._store.settings(to)  # raises QueueNotFound before anything is changed
            if goes_to(ticket.status, Action.TRANSFER, on_hold=ticket.on_hold) is None:
                raise TransitionRefused(Action.TRANSFER, ticket.found, ticket.reason)
            went = await self._join_there(queue, ticket, to, ticket.priority if priority is None else priority)
            try:
                ticket = await self._store.transfer(queue, number, went)
            except TransitionRefused:  # they have left meanwhile, or were transferred to a third queue
                await self._act_there(to, Action.CANCEL, went.number)
                raise
        elif ticket.went.queue != to:
            raise TransitionRefused(Action.TRANSFER, ticket.found, ticket.reason)
        if ticket.went is not None:
            await self._act_there(to, Action.RELEASE, ticket.went.number)
        return ticket

    async def _join_there(self, queue: QueueId, ticket: Ticket, to: QueueId, priority: int) -> Went:
        ended = 0
        while True:
            reply = await self._store.join(to, [self._service.identity.transferred(queue, ticket, priority, ended)])
            (joined,) = reply.items
            if not isinstance(joined, Joined):
                raise joined
            if not joined.created and not joined.by_key:
                raise HolderInLine(to)
            if joined.ticket.status in LIVE:
                break
            ended = joined.ticket.number  # the ticket of an earlier attempt, which has ended
        settings = await self._service.settings_at(to, reply.snapshot)
        there = joined.ticket
        return Went(to, there.number, there.joined, printed_label(to, settings, there))

    async def _act_there(self, queue: QueueId, action: Action, number: int) -> None:
        with suppress(TransitionRefused, TicketNotFound):  # it was done before, or the ticket has ended
            await self._service.act(queue, action, number)

    # To another device

    def move_code(self, queue: QueueId, ticket_status: TicketStatus | Went, seconds: int = MOVE_SECONDS) -> str:
        """Issue a code that moves a ticket to another device. It works once, within ten minutes or `seconds`. A ticket
        right after a transfer (`Went`) has not been moved yet."""
        return self._service.keyring.moves.sign(
            MoveClaims(
                queue=queue,
                number=ticket_status.number,
                joined=ticket_status.joined,
                moved=ticket_status.moved if isinstance(ticket_status, TicketStatus) else 0,
                expires=int(time.time()) + seconds,
            )
        )

    async def group_code(self, queue: QueueId, ticket_status: TicketStatus) -> tuple[str, int, int]:
        """The code with which others join the group of someone who waits, how many wait in it, and how many may."""
        _, settings = await self._service.snapshot(queue)
        if not settings.group_size:
            raise GroupsOff(queue)
        group = await self._store.group(queue, ticket_status.number)
        if group is None or ticket_status.drawn_rank or settings.phase is Phase.DRAWING:
            raise GroupGone
        code = self._service.keyring.groups.sign(
            GroupClaims(queue=queue, number=group.first, joined=group.joined, expires=int(time.time()) + GROUP_SECONDS)
        )
        return code, group.size, settings.group_size

    def typed_code(self, queue: QueueId, ticket_status: TicketStatus) -> str:
        """A code that can be typed on the other device. It works once, for ten minutes to twenty."""
        return self._typed_code(queue, ticket_status, int(time.time() // MOVE_SECONDS))

    def _typed_code(self, queue: QueueId, ticket: TicketStatus, period: int) -> str:
        key = self._service.keyring.typed_key
        return typed_code(key, queue, ticket.number, ticket.joined, ticket.moved, period)

    async def code_of_typed(self, queue: QueueId, text: str, address: str | None) -> str:
        """The code of the link, for a code that somebody typed at a network address; TokenInvalid if it is wrong."""
        typed = read_typed(text)
        if typed is None:
            raise TokenInvalid("it is no code")
        who = self._service.identity.digest("typed", address or "").hex()
        if wait := await self._store.limit(queue, who, "typed", MOST_TYPED, HOUR_SECONDS):
            raise RateLimited("address", wait)
        number, code = typed
        ticket = await self._service.ticket(queue, number)
        period = int(time.time() // MOVE_SECONDS)
        codes = [self._typed_code(queue, ticket, each) for each in (period, period - 1)]
        if not any(hmac.compare_digest(code, each) for each in codes):
            raise TokenInvalid("the code is wrong, or no longer works")
        return self.move_code(queue, ticket)

    async def moved(self, code: str, client_id: str) -> JoinAnswer:
        """Move a ticket to the device that has the code. From then on, this device holds the ticket and the previous
        one does not. If two devices redeem the code at once, one of them gets the ticket."""
        claims = self._service.keyring.moves.check(code, time.time())
        queue = QueueId(claims.queue)
        client = self._service.identity.digest("client", client_id)
        ticket = await self._store.rebind(queue, claims.number, claims.joined, claims.moved, client)
        snapshot, settings = await self._service.snapshot(queue)
        return JoinAnswer(
            queue=queue,
            ticket_status=ticket,
            snapshot=snapshot,
            settings=settings,
            forecast=Forecast(settings, snapshot),
            created=False,
            token=self._service.tokens.tokens(queue, settings, [ticket])[0],
        )

    # Desks

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> list[DeskState]:
        """Open or close a desk, and return all desks."""
        await self._store.set_desk(queue, desk_name(name, "name"), is_open=is_open)
        return await self._store.desks(queue)

    async def desks(self, queue: QueueId) -> list[DeskState]:
        """Return the desks of a queue and whether they are open."""
        return await self._store.desks(queue)

    async def desk_tallies(self, queue: QueueId, since: int | None = None, until: int | None = None) -> DeskTallies:
        """Return the totals of each desk, for all time or for the hours that begin from `since` to before `until`."""
        if since is None and until is None:
            return await self._store.desk_tallies(queue)
        figures = await self._store.desk_tallies(queue, older=True)
        hours = [hour for hour in figures.hours if (since or 0) <= hour.start < (until or math.inf)]
        return DeskTallies(_together(hours), hours)


def _once(*lists: Sequence[Ticket]) -> list[list[Ticket]]:
    """Keep each ticket only in the first list that has it."""
    seen: set[int] = set()
    unique = []
    for each in lists:
        unique.append([ticket for ticket in each if ticket.number not in seen])
        seen.update(ticket.number for ticket in each)
    return unique


def _together(hours: Sequence[DeskHour]) -> dict[str, DeskTotals]:
    """The sums of these hours for each desk, by name."""
    names = sorted({name for hour in hours for name in hour.desks})
    each = {name: [hour.desks[name] for hour in hours if name in hour.desks] for name in names}
    fields = DeskTotals.__struct_fields__
    return {
        name: DeskTotals(**{field: sum(getattr(of, field) for of in found) for field in fields})
        for name, found in each.items()
    }
