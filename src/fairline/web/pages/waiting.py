"""The waiting page: what it shows to a visitor of a queue's address, and what its forms do.

A GET never joins: link previews, crawlers and prefetching browsers fetch links too, and none of them should take a
place. The page's script joins as soon as it runs; without scripts there is a button. In a walk-in line, and where a
queue requires a name or other details, a visitor without a ticket is redirected to the form (see joining.py).
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import UnsetType

from fairline.domain.join_request import JoinRequest
from fairline.domain.next_start import next_start
from fairline.domain.opening import Phase
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.domain.ticket import LIVE, Reason, Status
from fairline.errors import (
    AlreadyInLine,
    FairlineError,
    GroupGone,
    GroupsOff,
    InGroup,
    QueueClosed,
    SessionTaken,
    TokenMoved,
    TransitionRefused,
)
from fairline.service.answers import StatusAnswer
from fairline.service.join_calendar import refused_now
from fairline.service.walk_in import group_path
from fairline.web.api.people import named_queue, visitor_of
from fairline.web.api.wire import TicketAnswer, moment
from fairline.web.pages.addresses import form_url, page_url
from fairline.web.pages.form import group_code
from fairline.web.pages.group_content import GroupContent, TogetherContent
from fairline.web.pages.languages import preferred
from fairline.web.pages.move_content import MovingContent
from fairline.web.pages.page_access import LONGEST_RETRY_SECONDS, Pages, back_to, fields_of, see_other
from fairline.web.pages.page_content import PageContent
from fairline.web.redirects import redirect_url
from fairline.web.server import request_log
from fairline.web.server.http import Headers, Request, Response
from fairline.web.server.problems import PROBLEMS

#: With a shorter grace, leaving cannot be taken back: nobody would be quick enough.
SHORTEST_UNDO_SECONDS = 5.0
_STATE_OF = {Status.ADMITTED: "admitted", Status.ACTIVE: "inside", Status.COMPLETED: "finished"}
#: How soon a page checks again whose state may change at any moment: after a no-show or a removal, or while a number
#: moves.
SOON_SECONDS = 0.5


class WaitingPages(Pages):
    """The page at /q/{queue}."""

    async def show(self, request: Request) -> Response:
        """The page in the state that fits the visitor."""
        name = request.params["queue"]
        settings: QueueSettings | None = None
        try:
            if named := self._access.named(request, queue := named_queue(name)):
                return named
            if "left" in request.args and (left := await self._draw_leaving(request, queue)):
                return left
            try:
                answer = await self._access.own_ticket(request, queue)
            except TokenMoved:
                return await self._draw_moved(request, queue)
            if answer is not None:
                return self._follow(request, answer) or await self._draw_ticket(request, answer)
            snapshot, settings = await self._service.snapshot(queue)
            group = request.args.get("group", "")
            if "taken" in request.args:
                raise SessionTaken
            if "elsewhere" in request.args:
                raise AlreadyInLine(queue)
            if settings.needs_form:
                return see_other(form_url(queue, request.args.get("lang", "") and preferred(request), group))
            if refusal := self._access.refusal_now(queue, settings, snapshot):
                raise refusal
            if unnamed := self._access.unnamed(request, queue, settings):
                raise unnamed
            if snapshot.sold_out(settings.stock) and not settings.held_back:
                return await self._draw(request, "sold_out", queue, settings, again=settings.heartbeat_interval_seconds)
            if group:
                content = GroupContent(queue, preferred(request), settings, group=group, back_to=back_to(request))
                return await self._access.drawing.draw(content, 200, settings)
            return await self._draw(request, "joining", queue, settings, now=snapshot.now)
        except FairlineError as error:
            return await self._access.refuse(request, name, error, settings)

    async def act(self, request: Request) -> Response:
        """A form of the page was sent: join, step back or leave."""
        name = request.params["queue"]
        if self._is_foreign(request):
            return self._back(request, name)
        form = fields_of(request)
        try:
            queue = named_queue(name)
            try:
                answer = await self._access.own_ticket(request, queue)
            except TokenMoved:
                answer = None
            if form.get("do") == "leave":
                return await self._leave(request, queue, answer)
            if form.get("do") == "step_back":
                return await self._step_back(request, queue, answer, form.get("position", ""))
            return await self._join(request, queue, answer, group_code(form.get("group", "")) or None)
        except FairlineError as error:
            return await self._access.refuse(request, name, error)

    async def _join(self, request: Request, queue: QueueId, answer: StatusAnswer | None, group: str | None) -> Response:
        if answer is not None and answer.ticket_status.status in LIVE:
            return self._back(request, queue)
        _, settings = await self._service.snapshot(queue)
        if settings.needs_form:
            return see_other(form_url(queue, preferred(request), group or ""))
        visitor = visitor_of(request)
        caller = self._context.caller(request, queue, visitor=visitor)
        welcome = await self._service.join(queue, JoinRequest(group=group), caller)
        request_log.joined(request, welcome)
        return self._back(request, queue, self._access.cookies(request, welcome, visitor))

    async def _leave(self, request: Request, queue: QueueId, answer: StatusAnswer | None) -> Response:
        if answer is None or answer.ticket_status.status not in LIVE:
            return self._back(request, queue)
        if answer.ticket_status.status is Status.WAITING and answer.settings.grace_seconds >= SHORTEST_UNDO_SECONDS:
            await self._service.unload(queue, answer.ticket_status.number)
            return self._back(request, queue, mark="left")
        request_log.left(
            request, await self._service.leave(queue, answer.ticket_status.number, answer.ticket_status.joined)
        )
        return self._back(request, queue)

    async def _step_back(self, request: Request, queue: QueueId, answer: StatusAnswer | None, seen: str) -> Response:
        if answer is not None and answer.ticket_status.position:
            # With the position that the page showed, a second tap does nothing.
            known = seen.isascii() and seen.isdigit() and len(seen) < 10 and int(seen) > 0
            with suppress(TransitionRefused, InGroup):  # they have been called meanwhile, and the page shows it
                await self._walk_in.step_back(queue, answer.ticket_status.number, 1, int(seen) if known else None)
        return self._back(request, queue)

    def _back(self, request: Request, queue: str, cookies: Headers = (), mark: str = "") -> Response:
        """A redirect to the page itself; `mark` says what the browser has just done."""
        where = page_url(queue, preferred(request) if "lang" in request.args else "", back_to(request), mark)
        return see_other(where, cookies)

    # Drawing

    def _follow(self, request: Request, answer: StatusAnswer) -> Response | None:
        """A redirect to the page of the queue that the ticket was transferred to; None if it was not."""
        there = self._context.answers.ticket(answer).transferred_to
        if isinstance(there, UnsetType):
            return None
        queue = QueueId(there.queue)
        kept = self._context.ticket_cookies(request, queue, answer.settings, there.token)
        return self._back(request, queue, kept)

    async def _draw_ticket(self, request: Request, answer: StatusAnswer) -> Response:
        ticket_status, settings = answer.ticket_status, answer.settings
        ticket = self._context.answers.ticket(answer)
        movable = LIVE if settings.is_walk_in else (Status.WAITING,)  # who is let in goes to the site with this browser
        if "move" in request.args and ticket_status.status in movable:
            return await self._draw_moving(request, answer, ticket)
        if "together" in request.args and ticket_status.status is Status.WAITING:
            with suppress(GroupsOff, GroupGone):  # then the page of the place says what there is
                return await self._draw_together(request, answer, ticket)
        status, again = 200, None
        sold_out = answer.snapshot.sold_out(settings.stock) and not settings.held_back  # a start may add to the stock
        if ticket_status.status is Status.WAITING and sold_out:
            # Checking again also counts as the heartbeat of a person in line whose page has nothing more to show.
            state, again = "sold_out", settings.heartbeat_interval_seconds
        elif ticket_status.on_hold:
            state = "on_hold"
        elif ticket_status.status is Status.WAITING:
            state = _waiting_state(settings)
        elif ticket_status.status is Status.EXPIRED:
            state, status = "expired", PROBLEMS["ticket_expired"][0]
            # Staff can undo a no-show or a removal, and the page should show it as soon as they do.
            if settings.is_walk_in and ticket_status.reason in (Reason.NO_SHOW, Reason.CANCELLED):
                again = SOON_SECONDS
            elif ticket_status.reason is Reason.CANCELLED:
                again = settings.heartbeat_interval_seconds
        else:
            state = _STATE_OF[ticket_status.status]
        go_url = self._go_url(answer, back_to(request))
        over = state in ("expired", "finished") and settings.is_walk_in
        if closed := refused_now(answer.queue, settings, answer.snapshot) if over else None:
            again = again or LONGEST_RETRY_SECONDS
        return await self._draw(
            request,
            state,
            answer.queue,
            settings,
            ticket,
            go_url=go_url,
            status=status,
            again=again,
            closed=closed,
            now=answer.snapshot.now,
        )

    async def _draw(
        self,
        request: Request,
        state: str,
        queue: QueueId,
        settings: QueueSettings,
        ticket: TicketAnswer | None = None,
        *,
        go_url: str = "",
        status: int = 200,
        again: float | None = None,
        closed: QueueClosed | None = None,
        now: int | None = None,
    ) -> Response:
        content = PageContent(
            state,
            queue,
            preferred(request),
            settings,
            ticket,
            go_url=go_url,
            back_to=back_to(request),
            retry_after=again,
            opens=moment(closed.opens_at) if closed and closed.opens_at else None,
            closed=closed is not None,
            start=next_start(settings) if settings.held_back else None,
            now=now,
        )
        return await self._access.drawing.draw(content, status, settings)

    async def _draw_leaving(self, request: Request, queue: QueueId) -> Response | None:
        """The page of someone who has just left and can take the place back; None once that is over. Looking at it is
        no heartbeat: only taking the place back is one."""
        with suppress(TokenMoved):
            answer = await self._access.own_ticket(request, queue, stays=False)
            if answer is not None and answer.ticket_status.leaving and answer.ticket_status.deadline:
                left = (answer.ticket_status.deadline - answer.snapshot.now) / 1000
                ticket = self._context.answers.ticket(answer)
                return await self._draw(request, "leaving", queue, answer.settings, ticket, again=max(1.0, left))
        return None

    async def _draw_moving(self, request: Request, answer: StatusAnswer, ticket: TicketAnswer) -> Response:
        """The page with the code that moves the number to another device."""
        code = self._walk_in.move_code(answer.queue, answer.ticket_status)
        link = f"{self._access.join_url(request, answer.queue)}/move#{code}"
        content = MovingContent(
            answer.queue,
            preferred(request),
            answer.settings,
            ticket,
            link=link,
            typed=self._walk_in.typed_code(answer.queue, answer.ticket_status),
            back_to=back_to(request),
            retry_after=SOON_SECONDS,
        )
        return await self._access.drawing.draw(content, 200, answer.settings)

    async def _draw_together(self, request: Request, answer: StatusAnswer, ticket: TicketAnswer) -> Response:
        """The page with the link with which others join the group."""
        code, size, most = await self._walk_in.group_code(answer.queue, answer.ticket_status)
        content = TogetherContent(
            answer.queue,
            preferred(request),
            answer.settings,
            ticket,
            link=self._context.base_url(request) + group_path(answer.queue, code),
            size=size,
            most=most,
            back_to=back_to(request),
            retry_after=answer.settings.heartbeat_interval_seconds,
        )
        here = ((b"x-fairline-here", content.size.encode()),)
        return await self._access.drawing.draw(content, 200, answer.settings, here)

    async def _draw_moved(self, request: Request, queue: QueueId) -> Response:
        """The page that says that the number is on another device now."""
        _, settings = await self._service.snapshot(queue)
        return await self._draw(request, "moved", queue, settings, status=PROBLEMS["ticket_expired"][0])

    def _go_url(self, answer: StatusAnswer, back_to: str) -> str:
        """The address to go to: the page of the site that was asked for, or `target_url`."""
        if answer.ticket_status.status not in (Status.ADMITTED, Status.ACTIVE):
            return ""
        return redirect_url(answer.settings.target_url, self._context.sessions.token(answer), back_to)


def _waiting_state(settings: QueueSettings) -> str:
    """The state of the page of someone who waits."""
    if settings.status is not QueueStatus.ACTIVE:
        return "paused"
    if settings.held_back:
        return "prequeue" if settings.phase is Phase.PREQUEUE else "drawing"
    return "paused" if settings.stock_unknown else "waiting"
