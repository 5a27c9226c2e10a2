"""What all pages of a queue share: the ticket of a visitor, and the page for a visitor who cannot join."""

from __future__ import annotations

import math
import random
import time
from urllib.parse import parse_qsl, quote, unquote_plus

from fairline.domain.next_start import has_ended, next_start
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.domain.ticket import LIVE
from fairline.domain.tokens import TicketClaims
from fairline.errors import (
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
    UserTokenMissing,
)
from fairline.service.answers import JoinAnswer, StatusAnswer
from fairline.service.join_calendar import refused_now
from fairline.service.walk_in import WalkIn
from fairline.web.api.people import People, named_queue
from fairline.web.api.wire import moment
from fairline.web.context import Context
from fairline.web.cookies import ticket_cookie, user_cookie
from fairline.web.pages.drawing import Drawing
from fairline.web.pages.languages import preferred
from fairline.web.pages.page_content import PageContent
from fairline.web.redirects import local
from fairline.web.server.http import Headers, Request, Response, wants_json
from fairline.web.server.problems import PROBLEMS, failure
from fairline.web.ticket_answers import same_ticket

#: The page for each error code. Any other error means that the server has trouble.
PAGE_OF = {
    "queue_not_found": "unknown",
    "queue_full": "full",
    "queue_maintenance": "maintenance",
    "queue_closed": "closed",
    "already_in_line": "elsewhere",
    "groups_off": "group_over",
    "group_gone": "group_over",
    "group_full": "group_over",
    "session_taken": "link_used",
    "token_moved": "moved",
    "rate_limited": "limited",
    "user_token_missing": "unnamed",
    "user_token_invalid": "unnamed",
    "user_token_expired": "unnamed",
}
LONGEST_RETURN = 2000
#: The field of a link's query in which a site says who the visitor is.
USER_TOKEN = "user_token"
TROUBLE_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 300.0
#: For so long after the time of a start, a page still says that it comes.
LATE_START_MS = 60_000


