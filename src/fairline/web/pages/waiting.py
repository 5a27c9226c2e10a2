"""The waiting page: what someone who comes to a queue's address is shown, and what its forms do.

Looking never joins: links are fetched by previews, crawlers and browsers that think ahead, and none of them should take
a place. The page's script joins as soon as it runs; without scripts there is a button.
"""

from __future__ import annotations

import math
import random
import time
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from msgspec import UnsetType

from fairline.arrival import JoinRequest
from fairline.errors import (
    AlreadyInLine,
    FairlineError,
    QueueClosed,
    QueueFull,
    QueueMaintenance,
    QueueNotFound,
    StoreError,
    TicketExpired,
    TokenError,
    TokenInvalid,
    TokenMoved,
)
from fairline.look import opening_time
from fairline.queue import QueueId, QueueSettings, QueueStatus
from fairline.room import Answer
from fairline.terms import refused_now
from fairline.ticket import LIVE, Status
from fairline.token import TicketClaims
from fairline.web.assets import Assets
from fairline.web.context import Context, local, redirect_url, same_ticket, ticket_cookie
from fairline.web.http import Headers, Request, Response, cookie, wants_json
from fairline.web.pages.drawing import Drawing
from fairline.web.pages.languages import preferred
from fairline.web.pages.sight import Sight, page_url
from fairline.web.people import People, named_queue, visitor_of
from fairline.web.problems import PROBLEMS, failure
from fairline.web.wire import TicketAnswer, moment

#: Which page tells of which error; all others are our own trouble.
_PAGE_OF = {
    "queue_not_found": "unknown",
    "queue_full": "full",
    "queue_maintenance": "maintenance",
    "queue_closed": "closed",
    "already_in_line": "elsewhere",
    "rate_limited": "limited",
}
_STATE_OF = {Status.ADMITTED: "admitted", Status.ACTIVE: "inside", Status.COMPLETED: "finished"}
LONGEST_RETURN = 2000
TROUBLE_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 300.0


