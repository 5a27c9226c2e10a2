"""Taking a number in a walk-in line: the form on a phone, the QR code on the wall that leads to it, and moving a number
to another phone."""

from __future__ import annotations

import math
from urllib.parse import quote

import msgspec

from fairline.domain.branding import LANGUAGES
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import LIVE, TicketStatus
from fairline.domain.tokens import MoveClaims
from fairline.domain.typed_code import read_typed
from fairline.errors import (
    AlreadyInLine,
    FairlineError,
    InvalidRequest,
    QueueNotFound,
    RateLimited,
    TicketExpired,
    TicketNotFound,
    TokenError,
    TokenMoved,
    TransitionRefused,
)
from fairline.service.answers import JoinAnswer
from fairline.web.api.people import named_queue, visitor_of
from fairline.web.cookies import VISITOR_COOKIE, VISITOR_SECONDS
from fairline.web.pages.addresses import page_url
from fairline.web.pages.form import Filled, mistakes, refusal_in_words
from fairline.web.pages.form_content import FormContent
from fairline.web.pages.languages import Language, preferred
from fairline.web.pages.move_content import MoveContent
from fairline.web.pages.page_access import Pages, fields_of, see_other
from fairline.web.pages.qr_codes import asked_colour, asked_size, embedded, picture
from fairline.web.server import request_log
from fairline.web.server.http import Headers, Request, Response, wants_json
from fairline.web.server.problems import PROBLEMS, failure

SVG = b"image/svg+xml"
#: The most languages on a poster: more could not be read from a distance.
MOST_LANGUAGES = 4
#: How a QR code is cached. One with `public_url` is the same for everyone. One with the host that a client asked for is
#: only for that client: another one must not be led to the host that the first one named.
_SAME_FOR_ALL: Headers = ((b"cache-control", b"public, max-age=300"),)
_BY_HOST: Headers = (
    (b"cache-control", b"private, max-age=300"),
    (b"vary", b"Host, X-Forwarded-Host, X-Forwarded-Proto"),
)


