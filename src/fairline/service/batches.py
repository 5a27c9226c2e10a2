"""The batches of calls that go to the store together, and the answer to each call.

Each method takes the calls of one batch (see fairline.aio.grouping) and returns one answer per call, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from fairline.domain.estimate import Forecast
from fairline.domain.join_request import Caller, JoinRequest, missing_field, normalised_join
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Action, Reason, Status, Ticket, TicketStatus
from fairline.errors import (
    AlreadyInLine,
    FairlineError,
    InvalidRequest,
    QueueClosed,
    SettingsChanged,
    TicketExpired,
    TokenMoved,
)
from fairline.service.answers import JoinAnswer, StatusAnswer, without_position
from fairline.service.estimate_samples import EstimateSamples, sampled
from fairline.service.identity import Identity
from fairline.service.join_calendar import closed_until, join_calendar_at
from fairline.service.settings_cache import SettingsCache
from fairline.service.ticket_tokens import TicketTokens
from fairline.service.write_behind import WriteBehind
from fairline.store import Arrival, JoinCalendar, Joined, Reply, Store, Visit, Visitor
from fairline.store.values import Outcomes

T = TypeVar("T")

#: A place or a session that ends within this time is extended at once, not with the next write.
URGENT_MS = 5000
#: A call to join: the request, its caller, and whether they want to go straight through.
JoinCall = tuple[JoinRequest, Caller, bool]
#: A ticket by its number, and by its time of joining if the caller has its token: in a recreated queue, the number
#: belongs to somebody else.
TicketCall = tuple[int, int | None]
#: The same, with the client that asks if it may only end its own session (see fairline.store.Visitor).
ActionCall = tuple[int, int | None, bytes]
#: How often a join is attempted when the settings change at the same time.
TRIES = 5


class Batches:
    """The batches of all queues of one store."""

    def __init__(self, store: Store, identity: Identity, settings_cache: SettingsCache, tokens: TicketTokens) -> None:
        self._store = store
        self._identity = identity
        self._settings_cache = settings_cache
        self._tokens = tokens
        self._page_views = WriteBehind[tuple[int, bytes, int]](self._touch)
        self._heartbeats = WriteBehind[int](lambda queue, numbers: store.record_heartbeats(queue, list(numbers)))
        self._estimate_samples = EstimateSamples(store)

    async def close(self) -> None:
        """Write everything that was noted and not written yet."""
        await self._page_views.close()
        await self._heartbeats.close()
        await self._estimate_samples.close()

    async def joins(self, queue: QueueId, calls: list[JoinCall]) -> list[JoinAnswer | FairlineError]:
        """People take a place in the line, or come back to the ticket they hold."""
        arrivals, reply = await self._arrivals(queue, calls)
        settings = await self._settings_cache.at(queue, reply.snapshot)
        forecast = Forecast(settings, reply.snapshot)

        def checked(outcome: Joined | FairlineError, request: JoinRequest, caller: Caller) -> Joined | FairlineError:
            if isinstance(outcome, Joined):
                if outcome.proven or _proof(outcome.ticket) == caller.holds:
                    return outcome
                moved = outcome.by_key and caller.staff is None
                return TokenMoved() if moved else AlreadyInLine(queue)
            if isinstance(outcome, InvalidRequest) and outcome.field == "user_token":
                return self._named(queue, settings, request, caller)[1] or outcome
            if isinstance(outcome, QueueClosed):
                return closed_until(queue, outcome, settings, reply.snapshot.now)
            return outcome

        items = iter(reply.items)
        outcomes = (next(items) if isinstance(arrival, Arrival) else arrival for arrival in arrivals)
        results = [
            checked(outcome, request, caller) for outcome, (request, caller, _) in zip(outcomes, calls, strict=True)
        ]
        # All tokens are signed together: with warm caches, that takes half the time.
        tokens = iter(
            self._tokens.tokens(queue, settings, [each.ticket for each in results if isinstance(each, Joined)])
        )

        held_back = settings.held_back

        def answer(joined: Joined) -> JoinAnswer:
            return JoinAnswer(
                queue=queue,
                ticket_status=without_position(joined.ticket) if held_back else joined.ticket,
                snapshot=reply.snapshot,
                settings=settings,
                forecast=forecast,
                created=joined.created,
                token=next(tokens),
            )

        answers = [answer(each) if isinstance(each, Joined) else each for each in results]
        self._record_estimates(queue, answers)
        return answers

    async def _arrivals(
        self, queue: QueueId, calls: list[JoinCall], tries: int = TRIES
    ) -> tuple[list[Arrival | FairlineError], Reply[Joined | FairlineError]]:
        """The arrival or the error of each call, and the store's reply to the arrivals."""
        calendar, settings = await self._join_calendar(queue)
        required = settings.required  # worked out once for the batch
        arrivals = [self._arrival(queue, settings, required, *each) for each in calls]
        try:
            return arrivals, await self._store.join(queue, [a for a in arrivals if isinstance(a, Arrival)], calendar)
        except SettingsChanged:
            if tries == 1:
                raise
            self._settings_cache.forget(queue)
            return await self._arrivals(queue, calls, tries - 1)

    def _arrival(
        self,
        queue: QueueId,
        settings: QueueSettings,
        required: Sequence[str],
        request: JoinRequest,
        caller: Caller,
        through: bool,
    ) -> Arrival | FairlineError:
        try:
            by_staff = caller.staff is not None
            named, problem = self._named(queue, settings, normalised_join(request, settings, by_staff=by_staff), caller)
            # The store refuses a missing field only for a new ticket: the holder of an existing one comes back to it.
            missing = "user_token" if problem else "" if by_staff else missing_field(named, required)
            return self._identity.arrival(queue, named, caller, through, settings.ipv6_prefix, missing)
        except FairlineError as error:
            return error

    def _named(
        self, queue: QueueId, settings: QueueSettings, request: JoinRequest, caller: Caller
    ) -> tuple[JoinRequest, FairlineError | None]:
        required = settings.require_user_token and caller.staff is None
        if not required and request.user_token is None and caller.user_token is None:
            return request, None
        return self._identity.named(queue, request, caller, required=required)

    async def _join_calendar(self, queue: QueueId) -> tuple[JoinCalendar, QueueSettings]:
        """The settings for a join, and the calendar if joins depend on it."""
        configured = await self._settings_cache.latest(queue)
        if not configured.settings.needs_calendar:
            return JoinCalendar(configured.version), configured.settings
        snapshot = await self._store.snapshot(queue)
        settings = await self._settings_cache.at(queue, snapshot)
        return join_calendar_at(settings, snapshot), settings

    def _record_estimates(self, queue: QueueId, answers: Sequence[JoinAnswer | FairlineError]) -> None:
        """Record the waits that some new tickets were shown, to compare them later with the actual waits."""
        for each in answers:
            if (
                isinstance(each, JoinAnswer)
                and each.created
                and sampled(each.ticket_status.number)
                and (wait := each.wait)
            ):
                self._estimate_samples.note(queue, each.ticket_status.number, wait)

    async def heartbeats(self, queue: QueueId, tickets: list[TicketCall]) -> list[StatusAnswer | FairlineError]:
        """Heartbeats; TicketExpired for a ticket that is gone. The answer has the present status. The heartbeat itself
        is written a little later (see write_behind.py), but at once if it changes more than a distant deadline."""
        reply = await self._store.status(queue, [number for number, _ in tickets])
        settings = await self._settings_cache.at(queue, reply.snapshot)
        soon = _soon(reply, _next_heartbeat_ms(settings))
        urgent, deferred = [], []
        for (_, joined), ticket_status in zip(tickets, reply.items, strict=True):
            if (
                ticket_status is None
                or ticket_status.status is not Status.WAITING
                or joined not in (None, ticket_status.joined)
            ):
                continue
            deadline = ticket_status.deadline
            if ticket_status.leaving or (deadline is not None and deadline < soon):
                urgent.append(ticket_status.number)
            elif deadline is not None:
                deferred.append(ticket_status.number)
        self._heartbeats.note(queue, deferred)
        reply = Reply(reply.snapshot, self._extended(settings, reply, set(deferred)))
        if urgent:
            written = dict(zip(urgent, (await self._store.heartbeat(queue, urgent)).items, strict=True))
            reply = Reply(reply.snapshot, [each and written.get(each.number, each) for each in reply.items])
        answers = await self._answers(queue, reply, _expired)
        self._estimate_samples.note_halfway(queue, answers)
        return answers

    @staticmethod
    def _extended(
        settings: QueueSettings, reply: Reply[TicketStatus | None], deferred: set[int]
    ) -> list[TicketStatus | None]:
        """The tickets with the deadlines that their heartbeats will set when they are written."""
        if not settings.heartbeat_timeout_seconds:
            return reply.items
        lasts = round(1000 * (settings.heartbeat_timeout_seconds + settings.grace_seconds))
        due = reply.snapshot.now + lasts
        return [
            replace(each, deadline=due) if each and each.number in deferred and (each.deadline or 0) < due else each
            for each in reply.items
        ]

    async def statuses(self, queue: QueueId, numbers: list[int]) -> list[StatusAnswer | FairlineError]:
        """The status of tickets."""
        return await self._answers(queue, await self._store.status(queue, numbers), _purged)

    async def stream_heartbeats(
        self, queue: QueueId, numbers: list[int], *, still_open: bool = False
    ) -> list[StatusAnswer | FairlineError]:
        """Heartbeats of tickets with an open stream, and their status. A ticket whose page was closed is brought back
        only with `still_open`: the worker that has the stream may not know yet that it was closed too."""
        if still_open:
            reply = await self._store.heartbeat(queue, numbers)
        else:
            await self._store.record_heartbeats(queue, numbers)
            reply = await self._store.status(queue, numbers)
        answers = await self._answers(queue, reply, _purged)
        self._estimate_samples.note_halfway(queue, answers)
        return answers

    async def unloads(self, queue: QueueId, numbers: list[int]) -> list[StatusAnswer | FairlineError]:
        """People are leaving the line."""
        return await self._answers(queue, await self._store.unload(queue, numbers), _purged)

    async def closings(self, queue: QueueId, numbers: list[int]) -> list[StatusAnswer | FairlineError]:
        """Pages of tickets were closed."""
        return await self._answers(queue, await self._store.heartbeat(queue, numbers, closing=True), _purged)

    async def visits(self, key: tuple[QueueId, Visit], visitors: list[Visitor]) -> list[StatusAnswer | FairlineError]:
        """People inside start their session or show activity."""
        queue, what = key
        reply = await self._store.visit(queue, what, visitors)
        if what == "visit":
            await self._note_views(queue, visitors, reply)
        return await self._answers(queue, reply, _as_it_is)

    async def _note_views(self, queue: QueueId, visitors: list[Visitor], reply: Outcomes) -> None:
        soon = _soon(reply)
        urgent: list[Visitor] = []
        views: list[tuple[int, bytes, int]] = []
        for (number, by, _, _), ticket_status in zip(visitors, reply.items, strict=True):
            if isinstance(ticket_status, FairlineError):
                continue
            if ticket_status.deadline is not None and ticket_status.deadline < soon:
                urgent.append(Visitor(number, by, joined=ticket_status.joined))
            else:
                views.append((number, by, ticket_status.joined))
        self._page_views.note(queue, views)
        if urgent:
            await self._store.visit(queue, "touch", urgent)

    async def _touch(self, queue: QueueId, views: Mapping[tuple[int, bytes, int], int]) -> None:
        visitors = [Visitor(number, by, count, joined) for (number, by, joined), count in views.items()]
        await self._store.visit(queue, "touch", visitors)

    async def acts(self, key: tuple[QueueId, Action], tickets: list[ActionCall]) -> list[StatusAnswer | FairlineError]:
        """One action on many tickets."""
        queue, action = key
        await self._page_views.write(queue)  # before the action: the page views of an ended session cannot be written
        numbers, joined = [number for number, _, _ in tickets], [joined for _, joined, _ in tickets]
        by = [by for _, _, by in tickets]
        return await self._answers(queue, await self._store.act(queue, action, numbers, joined, by), _as_it_is)

    async def _answers(
        self, queue: QueueId, reply: Reply[T], check: Callable[[T], TicketStatus | FairlineError]
    ) -> list[StatusAnswer | FairlineError]:
        settings = await self._settings_cache.at(queue, reply.snapshot)
        forecast = Forecast(settings, reply.snapshot)
        found = [check(item) for item in reply.items]
        if went := [
            each.number for each in found if isinstance(each, TicketStatus) and each.reason is Reason.TRANSFERRED
        ]:
            tickets = (await self._store.look_up(queue, went)).items
            records = {ticket.number: ticket for ticket in tickets if ticket}  # the full record has the new ticket
            found = [records.get(each.number, each) if isinstance(each, TicketStatus) else each for each in found]
        held_back = settings.held_back
        return [
            StatusAnswer(
                queue=queue,
                ticket_status=without_position(each) if held_back else each,
                snapshot=reply.snapshot,
                settings=settings,
                forecast=forecast,
            )
            if isinstance(each, TicketStatus)
            else each
            for each in found
        ]


def _proof(ticket: Ticket) -> tuple[int, int, int]:
    return ticket.number, ticket.joined, ticket.moved


def _next_heartbeat_ms(settings: QueueSettings) -> float:
    """The time until a client that sends a heartbeat now has sent the next one. In that time, no ticket may depend on a
    heartbeat that is lost if the worker is killed."""
    return 1500 * max(settings.heartbeat_interval_seconds, settings.heartbeat_timeout_seconds / 3)


def _soon(reply: Reply[Any], within: float = 0) -> float:
    """Deadlines before this moment are urgent: their heartbeats or page views are written at once."""
    return reply.snapshot.now + max(URGENT_MS, within)


def _expired(ticket_status: TicketStatus | None) -> TicketStatus | FairlineError:
    if ticket_status is None or ticket_status.status is Status.EXPIRED:
        return TicketExpired(ticket_status.reason if ticket_status and ticket_status.reason else "purged")
    return ticket_status


def _purged(ticket_status: TicketStatus | None) -> TicketStatus | FairlineError:
    return TicketExpired("purged") if ticket_status is None else ticket_status


def _as_it_is(ticket_status: TicketStatus | FairlineError) -> TicketStatus | FairlineError:
    return ticket_status
