"""The calls about tickets: call people, find them, act on one, add someone to the line."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta

from fairline.domain.join_request import Caller
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Reason, Status, Ticket
from fairline.errors import InvalidRequest
from fairline.service.fairline import PAGE
from fairline.service.search import AT_MOST, LONGEST
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.ticket_wire import (
    AdminTicket,
    Called,
    CallNext,
    CallOne,
    Prioritise,
    Revoke,
    StaffJoin,
    StepBack,
    TicketList,
    Transfer,
)
from fairline.web.admin.wire import Cursor, Nothing, limit_query
from fairline.web.api.people import named_queue
from fairline.web.api.wire import TicketAnswer
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query

USUAL_PAGE = 50

#: The actions on a ticket that need no further fields.
ACTIONS: dict[str, tuple[Action, str]] = {
    "recall": (Action.RECALL, "Call a called person who has not come again."),
    "return": (Action.RETURN, "Return a called person to their old place in line."),
    "complete": (Action.COMPLETE, "Complete a stay. Its capacity is free at once."),
    "no-show": (Action.NO_SHOW, "Record that a called person did not come."),
    "cancel": (Action.CANCEL, "Remove a waiting or called person from the line."),
    "terminate": (Action.TERMINATE, "End a session, or an admission that has not become one."),
    "hold": (Action.HOLD, "Put a waiting or called person on hold: nobody calls them, and those behind move up."),
    "release": (Action.RELEASE, "Return a person on hold to their old place in line."),
}


class Tickets(OperatorCalls):
    """The calls about tickets."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._context = operators.context

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        one, refused = {200: AdminTicket}, ("transition_refused",)
        ticket = "/queues/{queue}/tickets/{ticket}"
        return [
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/call-next",
                "Call the next people by hand. A repeated call with the same Idempotency-Key calls the same people.",
                self.call_next,
                {200: Called},
                takes=CallNext,
                headers=("Idempotency-Key",),
                problems=("queue_paused", "queue_held_back", "idempotency_conflict"),
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/join",
                "Add someone to the line. Staff are exempt from the limits of joining.",
                self.join,
                {201: TicketAnswer, 200: TicketAnswer},
                takes=StaffJoin,
                headers=("Idempotency-Key",),
                problems=(
                    "queue_full",
                    "queue_maintenance",
                    "already_in_line",
                    "pass_invalid",
                    "user_token_invalid",
                    "user_token_expired",
                    "idempotency_conflict",
                    "groups_off",
                    "group_gone",
                    "group_full",
                ),
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/revoke",
                "Revoke a ticket and its session token. Both stop working at once.",
                self.revoke,
                one,
                takes=Revoke,
                problems=("ticket_not_found", *refused),
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/tickets",
                "The tickets of a queue: waiting ones by position, the others by number.",
                self.listing,
                {200: TicketList},
                query=(
                    Query("status", Status, "only tickets with this status"),
                    Query(
                        "search",
                        Annotated[str, Meta(max_length=LONGEST, pattern=r"^$|\S")],
                        f"a ticket's number or label, or part of a name, phone number or user id. Reads at most "
                        f"{AT_MOST:,} tickets, so a page may be short although there is a cursor",
                    ),
                    limit_query(PAGE, USUAL_PAGE),
                    Query("cursor", Cursor, "the cursor of the previous page"),
                ),
            ),
            self._row(Role.VIEWER, f"GET {ticket}", "One ticket.", self.one, one),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/call",
                "Call one person out of turn.",
                self.call,
                one,
                takes=CallOne,
                problems=(*refused, "queue_paused", "queue_held_back", "at_capacity"),
            ),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/start",
                "Start the session of a called person who has come.",
                self.start,
                one,
                takes=Nothing,
                problems=refused,
            ),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/prioritise",
                "Move a waiting person up, by the queue's priority policy.",
                self.prioritise,
                one,
                takes=Prioritise,
                problems=(*refused, "queue_held_back", "in_group"),
            ),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/step-back",
                "Let others go before a waiting person.",
                self.step_back,
                one,
                takes=StepBack,
                problems=(*refused, "queue_held_back", "in_group"),
            ),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/reinstate",
                "Undo a no-show: the person has come after all.",
                partial(self.act, Action.REINSTATE),
                one,
                takes=Nothing,
                problems=(*refused, "at_capacity", "already_in_line"),
            ),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/put-back",
                "Undo a removal (cancel): the person waits at their old place again.",
                partial(self.act, Action.PUT_BACK),
                one,
                takes=Nothing,
                problems=(*refused, "already_in_line"),
            ),
            self._row(
                Role.OPERATOR,
                f"POST {ticket}/transfer",
                "Transfer someone to another queue. Repeating the call after an interruption continues the transfer.",
                self.transfer,
                one,
                takes=Transfer,
                problems=(*refused, "queue_full", "queue_maintenance", "already_in_line"),
            ),
            *(
                self._row(
                    Role.OPERATOR,
                    f"POST {ticket}/{name}",
                    about,
                    partial(self.act, action),
                    one,
                    takes=Nothing,
                    problems=refused,
                )
                for name, (action, about) in ACTIONS.items()
            ),
        ]

    async def call_next(self, call: Call) -> Response:
        """Call the next people."""
        body, key = call.take(CallNext), call.request.text(b"idempotency-key")
        called = await self._service.call_next(call.queue, body.count, body.desk, key, call.staff.id)
        fields = {"tickets": [ticket.number for ticket in called], "desk": body.desk}
        if not called:
            call.log("queue.called", **fields)
            return private(200, Called([]))
        # Staff are waiting for the answer, so the write and the read run concurrently.
        shown, _ = await asyncio.gather(self._shown(call.queue, called), call.record("queue.called", **fields))
        return private(200, Called(shown))

    async def call(self, call: Call) -> Response:
        """Call one person."""
        body = call.take(CallOne)
        called = await self._service.call(call.queue, call.number, body.desk)
        await call.record("queue.called", tickets=[called.number], desk=body.desk)
        return await self._answer(call, called)

    async def start(self, call: Call) -> Response:
        """Start a session at the desk."""
        call.take(Nothing)
        return await self._changed(call, Action.START, await self._service.begin(call.queue, call.number))

    async def act(self, action: Action, call: Call) -> Response:
        """Recall, return, complete, no-show, cancel, terminate, hold, release, reinstate or put back."""
        call.take(Nothing)
        return await self._changed(call, action, await self._service.act(call.queue, action, call.number))

    async def prioritise(self, call: Call) -> Response:
        """Move someone up."""
        level = call.take(Prioritise).level
        ticket = await self._service.prioritise(call.queue, call.number, level)
        await call.record("queue.prioritised", ticket=ticket.number, priority=level, position=ticket.position)
        return await self._answer(call, ticket)

    async def step_back(self, call: Call) -> Response:
        """Let others go first."""
        body = call.take(StepBack)
        places = body.places
        ticket = await self._walk_in.step_back(call.queue, call.number, places, body.position)
        await call.record("queue.stepped_back", ticket=ticket.number, places=places, position=ticket.position)
        return await self._answer(call, ticket)

    async def transfer(self, call: Call) -> Response:
        """Send someone on to another queue."""
        body = call.take(Transfer)
        ticket = await self._walk_in.transfer(call.queue, call.number, named_queue(body.queue), body.priority)
        await call.record(
            "queue.transferred", ticket=ticket.number, to=body.queue, there=ticket.went and ticket.went.number
        )
        return await self._answer(call, ticket)

    async def revoke(self, call: Call) -> Response:
        """Revoke a ticket and its session token."""
        body = call.take(Revoke)
        ticket = await self._service.revoke(call.queue, body.ticket, body.reason)
        return await self._changed(call, Action.REVOKE, ticket, reason=body.reason)

    async def join(self, call: Call) -> Response:
        """Add someone to the line. The answer has their token."""
        body = call.take(StaffJoin)
        request = body.plain(call.request.text(b"idempotency-key"))
        # The address, browser and cookies of the request are those of the staff, not of the person who joins.
        caller = Caller(staff=call.staff.id, priority=body.priority)
        answer = await self._service.join(call.queue, request, caller)
        ticket = answer.ticket_status
        about = {"ticket": ticket.number, "label": answer.label, "priority": ticket.priority}
        if answer.created:
            await call.record("queue.created", **about, position=ticket.position)
        else:
            call.log("queue.idempotency_reuse", **about, position=ticket.position)
        return private(201 if answer.created else 200, self._context.answers.ticket(answer, token=answer.token))

    async def one(self, call: Call) -> Response:
        """One ticket."""
        return await self._answer(call, await self._service.ticket(call.queue, call.number))

    async def listing(self, call: Call) -> Response:
        """A page of tickets."""
        args = call.request.args
        status = args.get("status") or None
        if status is not None and status not in set(Status):
            raise InvalidRequest("status", f"must be one of {', '.join(Status)}; got {status!r:.80}")
        page = await self._service.tickets(
            call.queue,
            Status(status) if status else None,
            args.get("cursor") or None,
            call.limit(PAGE, USUAL_PAGE),
            args.get("search") or None,
        )
        return private(200, TicketList(await self._shown(call.queue, page.tickets), page.cursor))

    async def _changed(self, call: Call, action: Action, ticket: Ticket, *, reason: str | None = None) -> Response:
        await call.record(
            "queue.status_changed",
            ticket=ticket.number,
            action=action.value,
            status=ticket.status.value,
            reason=reason or ticket.reason,
        )
        return await self._answer(call, ticket)

    async def _answer(self, call: Call, ticket: Ticket) -> Response:
        return private(200, (await self._shown(call.queue, [ticket]))[0])

    async def _shown(self, queue: QueueId, tickets: Sequence[Ticket]) -> list[AdminTicket]:
        """Tickets as operators see them."""
        snapshot, settings = await self._service.snapshot(queue)
        any_revoked = any(ticket.reason is Reason.REVOKED for ticket in tickets)
        why = await self._service.revoked(queue) if any_revoked else {}
        return [AdminTicket.of(queue, ticket, settings, snapshot.now, why.get(ticket.number)) for ticket in tickets]