class PageAccess:
    """What the pages of all queues need of the service and of a request."""

    def __init__(self, context: Context, people: People, drawing: Drawing) -> None:
        self.context = context
        self.service = context.service
        self.people = people
        self.drawing = drawing

    # The ticket of a visitor

    async def own_ticket(self, request: Request, queue: QueueId, *, stays: bool = True) -> StatusAnswer | None:
        """The status of the ticket in the visitor's cookie; None if there is none, or its record was deleted. Raises
        TokenMoved if the ticket has moved to another device. It counts as a heartbeat, unless `stays` is false: without
        scripts there is no other one."""
        token = request.cookies.get(ticket_cookie(queue))
        if not token:
            return None
        try:
            claims: TicketClaims = self.service.keyring.tickets.check(token, time.time())
            if claims.queue != queue:
                raise TokenInvalid("it is for another queue")
            answer = await (self._seen(queue, claims) if stays else self.service.status(queue, claims.number))
            if answer.ticket_status.moved != claims.moved and answer.ticket_status.status not in LIVE:
                return None  # it moved to another device, and has ended there
            return same_ticket(claims, answer)
        except TokenMoved:
            raise
        except (TokenError, TicketExpired):
            return None

    async def _seen(self, queue: QueueId, claims: TicketClaims) -> StatusAnswer:
        try:
            return await self.service.heartbeat(queue, claims.number, claims.joined)
        except TicketExpired:
            return await self.service.status(queue, claims.number)

    def join_url(self, request: Request, queue: str) -> str:
        """The complete address of a queue's form."""
        return f"{self.context.base_url(request)}/join/{quote(queue, safe='')}"

    def cookies(self, request: Request, welcome: JoinAnswer, visitor: str) -> Headers:
        """The cookies with which a browser returns to its ticket."""
        return self.people.cookies(request, welcome, visitor)

    # The user of a site

    def named(self, request: Request, queue: QueueId) -> Response | None:
        """A redirect if a link of the site says who the visitor is: the token goes from the address, where it could
        be copied, into a cookie. An invalid token is dropped."""
        token = request.args.get(USER_TOKEN)
        if token is None:
            return None
        kept = [each for each in request.query.decode("ascii", "replace").split("&") if not _names_user(each)]
        lasts = self.service.identity.users.seconds(queue, token, time.time())
        where = request.path + ("?" + "&".join(kept) if kept else "")
        cookies = (self.context.cookie(request, user_cookie(queue), token, lasts),) if lasts else ()
        return see_other(quote(where, safe="/?&=%:@!$'()*+,;~-._"), cookies)

    def unnamed(self, request: Request, queue: QueueId, settings: QueueSettings) -> FairlineError | None:
        """Why the visitor cannot join, if the queue takes only users whom the site has named; None if they can."""
        if not settings.require_user_token:
            return None
        token = self.context.user_token(request, queue)
        if token is None:
            return UserTokenMissing(queue)
        try:
            self.service.identity.users.user(queue, token, time.time())
        except FairlineError as error:
            return error
        return None

    # Refusals

    def refusal_now(self, queue: QueueId, settings: QueueSettings, snapshot: QueueSnapshot) -> FairlineError | None:
        """Why a join would be refused now, as far as this is known before one is tried."""
        if settings.status is QueueStatus.MAINTENANCE:
            return QueueMaintenance(queue)
        if closed := refused_now(queue, settings, snapshot):
            return closed
        if snapshot.waiting >= settings.max_queue_size and not snapshot.sold_out(settings.stock):
            return QueueFull(queue, snapshot.waiting)
        return None

    async def refuse(
        self,
        request: Request,
        name: str,
        error: FairlineError,
        settings: QueueSettings | None = None,
        *,
        path: str = "",
    ) -> Response:
        """The page for an error, or problem+json for a program."""
        if wants_json(request):
            return failure(request, error)
        state = PAGE_OF.get(error.code, "trouble")
        status = PROBLEMS[error.code][0] if state != "trouble" else 503
        if state == "moved":  # the same status as on the page of the ticket
            status = PROBLEMS["ticket_expired"][0]
        if state == "trouble":
            failure(request, error)  # for the log
        now = None
        if state not in ("unknown", "trouble") and (settings is None or state in ("maintenance", "closed")):
            settings, now = await self._settings(name)
        retry = error.retry_after or (TROUBLE_RETRY_SECONDS if status in (429, 503) else None)
        if isinstance(error, QueueClosed):
            retry = min(retry or LONGEST_RETRY_SECONDS, LONGEST_RETRY_SECONDS)
        content = self.refused(request, name, error, settings, path=path, retry_after=retry and spread(retry), now=now)
        if content.state == "not_open" and content.start is not None:
            retry = content.start.check_after(LONGEST_RETRY_SECONDS)
            content.retry_seconds = soon_after(retry)
        headers: Headers = ((b"retry-after", str(math.ceil(retry)).encode()),) if retry else ()
        return await self.drawing.draw(content, status, settings, headers)

    def refused(
        self,
        request: Request,
        name: str,
        error: FairlineError,
        settings: QueueSettings | None,
        *,
        path: str,
        retry_after: float | None = None,
        now: int | None = None,
    ) -> PageContent:
        """The content of the page for an error; for a closed queue also when it opens, and if the line is too long."""
        state = PAGE_OF.get(error.code, "trouble")
        if state == "maintenance" and settings:
            state = _closed_state(settings, now or round(time.time() * 1000))
        closed = error if isinstance(error, QueueClosed) else None
        return PageContent(
            state,
            name[:80],
            preferred(request),
            settings,
            retry_after=retry_after,
            back_to=back_to(request),
            opens=moment(closed.opens_at) if closed and closed.opens_at else None,
            early=closed is not None and closed.early,
            path=path,
            now=now,
        )

    async def _settings(self, name: str) -> tuple[QueueSettings | None, int | None]:
        """The settings of a queue, and the store's time."""
        try:
            snapshot, settings = await self.service.snapshot(named_queue(name))
        except (QueueNotFound, StoreError):
            return None, None
        return settings, snapshot.now


class Pages:
    """The base of the classes that draw pages."""

    def __init__(self, access: PageAccess) -> None:
        self._access = access
        self._context = access.context
        self._service = access.service
        self._walk_in = WalkIn(access.service)

    def _is_foreign(self, request: Request) -> bool:
        """Whether a page of another site sent the form: it must not take or give up a place for the visitor."""
        return not self._context.origins.is_own(request)


def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form; the last value of a name wins."""
    return dict(parse_qsl(bytes(request.body).decode("utf-8", "replace"), keep_blank_values=True))


def see_other(where: str, cookies: Headers = ()) -> Response:
    """Redirect to a GET, so that a reload does nothing twice."""
    return Response(303, headers=((b"location", where.encode()), (b"cache-control", b"no-store"), *cookies))


def back_to(request: Request) -> str:
    """The page of the site that the visitor asked for before the line; always a path of that site."""
    asked = request.args.get("return", "")[:LONGEST_RETURN]
    return local(asked) if asked else ""


def spread(seconds: float) -> float:
    """About this many seconds, at random, so that people refused together do not return together."""
    return round(seconds * random.uniform(1.0, 1.4) + random.uniform(0, 1), 1)


def _names_user(field: str) -> bool:
    return unquote_plus(field.partition("=")[0]) == USER_TOKEN


def soon_after(seconds: float) -> float:
    """A little more than this many seconds, at random: a page that waits for a start must not be late for it."""
    return round(seconds + random.uniform(0.3, 2.0), 1)


def _closed_state(settings: QueueSettings, now: int) -> str:
    """The page of a queue that is in maintenance. A start that is overdue is promised for a short while only."""
    start = next_start(settings)
    if start is not None and now < start.joins_at + LATE_START_MS:
        return "not_open"
    return "ended" if has_ended(settings) else "maintenance"
