"""The use cases: what people, sites, staff and the keeper can do with a queue.

Each method reads like the sentence that describes it. What arrives together goes to the store together (see grouping),
so the hot methods are plain functions that return a future.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from fairline.aio.grouping import GroupedCall, Grouping
from fairline.domain.desk_name import desk_name
from fairline.domain.events import Event
from fairline.domain.join_request import Caller, JoinRequest, check_join
from fairline.domain.preview import Outlook, outlook
from fairline.domain.queue import QueueId, QueueSettings, QueueSnapshot, check_text, checked, queue_id
from fairline.domain.ticket import TOKEN_SECONDS, Action, Status, Ticket
from fairline.domain.tokens import Keyring, PriorityClaims
from fairline.errors import (
    AtCapacity,
    FairlineError,
    InvalidRequest,
    SessionTaken,
    SettingsChanged,
    TicketNotFound,
    TransitionRefused,
)
from fairline.service.answers import JoinAnswer, StatusAnswer, printed
from fairline.service.batches import ActionCall, Batches, JoinCall, TicketCall
from fairline.service.history import Past, past, settings_at
from fairline.service.identity import Identity
from fairline.service.search import search
from fairline.service.settings_cache import SettingsCache
from fairline.service.ticket_tokens import TicketTokens
from fairline.store import (
    Configured,
    Hour,
    Page,
    Point,
    PriorityPass,
    Report,
    Stats,
    Store,
    Visit,
    Visitor,
)

#: A listing shows at most so many at once.
PAGE = 500


#: A join that a program makes for somebody: nothing is known of who sent it.
NO_CALLER = Caller()

#: The name of a grouped call, its key, when it was sent, when each caller asked, and what came: see grouping.
OnSent = Callable[[str, Any, float, Sequence[float], Sequence[StatusAnswer | FairlineError] | Exception], None]


class Fairline:
    """All queues of one store. Nothing is remembered here that cannot be read again.

    `on_sent` hears of each grouped store call: its name, then as in grouping."""

    def __init__(
        self, store: Store, keyring: Keyring, *, token_seconds: float = TOKEN_SECONDS, on_sent: OnSent | None = None
    ) -> None:
        self.store = store
        self.keyring = keyring
        self.identity = Identity(keyring)
        self._settings_cache = SettingsCache(store)
        self.tokens = TicketTokens(keyring, token_seconds)
        self._batches = batches = Batches(store, self.identity, self._settings_cache, self.tokens)

        def heard(call: str) -> Any:
            return partial(on_sent, call) if on_sent else None

        self._joins = Grouping[QueueId, JoinCall, JoinAnswer](batches.joins, on_sent=heard("join"))
        self._heartbeats = Grouping[QueueId, TicketCall, StatusAnswer](batches.heartbeats, on_sent=heard("heartbeat"))
        self._statuses = Grouping[QueueId, int, StatusAnswer](batches.statuses, on_sent=heard("status"))
        self._unloads = Grouping[QueueId, int, StatusAnswer](batches.unloads, on_sent=heard("unload"))
        self._visits = Grouping[tuple[QueueId, Visit], Visitor, StatusAnswer](batches.visits, on_sent=heard("visit"))
        self._acts = Grouping[tuple[QueueId, Action], ActionCall, StatusAnswer](batches.acts, on_sent=heard("act"))

    async def close(self) -> None:
        """Let everything that was asked for be done."""
        groups = (self._joins, self._heartbeats, self._statuses, self._unloads, self._visits, self._acts)
        await asyncio.gather(*(group.close() for group in groups))
        await self._batches.close()

    # People who wait. Whoever has a token says when its ticket was taken, too: `joined`.

    def join(
        self, queue: QueueId, request: JoinRequest, caller: Caller = NO_CALLER, *, through: bool = False
    ) -> GroupedCall[JoinAnswer]:
        """Take a place in the line, or come back to the one held already. With `through`, be let in at once or not at
        all: AtCapacity."""
        check_join(request)
        if not 0 <= caller.priority <= 3:
            raise InvalidRequest("priority", f"must be a level from 0 to 3; got {caller.priority}")
        return GroupedCall(self._joins, queue, (request, caller, through))

    def heartbeat(self, queue: QueueId, number: int, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Give a sign of life; TicketExpired if the place is gone. It is none of a ticket that was taken at another
        time, which is answered all the same."""
        return GroupedCall(self._heartbeats, queue, (number, joined))

    def status(self, queue: QueueId, number: int) -> GroupedCall[StatusAnswer]:
        """Where a ticket stands; ended ones too, while they are kept."""
        return GroupedCall(self._statuses, queue, number)

    def unload(self, queue: QueueId, number: int) -> GroupedCall[StatusAnswer]:
        """The page was closed: they have the grace to come back."""
        return GroupedCall(self._unloads, queue, number)

    def leave(self, queue: QueueId, number: int, joined: int | None = None, by: str = "") -> GroupedCall[StatusAnswer]:
        """Leave for good, from the line or from inside; a session only by the client `by`, where that is said."""
        return GroupedCall(self._acts, (queue, Action.LEAVE), (number, joined, self.identity.session(by)))

    async def statuses(
        self, queue: QueueId, numbers: list[int], *, heartbeat: bool = False
    ) -> list[StatusAnswer | FairlineError]:
        """Where many tickets stand, in one call; with `beat`, a sign of life of each (for open streams)."""
        return await self._batches.statuses(queue, numbers, heartbeat=heartbeat)

    # Inside

    def start(self, queue: QueueId, number: int, by: str, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Begin the session; `by` says which client, and no other may use it from then on."""
        return GroupedCall(self._visits, (queue, "start"), Visitor(number, self.identity.session(by), joined=joined))

    def touch(self, queue: QueueId, number: int, by: str, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Note activity in a session."""
        return GroupedCall(self._visits, (queue, "touch"), Visitor(number, self.identity.session(by), joined=joined))

    def visit(self, queue: QueueId, number: int, by: str, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """A page view: begins the session if it has not begun, and counts as activity (see activity)."""
        return GroupedCall(self._visits, (queue, "visit"), Visitor(number, self.identity.session(by), 0, joined))

    def complete(
        self, queue: QueueId, number: int, joined: int | None = None, by: str = ""
    ) -> GroupedCall[StatusAnswer]:
        """Done inside: the room is free at once. By the client that is inside alone, where it is said who asks."""
        return GroupedCall(self._acts, (queue, Action.COMPLETE), (number, joined, self.identity.session(by)))

    # Staff

    async def call_next(
        self, queue: QueueId, count: int = 1, desk: str = "", key: str | None = None, staff: str = ""
    ) -> list[Ticket]:
        """Call the next people by hand; a retried press with the same key calls the same people."""
        if not 1 <= count <= 100:
            raise InvalidRequest("count", f"must be a whole number from 1 to 100; got {count}")
        return await self.store.call_next(queue, count, desk=_desk(desk), key=self.identity.key(key, staff))

    async def call(self, queue: QueueId, number: int, desk: str = "") -> Ticket:
        """Call one person out of turn, or AtCapacity."""
        called = await self.store.call_next(queue, 1, desk=_desk(desk), number=number)
        if not called:
            raise AtCapacity(queue)
        return called[0]

    async def act(self, queue: QueueId, action: Action, number: int) -> Ticket:
        """Recall, return, complete, cancel, no-show, terminate, hold, release or reinstate; answers the ticket as it is
        now."""
        await GroupedCall(self._acts, (queue, action), (number, None, b""))
        return await self.ticket(queue, number)

    async def begin(self, queue: QueueId, number: int) -> Ticket:
        """Whoever was called has come to the counter: a session that belongs to no browser."""
        try:
            await self.start(queue, number, secrets.token_hex(8))
        except SessionTaken:
            raise TransitionRefused(Action.START, Status.ACTIVE) from None
        return await self.ticket(queue, number)

    async def prioritise(self, queue: QueueId, number: int, level: int) -> Ticket:
        """Move someone who waits up, by the queue's policy."""
        if not 1 <= level <= 3:
            raise InvalidRequest("level", f"must be a level from 1 to 3; got {level}")
        return await self.store.prioritise(queue, number, level)

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        """Make a ticket and its pass useless at once."""
        check_text("reason", reason, InvalidRequest)
        if not 1 <= len(reason) <= 200:
            raise InvalidRequest("reason", "must be text of 1 to 200 characters")
        return await self.store.revoke(queue, number, reason)

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        """What is revoked, and why."""
        return await self.store.revoked(queue)

    async def issue_priority_pass(
        self, queue: QueueId, level: int, uses: int = 1, seconds: float = 86_400
    ) -> tuple[str, str]:
        """A priority pass: its id, and the signed text to be given at joining."""
        for name, value, low, high in (("level", level, 1, 3), ("uses", uses, 1, 1_000_000)):
            if not low <= value <= high:
                raise InvalidRequest(name, f"must be a whole number from {low:,} to {high:,}; got {value}")
        if not 1 <= seconds <= 31_536_000:
            raise InvalidRequest("expires_in_seconds", f"must be a number from 1 to 31,536,000; got {seconds:g}")
        pass_id = secrets.token_hex(8)
        await self.store.issue_priority_pass(queue, pass_id, level, uses, seconds)
        claims = PriorityClaims(queue=queue, expires=int(time.time() + seconds), id=pass_id, level=level)
        return pass_id, self.keyring.priorities.sign(claims)

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        """Make a priority pass useless at once."""
        await self.store.withdraw_priority_pass(queue, pass_id)

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        """The priority passes that have not ended."""
        return await self.store.passes(queue)

    # Queues

    async def queues(self) -> list[QueueId]:
        """The names of all queues."""
        return await self.store.queues()

    async def create(self, name: str, changes: dict[str, Any], by: str = "") -> Configured:
        """Make a queue with these settings and the defaults for the rest; `by` is who, for the history."""
        queue = queue_id(name)
        await self.store.create(queue, checked(changes), by)
        return await self.store.settings(queue)

    async def configure(
        self, queue: QueueId, changes: dict[str, Any], version: int | None = None, by: str = ""
    ) -> Configured:
        """Change settings; with a version, only if nobody else changed them since."""
        while True:
            current = await self.store.settings(queue)
            try:
                return await self.store.configure(
                    queue, checked(changes, current.settings), current.version if version is None else version, by
                )
            except SettingsChanged:
                if version is not None:
                    raise  # someone came in between: the caller must look before changing it again

    async def history(self, queue: QueueId, before: int | None, limit: int) -> Past:
        """Who changed which settings and when, newest first."""
        return await past(self.store, queue, before, limit)

    async def restore(self, queue: QueueId, to: int, version: int | None = None, by: str = "") -> Configured:
        """Set everything as it was at the version `to`, which is a change like any other."""
        was = await settings_at(self.store, queue, to)
        return await self.configure(queue, msgspec.structs.asdict(was), version, by)

    async def set_stock(
        self, queue: QueueId, total: int | None, *, told_by: str | None = None, by: str = ""
    ) -> Configured:
        """Say how much there is to sell in all. What a service says (`told_by` is its address) only counts while it is
        this queue's service, and no figure is there already."""
        while True:
            current = await self.store.settings(queue)
            settings = current.settings
            if told_by is not None and (settings.stock is not None or settings.stock_url != told_by):
                return current
            try:
                return await self.configure(queue, {"stock": total}, None if told_by is None else current.version, by)
            except SettingsChanged:
                continue  # look again: someone may have set it meanwhile

    async def settings(self, queue: QueueId) -> Configured:
        """The settings, with their version."""
        return await self.store.settings(queue)

    async def version(self, queue: QueueId) -> int:
        """The version of the settings at this moment, by which what is remembered of a queue is known to be of this
        one: see docs/decisions/0012-a-deleted-queue-is-forgotten-at-once.md."""
        return await self.store.version(queue)

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        """Remove a queue with all its tickets; with a version, only if nobody else changed its settings since."""
        await self.store.delete(queue, version)
        self._settings_cache.forget(queue)

    async def settings_at(self, queue: QueueId, snapshot: QueueSnapshot) -> QueueSettings:
        """The settings at the moment of a view."""
        return await self._settings_cache.at(queue, snapshot)

    async def snapshot(self, queue: QueueId) -> tuple[QueueSnapshot, QueueSettings]:
        """The queue at this moment, and what it is set to."""
        snapshot = await self.store.snapshot(queue)
        return snapshot, await self._settings_cache.at(queue, snapshot)

    async def ticket(self, queue: QueueId, number: int) -> Ticket:
        """All that is kept of a ticket."""
        (found,) = (await self.store.look_up(queue, [number])).items
        if found is None:
            raise TicketNotFound(queue, number)
        return found

    async def labels(self, queue: QueueId, numbers: Sequence[int]) -> dict[int, str]:
        """What tickets print, of those that are kept."""
        reply = await self.store.status(queue, numbers)
        settings = await self._settings_cache.at(queue, reply.snapshot)
        return {each.number: printed(queue, settings, each) for each in reply.items if each is not None}

    async def tickets(
        self, queue: QueueId, status: Status | None, cursor: str | None, limit: int, wanted: str | None = None
    ) -> Page:
        """Tickets in order, a page at a time; with `wanted`, those of people it fits (see search)."""
        if not 1 <= limit <= PAGE:
            raise InvalidRequest("limit", f"must be a whole number from 1 to {PAGE}; got {limit}")
        if wanted is not None:
            _, settings = await self.snapshot(queue)
            return await search(self.store, queue, settings, wanted, status, cursor, limit)
        return await self.store.tickets(queue, status, cursor, limit)

    async def events(self, queue: QueueId, after: str | None, limit: int = PAGE) -> list[Event]:
        """What happened, in order."""
        return await self.store.events(queue, after, limit)

    async def last_event(self, queue: QueueId) -> str:
        """The id of the newest event: what `events` goes on from."""
        return await self.store.last_event(queue)

    async def calls(self, queue: QueueId, limit: int = PAGE) -> list[Event]:
        """The last calls by hand, and what took one back, newest first."""
        return await self.store.calls(queue, limit)

    async def called(self, queue: QueueId, numbers: list[int]) -> tuple[QueueSnapshot, QueueSettings, list[Ticket]]:
        """What is kept of some tickets, with the queue at that moment; those that are gone are left out."""
        reply = await self.store.look_up(queue, numbers)
        settings = await self._settings_cache.at(queue, reply.snapshot)
        return reply.snapshot, settings, [ticket for ticket in reply.items if ticket is not None]

    async def stats(self, queue: QueueId) -> Stats:
        """The queue in figures."""
        return await self.store.stats(queue)

    async def hourly(self, queue: QueueId) -> list[Hour]:
        """The queue in figures, hour by hour."""
        return await self.store.hourly(queue)

    async def report(self, queue: QueueId, since: int | None = None, until: int | None = None) -> Report:
        """The queue in figures, for some hours or for all of them."""
        return await self.store.report(queue, since, until)

    async def preview(self, queue: QueueId, changes: dict[str, Any]) -> tuple[QueueSnapshot, Outlook, Outlook]:
        """The line as it stands, how it will drain as things are set, and how it would after these changes."""
        snapshot, settings = await self.snapshot(queue)
        return snapshot, outlook(settings, snapshot), outlook(checked(changes, settings), snapshot)

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        """The queue in figures, some minutes at a time: the last point has the present minute."""
        return await self.store.series(queue, step, points)

    def is_client(self, client_id: str, digest: str) -> bool:
        """Whether a client id has a digest that begins so."""
        return self.identity.is_client(client_id, digest)


def _desk(name: str) -> str:
    """The desk that calls; empty is none."""
    return desk_name(name) if name else ""