class WaitingPages:
    """The page at /q/{queue}."""

    def __init__(self, context: Context, people: People, assets: Assets) -> None:
        self._context = context
        self._room = context.room
        self._people = people
        self._drawing = Drawing(assets)

    async def show(self, request: Request) -> Response:
        """The page as it is for whoever comes."""
        name = request.params["queue"]
        settings: QueueSettings | None = None
        try:
            queue = named_queue(name)
            answer = await self._held(request, queue)
            if answer is not None:
                return self._follow(request, answer) or self._draw_ticket(request, answer)
            view, settings = await self._room.view(queue)
            if settings.status is QueueStatus.MAINTENANCE:
                raise QueueMaintenance(queue)
            if closed := refused_now(queue, settings, view):
                raise closed
            sold_out = view.sold_out(settings.stock)
            if view.waiting >= settings.max_queue_size and not sold_out:
                raise QueueFull(queue, view.waiting)
            return self._draw(request, "sold_out" if sold_out else "joining", queue, settings)
        except FairlineError as error:
            return await self._draw_refusal(request, name, error, settings)

    async def act(self, request: Request) -> Response:
        """A press of a button of the page: join, or leave."""
        name = request.params["queue"]
        # A form on someone else's page must not take a place in a reader's name, nor give theirs up.
        if request.text(b"sec-fetch-site") not in (None, "same-origin", "none"):
            return self._back(request, name)
        form = dict(parse_qsl(bytes(request.body).decode("utf-8", "replace")))
        try:
            queue = named_queue(name)
            if form.get("do") == "leave":
                return await self._leave(request, queue)
            return await self._join(request, queue)
        except FairlineError as error:
            return await self._draw_refusal(request, name, error, None)

    async def _join(self, request: Request, queue: QueueId) -> Response:
        answer = await self._held(request, queue)
        if answer is not None and answer.standing.status in LIVE:
            return self._back(request, queue)
        visitor = visitor_of(request)
        caller = self._context.caller(request, queue, visitor=visitor)
        welcome = await self._room.join(queue, JoinRequest(), caller)
        token = self._people.token(welcome)
        return self._back(request, queue, self._people.cookies(request, welcome, token, visitor))

    async def _leave(self, request: Request, queue: QueueId) -> Response:
        answer = await self._held(request, queue)
        if answer is not None and answer.standing.status in LIVE:
            await self._room.leave(queue, answer.standing.number)
        return self._back(request, queue)

    def _back(self, request: Request, queue: str, cookies: Headers = ()) -> Response:
        """To the page itself, by GET: so that a reload does nothing twice."""
        where = page_url(queue, preferred(request) if "lang" in request.args else "", _back_to(request))
        return Response(303, headers=((b"location", where.encode()), (b"cache-control", b"no-store"), *cookies))

    # What is shown

    async def _held(self, request: Request, queue: QueueId) -> Answer | None:
        """Where the ticket stands that the cookie proves; None where there is none, or its record is gone. To look is a
        sign of life: without scripts there is no other."""
        token = request.cookies.get(ticket_cookie(queue))
        if not token:
            return None
        try:
            claims: TicketClaims = self._room.keyring.tickets.check(token, time.time())
            if claims.queue != queue:
                raise TokenInvalid("it is for another queue")
            answer = await self._seen(queue, claims.number)
            if answer.standing.moved != claims.moved and answer.standing.status not in LIVE:
                return None  # it went on on another device, and is over there
            return same_ticket(claims, answer)
        except TokenMoved:
            raise AlreadyInLine(queue) from None
        except (TokenError, TicketExpired):
            return None

    async def _seen(self, queue: QueueId, number: int) -> Answer:
        try:
            return await self._room.beat(queue, number)
        except TicketExpired:
            return await self._room.status(queue, number)

    def _follow(self, request: Request, answer: Answer) -> Response | None:
        """To the page of the queue that someone was sent on to."""
        there = self._context.told(answer).transferred_to
        if isinstance(there, UnsetType):
            return None
        queue = QueueId(there.queue)
        lasts, secure = self._context.settings.token_seconds, self._context.secure(request)
        return self._back(request, queue, (cookie(ticket_cookie(queue), there.token, lasts, secure=secure),))

    def _draw_ticket(self, request: Request, answer: Answer) -> Response:
        standing, settings = answer.standing, answer.settings
        status = 200
        if standing.status is Status.WAITING and answer.view.sold_out(settings.stock):
            state = "sold_out"
        elif standing.held:
            state = "held"
        elif standing.status is Status.WAITING:
            moves = settings.status is QueueStatus.ACTIVE and not settings.stock_unknown
            state = "waiting" if moves else "paused"
        elif standing.status is Status.EXPIRED:
            state, status = "expired", PROBLEMS["ticket_expired"][0]
        else:
            state = _STATE_OF[standing.status]
        told, go_url = self._context.told(answer), self._go_url(answer, _back_to(request))
        return self._draw(request, state, answer.queue, settings, told, go_url=go_url, status=status)

    def _draw(
        self,
        request: Request,
        state: str,
        queue: QueueId,
        settings: QueueSettings,
        told: TicketAnswer | None = None,
        *,
        go_url: str = "",
        status: int = 200,
    ) -> Response:
        # To look again is also the sign of life of someone in line whose page has nothing more to show.
        again = settings.heartbeat_interval_seconds if state in ("sold_out", "held") else None
        back_to, language = _back_to(request), preferred(request)
        sight = Sight(state, queue, language, settings, told, go_url=go_url, back_to=back_to, retry_after=again)
        return self._drawing.draw(sight, status, settings)

    def _go_url(self, answer: Answer, back_to: str) -> str:
        """The way in: to the address of the site that was asked for, or to its front door."""
        if answer.standing.status not in (Status.ADMITTED, Status.ACTIVE):
            return ""
        return redirect_url(answer.settings.target_url, self._context.session_token(answer), back_to)

    async def _draw_refusal(
        self, request: Request, name: str, error: FairlineError, settings: QueueSettings | None
    ) -> Response:
        """The page of an error; programs are told as everywhere."""
        if wants_json(request):
            return failure(request, error)
        state = _PAGE_OF.get(error.code, "trouble")
        status = PROBLEMS[error.code][0] if state != "trouble" else 503
        if state == "trouble":
            failure(request, error)  # for the log
        if settings is None and state not in ("unknown", "trouble"):
            settings = await self._settings(name)
        retry = error.retry_after or (TROUBLE_RETRY_SECONDS if status in (429, 503) else None)
        if state == "maintenance" and settings and (opens_in := _opens_in(settings)) > 0:
            state, retry = "not_open", min(opens_in, LONGEST_RETRY_SECONDS)
        opens = None
        if isinstance(error, QueueClosed):
            opens, retry = error.opens_at, min(retry or LONGEST_RETRY_SECONDS, LONGEST_RETRY_SECONDS)
        sight = Sight(
            state,
            name[:80],
            preferred(request),
            settings,
            retry_after=retry and spread(retry),
            back_to=_back_to(request),
            opens=moment(opens) if opens else None,
        )
        headers: Headers = ((b"retry-after", str(math.ceil(retry)).encode()),) if retry else ()
        return self._drawing.draw(sight, status, settings, headers)

    async def _settings(self, name: str) -> QueueSettings | None:
        try:
            return (await self._room.view(named_queue(name)))[1]
        except (QueueNotFound, StoreError):
            return None


def _back_to(request: Request) -> str:
    """The address of the site that someone asked for before they were sent here; only ever a path of that site."""
    asked = request.args.get("return", "")[:LONGEST_RETURN]
    return local(asked) if asked else ""


def spread(seconds: float) -> float:
    """About so long: those who were turned away together do not come back together."""
    return round(seconds * random.uniform(1.0, 1.4) + random.uniform(0, 1), 1)


def _opens_in(settings: QueueSettings) -> float:
    """Seconds until a queue means to open; not above 0 where it has not said so, or the time has passed."""
    if not settings.opens_at:
        return 0.0
    return (opening_time(settings.opens_at) - datetime.now(UTC)).total_seconds()
