"""The facade of the service layer: `Fairline` has the use cases of all queues in one store.

Calls that arrive together go to the store together (see fairline.aio.grouping). So the most frequent methods are plain
functions that return a `GroupedCall`, which the caller awaits.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from fairline.aio.grouping import GroupedCall, Grouping, MakeGrouping, plain_grouping
from fairline.domain.desk_name import desk_name
from fairline.domain.events import Event
from fairline.domain.join_request import Caller, JoinRequest, check_join
from fairline.domain.opening_steps import checked_with_openings, with_openings_of
from fairline.domain.preview import Outlook, outlook
from fairline.domain.queue import QueueId, QueueSnapshot, queue_id
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.rehearsal import rehearsed_at
from fairline.domain.settings_checks import checked
from fairline.domain.storable_text import check_text
from fairline.domain.ticket import TOKEN_SECONDS, Action, Status, Ticket
from fairline.domain.tokens import Keyring, PriorityClaims
from fairline.errors import (
    AtCapacity,
    FairlineError,
    InvalidRequest,
    InvalidSettings,
    SessionTaken,
    SettingsChanged,
    TicketNotFound,
    TransitionRefused,
)
from fairline.service.answers import JoinAnswer, StatusAnswer, printed_label
from fairline.service.batches import ActionCall, Batches, JoinCall, TicketCall
from fairline.service.history import HistoryPage, history_page, settings_at_version
from fairline.service.identity import Identity
from fairline.service.search import search
from fairline.service.settings_cache import SettingsCache
from fairline.service.ticket_tokens import TicketTokens
from fairline.store import Configured, Hour, Page, Point, PriorityPass, Report, Stats, Store, Visit, Visitor

#: The largest page of a listing.
PAGE = 500


#: The caller of a join that a program makes for somebody: nothing is known about them.
NO_CALLER = Caller()

#: Receives each grouped call: its name, its key, when it was sent, when each caller asked, and the results (see
#: fairline.aio.grouping).
OnSent = Callable[[str, Any, float, Sequence[float], Sequence[StatusAnswer | FairlineError] | Exception], None]


class Fairline:
    """All queues of one store. It caches only what can be read from the store again.

    `on_sent` is called after each grouped store call, with the name of the call and the arguments of
    `fairline.aio.grouping.OnSent`. `grouping` makes the grouping of each kind of call."""

    def __init__(
        self,
        store: Store,
        keyring: Keyring,
        *,
        token_seconds: float = TOKEN_SECONDS,
        on_sent: OnSent | None = None,
        grouping: MakeGrouping = plain_grouping,
    ) -> None:
        self.store = store
        self.keyring = keyring
        self.identity = Identity(keyring)
        self._settings_cache = SettingsCache(store)
        self.tokens = TicketTokens(keyring, token_seconds)
        self._batches = batches = Batches(store, self.identity, self._settings_cache, self.tokens)

        def group(call: str, send: Callable[[Any, list[Any]], Awaitable[Sequence[Any]]]) -> Any:
            return grouping(call, send, partial(on_sent, call) if on_sent else None)

        self._joins: Grouping[QueueId, JoinCall, JoinAnswer] = group("join", batches.joins)
        self._heartbeats: Grouping[QueueId, TicketCall, StatusAnswer] = group("heartbeat", batches.heartbeats)
        self._statuses: Grouping[QueueId, int, StatusAnswer] = group("status", batches.statuses)
        self._unloads: Grouping[QueueId, int, StatusAnswer] = group("unload", batches.unloads)
        self._closings: Grouping[QueueId, int, StatusAnswer] = group("close_page", batches.closings)
        self._visits: Grouping[tuple[QueueId, Visit], Visitor, StatusAnswer] = group("visit", batches.visits)
        self._acts: Grouping[tuple[QueueId, Action], ActionCall, StatusAnswer] = group("act", batches.acts)

    async def close(self) -> None:
        """Finish all calls that were made, and write everything that was noted."""
        waiting = (self._joins, self._heartbeats, self._statuses, self._unloads, self._closings)
        await asyncio.gather(*(group.close() for group in (*waiting, self._visits, self._acts)))
        await self._batches.close()

    # People who wait. A caller that has a token also passes the ticket's time of joining (`joined`), because in a
    # recreated queue the number belongs to somebody else.

    def join(
        self, queue: QueueId, request: JoinRequest, caller: Caller = NO_CALLER, *, through: bool = False
    ) -> GroupedCall[JoinAnswer]:
        """Take a place in the line, or return the caller's existing ticket. With `through`, the caller is let in at
        once, or AtCapacity is raised."""
        check_join(request)
        if not 0 <= caller.priority <= 3:
            raise InvalidRequest("priority", f"must be a level from 0 to 3; got {caller.priority}")
        return GroupedCall(self._joins, queue, (request, caller, through))

    def heartbeat(self, queue: QueueId, number: int, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Send a heartbeat for a ticket and return its status; raise TicketExpired if the place is gone. If the ticket
        joined at another time than `joined`, its status is returned without a heartbeat."""
        return GroupedCall(self._heartbeats, queue, (number, joined))

    def status(self, queue: QueueId, number: int) -> GroupedCall[StatusAnswer]:
        """Return the status of a ticket; an ended ticket has one until its record is purged."""
        return GroupedCall(self._statuses, queue, number)

    def unload(self, queue: QueueId, number: int) -> GroupedCall[StatusAnswer]:
        """Note that the holder of a ticket is leaving: the place is kept for `grace_seconds`."""
        return GroupedCall(self._unloads, queue, number)

    def close_page(self, queue: QueueId, number: int) -> GroupedCall[StatusAnswer]:
        """Note that the page of a ticket was closed: the place is kept for `closed_page_seconds`."""
        return GroupedCall(self._closings, queue, number)

    def leave(self, queue: QueueId, number: int, joined: int | None = None, by: str = "") -> GroupedCall[StatusAnswer]:
        """End a ticket because its holder leaves, from the line or from inside. With `by`, a session is only ended for
        that client."""
        return GroupedCall(self._acts, (queue, Action.LEAVE), (number, joined, self.identity.session(by)))

    async def statuses(self, queue: QueueId, numbers: list[int]) -> list[StatusAnswer | FairlineError]:
        """Return the status of many tickets in one call."""
        return await self._batches.statuses(queue, numbers)

    async def stream_heartbeats(
        self, queue: QueueId, numbers: list[int], *, still_open: bool = False
    ) -> list[StatusAnswer | FairlineError]:
        """Send a heartbeat for tickets with an open stream and return their status. A ticket whose page was closed
        comes back only with `still_open`, for a stream that is open a while after that."""
        return await self._batches.stream_heartbeats(queue, numbers, still_open=still_open)

    # Inside

    def start(self, queue: QueueId, number: int, by: str, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Start the session of an admitted ticket for the client `by`; no other client can use the session."""
        return GroupedCall(self._visits, (queue, "start"), Visitor(number, self.identity.session(by), joined=joined))

    def touch(self, queue: QueueId, number: int, by: str, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Record activity in a session, so that it does not time out."""
        return GroupedCall(self._visits, (queue, "touch"), Visitor(number, self.identity.session(by), joined=joined))

    def visit(self, queue: QueueId, number: int, by: str, joined: int | None = None) -> GroupedCall[StatusAnswer]:
        """Record a page view: it starts the session if necessary, and counts as activity (see write_behind.py)."""
        return GroupedCall(self._visits, (queue, "visit"), Visitor(number, self.identity.session(by), 0, joined))

    def complete(
        self, queue: QueueId, number: int, joined: int | None = None, by: str = ""
    ) -> GroupedCall[StatusAnswer]:
        """Complete a session and free its capacity at once. With `by`, only the client that started the session can
        complete it."""
        return GroupedCall(self._acts, (queue, Action.COMPLETE), (number, joined, self.identity.session(by)))

    # Staff

    async def call_next(
        self, queue: QueueId, count: int = 1, desk: str = "", key: str | None = None, staff: str = ""
    ) -> list[Ticket]:
        """Call the next `count` people to a desk; a retry with the same key returns the same people."""
        if not 1 <= count <= 100:
            raise InvalidRequest("count", f"must be a whole number from 1 to 100; got {count}")
        return await self.store.call_next(queue, count, desk=_desk(desk), key=self.identity.key(key, staff))

    async def call(self, queue: QueueId, number: int, desk: str = "") -> Ticket:
        """Call one person out of turn; raise AtCapacity if there is no capacity for them."""
        called = await self.store.call_next(queue, 1, desk=_desk(desk), number=number)
        if not called:
            raise AtCapacity(queue)
        return called[0]

    async def act(self, queue: QueueId, action: Action, number: int) -> Ticket:
        """Apply an action to a ticket (recall, return, complete, cancel, no-show, terminate, hold, release,
        reinstate or put back), and return the ticket after it."""
        await GroupedCall(self._acts, (queue, action), (number, None, b""))
        return await self.ticket(queue, number)

    async def begin(self, queue: QueueId, number: int) -> Ticket:
        """Start serving a called person at a desk: a session that belongs to no browser."""
        try:
            await self.start(queue, number, secrets.token_hex(8))
        except SessionTaken:
            raise TransitionRefused(Action.START, Status.ACTIVE) from None
        return await self.ticket(queue, number)

    async def prioritise(self, queue: QueueId, number: int, level: int) -> Ticket:
        """Give a waiting ticket a higher priority level; the queue's policy decides its new place."""
        if not 1 <= level <= 3:
            raise InvalidRequest("level", f"must be a level from 1 to 3; got {level}")
        return await self.store.prioritise(queue, number, level)

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        """Invalidate a ticket and its session token at once, for a reason."""
        check_text("reason", reason, InvalidRequest)
        if not 1 <= len(reason) <= 200:
            raise InvalidRequest("reason", "must be text of 1 to 200 characters")
        return await self.store.revoke(queue, number, reason)

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        """Return the revoked tickets, each with the reason."""
        return await self.store.revoked(queue)

    async def issue_priority_pass(
        self, queue: QueueId, level: int, uses: int = 1, seconds: float = 86_400
    ) -> tuple[str, str]:
        """Issue a priority pass, and return its id and the signed text that is used at joining."""
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
        """Invalidate a priority pass at once."""
        await self.store.withdraw_priority_pass(queue, pass_id)

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        """Return the priority passes that have not ended."""
        return await self.store.passes(queue)

    # Queues

    async def queues(self) -> list[QueueId]:
        """Return the ids of all queues; those of rehearsals are not among them."""
        return [queue for queue in await self.store.queues() if rehearsed_at(queue) is None]

    async def create(self, name: str, changes: dict[str, Any], by: str = "") -> Configured:
        """Create a queue with these settings, and defaults for the rest; `by` is recorded in the history."""
        queue = queue_id(name)
        if rehearsed_at(queue) is not None:
            raise InvalidSettings("id", "must not be the name of a rehearsal: its queue would be deleted")
        await self.store.create(queue, checked(changes), by)
        return await self.store.settings(queue)

    async def configure(
        self, queue: QueueId, changes: dict[str, Any], version: int | None = None, by: str = ""
    ) -> Configured:
        """Change settings; with `version`, raise SettingsChanged if someone else has changed them since."""
        return await self.change(queue, lambda present: checked_with_openings(changes, present), version, by)

    async def change(
        self,
        queue: QueueId,
        change: Callable[[QueueSettings], QueueSettings],
        version: int | None = None,
        by: str = "",
    ) -> Configured:
        """Replace the settings by what `change` makes of the present ones."""
        while True:
            current = await self.store.settings(queue)
            changed = change(current.settings)
            try:
                return await self.store.configure(queue, changed, current.version if version is None else version, by)
            except SettingsChanged:
                if version is not None:
                    raise  # the caller must read the other change before trying again

    async def history(self, queue: QueueId, before: int | None, limit: int) -> HistoryPage:
        """Return who changed which settings and when, newest first, before the version `before`."""
        return await history_page(self.store, queue, before, limit)

    async def restore(self, queue: QueueId, to: int, version: int | None = None, by: str = "") -> Configured:
        """Restore all settings from the version `to`; this is a change like any other."""
        old = await settings_at_version(self.store, queue, to)
        now = await self.store.time()
        return await self.change(queue, lambda present: with_openings_of(old, present, now), version, by)

    async def set_stock(
        self, queue: QueueId, total: int | None, *, source_url: str | None = None, by: str = ""
    ) -> Configured:
        """Set the total stock. A total from a stock service (`source_url` is its address) is only used while it is the
        `stock_url` of the queue and the stock is not set yet."""
        while True:
            current = await self.store.settings(queue)
            settings = current.settings
            if source_url is not None and (settings.stock is not None or settings.stock_url != source_url):
                return current
            try:
                return await self.configure(
                    queue, {"stock": total}, None if source_url is None else current.version, by
                )
            except SettingsChanged:
                continue  # read the settings again: someone may have set the stock meanwhile

    async def settings(self, queue: QueueId) -> Configured:
        """Return the settings of a queue and their version."""
        return await self.store.settings(queue)

    async def version(self, queue: QueueId) -> int:
        """Return the present version of the settings. Caches use it to notice that a queue was changed, deleted or
        recreated: see docs/decisions/0012-a-deleted-queue-is-forgotten-at-once.md."""
        return await self.store.version(queue)

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        """Delete a queue with all its tickets; with `version`, raise SettingsChanged if someone else has changed its
        settings since."""
        await self.store.delete(queue, version)
        self._settings_cache.forget(queue)

    async def settings_at(self, queue: QueueId, snapshot: QueueSnapshot) -> QueueSettings:
        """Return the settings of a queue at the moment of a snapshot."""
        return await self._settings_cache.at(queue, snapshot)

    async def snapshot(self, queue: QueueId) -> tuple[QueueSnapshot, QueueSettings]:
        """Return a snapshot of the queue and its settings at this moment."""
        snapshot = await self.store.snapshot(queue)
        return snapshot, await self._settings_cache.at(queue, snapshot)

    async def ticket(self, queue: QueueId, number: int) -> Ticket:
        """Return the whole record of a ticket; raise TicketNotFound if there is none."""
        (found,) = (await self.store.look_up(queue, [number])).items
        if found is None:
            raise TicketNotFound(queue, number)
        return found

    async def labels(self, queue: QueueId, numbers: Sequence[int]) -> dict[int, str]:
        """Return the labels of tickets by number; purged tickets are left out."""
        reply = await self.store.status(queue, numbers)
        settings = await self._settings_cache.at(queue, reply.snapshot)
        return {each.number: printed_label(queue, settings, each) for each in reply.items if each is not None}

    async def tickets(
        self, queue: QueueId, status: Status | None, cursor: str | None, limit: int, wanted: str | None = None
    ) -> Page:
        """Return a page of tickets in order; with `wanted`, only those that match this search text (see search.py)."""
        if not 1 <= limit <= PAGE:
            raise InvalidRequest("limit", f"must be a whole number from 1 to {PAGE}; got {limit}")
        if wanted is not None:
            _, settings = await self.snapshot(queue)
            return await search(self.store, queue, settings, wanted, status, cursor, limit)
        return await self.store.tickets(queue, status, cursor, limit)

    async def events(self, queue: QueueId, after: str | None, limit: int = PAGE) -> list[Event]:
        """Return the events after the id `after`, oldest first."""
        return await self.store.events(queue, after, limit)

    async def last_event(self, queue: QueueId) -> str:
        """Return the id of the newest event, from which `events` continues."""
        return await self.store.last_event(queue)

    async def calls(self, queue: QueueId, limit: int = PAGE) -> list[Event]:
        """Return the events of the last calls by staff, newest first, including calls that were taken back."""
        return await self.store.calls(queue, limit)

    async def called(self, queue: QueueId, numbers: list[int]) -> tuple[QueueSnapshot, QueueSettings, list[Ticket]]:
        """Return the records of some tickets with the queue at that moment; purged tickets are left out."""
        reply = await self.store.look_up(queue, numbers)
        settings = await self._settings_cache.at(queue, reply.snapshot)
        return reply.snapshot, settings, [ticket for ticket in reply.items if ticket is not None]

    async def stats(self, queue: QueueId) -> Stats:
        """Return the statistics of a queue."""
        return await self.store.stats(queue)

    async def hourly(self, queue: QueueId) -> list[Hour]:
        """Return the statistics of a queue hour by hour."""
        return await self.store.hourly(queue)

    async def report(self, queue: QueueId, since: int | None = None, until: int | None = None) -> Report:
        """Return the statistics of a queue, for the hours from `since` to `until` or for all hours."""
        return await self.store.report(queue, since, until)

    async def preview(self, queue: QueueId, changes: dict[str, Any]) -> tuple[QueueSnapshot, Outlook, Outlook]:
        """Preview a change of settings: return a snapshot, the outlook with the present settings, and the outlook after
        the changes."""
        snapshot, settings = await self.snapshot(queue)
        return snapshot, outlook(settings, snapshot), outlook(checked(changes, settings), snapshot)

    async def series(self, queue: QueueId, step: int, points: int) -> list[Point]:
        """Return a time series of the queue with `points` points, `step` minutes each; the last has the present
        minute."""
        return await self.store.series(queue, step, points)

    def is_client(self, client_id: str, digest: str) -> bool:
        """Whether `digest` is the beginning of this client id's digest."""
        return self.identity.is_client(client_id, digest)


def _desk(name: str) -> str:
    """The checked name of the desk that calls; '' if there is none."""
    return desk_name(name) if name else ""