class JoinPages(Pages):
    """The pages at /join/{queue}, except the kiosk."""

    # The form

    async def show(self, request: Request) -> Response:
        """The form. A visitor who has a number already is redirected to it."""
        name = request.params["queue"]
        settings: QueueSettings | None = None
        try:
            queue = named_queue(name)
            if named := self._access.named(request, queue):
                return named
            if await self._has_number(request, queue):
                return self._to_ticket(request, queue)
            snapshot, settings = await self._service.snapshot(queue)
            if unnamed := self._access.unnamed(request, queue, settings):
                raise unnamed
            if refusal := self._access.refusal_now(queue, settings, snapshot):
                raise refusal
            # The cookie is set before the form is sent, so that the visitor is recognised if the answer to it is lost.
            visitor = visitor_of(request)
            return await self._draw(
                request,
                queue,
                settings,
                snapshot,
                Filled.empty(request.args.get("group", "")),
                headers=self._visitor_cookie(request, visitor),
            )
        except FairlineError as error:
            return await self._access.refuse(request, name, error, settings, path=_path(name))

    async def join(self, request: Request) -> Response:
        """The form was sent. It makes one ticket, even if it is sent twice."""
        name = request.params["queue"]
        if self._is_foreign(request):
            return see_other(_path(name))
        try:
            queue = named_queue(name)
            if await self._has_number(request, queue):
                return self._to_ticket(request, queue)
            snapshot, settings = await self._service.snapshot(queue)
            return await self._take(request, queue, settings, snapshot, Filled.of(fields_of(request)))
        except FairlineError as error:
            return await self._access.refuse(request, name, error, path=_path(name))

    async def _take(
        self, request: Request, queue: QueueId, settings: QueueSettings, snapshot: QueueSnapshot, filled: Filled
    ) -> Response:
        words = Language(preferred(request), settings.texts, walk_in=settings.is_walk_in)
        if wrong := mistakes(filled, settings, words):
            return await self._draw(
                request, queue, settings, snapshot, filled, wrong, status=PROBLEMS["invalid_request"][0]
            )
        visitor = visitor_of(request)
        caller = self._context.caller(request, queue, visitor=visitor, form=True)
        try:
            welcome = await self._service.join(queue, filled.request(settings), caller)
        except (RateLimited, AlreadyInLine, InvalidRequest) as error:
            if wants_json(request):
                return failure(request, error)
            if isinstance(error, RateLimited):
                failure(request, error)  # for the log
            wrong = refusal_in_words(error, settings, words)
            again = error.retry_after
            headers: Headers = ((b"retry-after", str(max(1, math.ceil(again))).encode()),) if again else ()
            return await self._draw(request, queue, settings, snapshot, filled, wrong, PROBLEMS[error.code][0], headers)
        request_log.joined(request, welcome, keyed=True)
        return self._to_ticket(request, queue, self._access.cookies(request, welcome, visitor))

    async def _has_number(self, request: Request, queue: QueueId) -> bool:
        try:
            answer = await self._access.own_ticket(request, queue)
        except TokenMoved:
            return False
        return answer is not None and answer.ticket_status.status in LIVE

    def _to_ticket(self, request: Request, queue: str, cookies: Headers = ()) -> Response:
        return see_other(page_url(queue, preferred(request) if "lang" in request.args else ""), cookies)

    def _visitor_cookie(self, request: Request, visitor: str) -> Headers:
        if request.cookies.get(VISITOR_COOKIE) == visitor:
            return ()
        return (self._context.cookie(request, VISITOR_COOKIE, visitor, VISITOR_SECONDS),)

    async def _draw(
        self,
        request: Request,
        queue: QueueId,
        settings: QueueSettings,
        snapshot: QueueSnapshot,
        filled: Filled,
        wrong: dict[str, str] | None = None,
        status: int = 200,
        headers: Headers = (),
    ) -> Response:
        content = FormContent(
            queue, preferred(request), settings, filled.shown(), wrong or {}, snapshot, path=_path(queue)
        )
        return await self._access.drawing.draw(content, status, settings, headers)

    # The QR code and the poster

    async def code(self, request: Request) -> Response:
        """The address of the form as a QR code."""
        queue = named_queue(request.params["queue"])
        size, colour = asked_size(request.args.get("size", "")), asked_colour(request.args.get("colour", ""))
        await self._service.snapshot(queue)  # refuses an unknown queue: a code on a wall must lead somewhere
        body = picture(self._access.join_url(request, queue), size, colour)
        return Response(200, body, SVG, _SAME_FOR_ALL if self._context.settings.public_url else _BY_HOST)

    async def poster(self, request: Request) -> Response:
        """The poster: the name, the QR code, the address as text, and what to do."""
        name = request.params["queue"]
        try:
            queue = named_queue(name)
            _, settings = await self._service.snapshot(queue)
        except FairlineError as error:
            return await self._access.refuse(request, name, error, path=_path(name))
        address = self._access.join_url(request, queue)
        asked = dict.fromkeys(code.strip() for code in request.args.get("lang", "").split(","))
        codes = [code for code in asked if code in LANGUAGES][:MOST_LANGUAGES] or [preferred(request)]
        values = {
            "queue": queue,
            "name": settings.name or queue,
            "logo": settings.logo,
            "code": embedded(address),
            "address": address.rpartition("://")[2],
            "languages": [Language(code, settings.texts, walk_in=True) for code in codes],
        }
        on_paper = msgspec.structs.replace(settings, background_colour="#ffffff")
        return self._access.drawing.draw_whole("poster.html", "poster", values, on_paper)

    # To another phone

    async def show_move(self, request: Request) -> Response:
        """The page that the code of a move leads to. The number moves at a press, since link previews open links too.
        The code stays in the browser: its script checks whether the number is here already. Where there is no code in
        the address, or no script that could read it, the code can be typed."""
        name = request.params["queue"]
        try:
            queue = named_queue(name)
            _, settings = await self._service.snapshot(queue)
            here = await self._number_here(request, queue)
        except FairlineError as error:
            return await self._access.refuse(request, name, error, path=f"{_path(name)}/move")
        return await self._draw_move(request, queue, settings, "move", here=here)

    async def move(self, request: Request) -> Response:
        """Move the number to this browser."""
        name = request.params["queue"]
        if self._is_foreign(request):
            return see_other(f"{_path(name)}/move")
        try:
            queue = named_queue(name)
            _, settings = await self._service.snapshot(queue)
            code, visitor = fields_of(request).get("code", ""), visitor_of(request)
            if has := await self._moved_before(request, queue, code):
                return self._to_ticket(request, has)
            try:
                if "." not in code:  # not that of a link
                    code = await self._walk_in.code_of_typed(queue, code, self._context.proxies.address(request))
                welcome: JoinAnswer = await self._walk_in.moved(code, visitor)
            except AlreadyInLine:
                return await self._draw_move(request, queue, settings, "move_taken", status=409)
            except (TokenError, TicketExpired, TicketNotFound, TransitionRefused, QueueNotFound):
                return await self._draw_move(request, queue, settings, "move_over", status=410)
        except FairlineError as error:
            return await self._access.refuse(request, name, error, path=f"{_path(name)}/move")
        return self._to_ticket(request, welcome.queue, self._access.cookies(request, welcome, visitor))

    async def _moved_before(self, request: Request, queue: QueueId, code: str) -> QueueId | None:
        """The queue in which this browser already has the number of the code, even of an expired one, so that nothing
        has to move. Without a code, the queue if the browser has a number there."""
        if not code:
            return queue if await self._number_here(request, queue) else None
        if typed := read_typed(code):
            here = await self._number_here(request, queue)
            return queue if here.partition(".")[0] == str(typed[0]) else None
        try:
            claims = self._service.keyring.moves.check(code, 0)  # accepts an expired code too
        except TokenError:
            return None
        there = QueueId(claims.queue)
        return there if await self._number_here(request, there) == _number(claims) else None

    async def _number_here(self, request: Request, queue: QueueId) -> str:
        """The number that this browser has, even if its ticket has ended; empty if it has none."""
        try:
            answer = await self._access.own_ticket(request, queue)
        except TokenMoved:
            return ""
        return _number(answer.ticket_status) if answer is not None else ""

    async def _draw_move(
        self, request: Request, queue: QueueId, settings: QueueSettings, state: str, status: int = 200, here: str = ""
    ) -> Response:
        content = MoveContent(state, queue, preferred(request), settings, path=f"{_path(queue)}/move", here=here)
        return await self._access.drawing.draw(content, status, settings)


def _number(of: TicketStatus | MoveClaims) -> str:
    """A ticket as the page names it in `data-here`; the script reads the same from a code."""
    return f"{of.number}.{of.joined}"


def _path(queue: str) -> str:
    return f"/join/{quote(queue, safe='')}"
