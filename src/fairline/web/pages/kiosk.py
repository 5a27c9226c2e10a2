"""The kiosk: a page for a tablet at the door, where people take a number without a phone.

Staff activate it with a link that they create, since the limits by address do not apply to it: everyone who uses it has
the same address. It works as long as the admin key that created the link is valid.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import msgspec
import structlog

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import Ask, QueueSettings
from fairline.domain.tokens import KioskClaims
from fairline.errors import (
    AlreadyInLine,
    FairlineError,
    Forbidden,
    InvalidRequest,
    KeyInvalid,
    TokenError,
    TokenMissing,
)
from fairline.service.admin_keys import AdminKeys
from fairline.service.answers import JoinAnswer
from fairline.store import Role
from fairline.web.api.people import named_queue
from fairline.web.pages.form import Filled, mistakes, new_key
from fairline.web.pages.form_content import Series, crowd
from fairline.web.pages.languages import preferred
from fairline.web.pages.page_access import PAGE_OF, PageAccess, Pages, fields_of, see_other
from fairline.web.pages.page_content import PageContent
from fairline.web.pages.qr_codes import embedded
from fairline.web.server.http import Headers, Request, Response, wants_json
from fairline.web.server.problems import PROBLEMS, failure

log = structlog.get_logger()

#: How long the code on a printed ticket is valid: as long as a person may wait with it.
PAPER_SECONDS = 12 * 3600
#: Parties of up to BUTTONS people have a button each: the first SMALL at once, if there are more than ALL_AT_ONCE, and
#: the others behind "More". Larger parties ask at the desk.
BUTTONS, SMALL, ALL_AT_ONCE = 20, 6, 8


class KioskPages(Pages):
    """The page at /join/{queue}/kiosk."""

    def __init__(self, access: PageAccess) -> None:
        super().__init__(access)
        self._keys = AdminKeys(access.service)

    async def show(self, request: Request) -> Response:
        """The start: one button, or one for each series. The token of a link goes into a cookie first, so that it does
        not stay on the screen."""
        name = request.params["queue"]
        try:
            queue = named_queue(name)
            if "token" in request.args:
                return self._opened(request, queue, request.args["token"])
            claims = await self._allowed(request, queue)
        except (TokenError, KeyInvalid, Forbidden) as error:
            return await self._locked(request, name, error)
        except FairlineError as error:
            return await self._access.refuse(request, name, error, path=_path(name))
        return await self._start(request, queue, claims)

    async def take(self, request: Request) -> Response:
        """A press of a button takes a number. The same press again, after a lost answer, gets the same number."""
        name = request.params["queue"]
        if self._is_foreign(request):
            return see_other(_path(name))
        try:
            queue = named_queue(name)
            claims = await self._allowed(request, queue)
            snapshot, settings = await self._service.snapshot(queue)
            if refusal := self._access.refusal_now(queue, settings, snapshot):
                return await self._start(request, queue, claims, refusal)
            filled = Filled.of(fields_of(request))
            return await self._take(request, queue, claims, settings, filled)
        except (TokenError, KeyInvalid, Forbidden) as error:
            return await self._locked(request, name, error)
        except FairlineError as error:
            return await self._access.refuse(request, name, error, path=_path(name))

    async def _take(
        self, request: Request, queue: QueueId, claims: KioskClaims, settings: QueueSettings, filled: Filled
    ) -> Response:
        began = time.perf_counter()
        content = self._content(request, queue, settings)
        if wrong := mistakes(_without_person(filled), _without_person_asked(settings), content.words):
            return self._draw(content, settings, claims, {"wrong": "".join(wrong.values())}, status=422)
        asked = filled.request(_without_person_asked(settings))
        try:
            answer = await self._service.join(queue, asked, Caller(staff=claims.by, form=True))
        except AlreadyInLine:  # the number has moved to a phone, and the next person is here
            return see_other(_path(queue))
        except FairlineError as error:
            if error.code in PAGE_OF and not isinstance(error, InvalidRequest):
                return await self._start(request, queue, claims, error)
            raise
        ticket = answer.ticket_status
        log.info(
            "queue.created" if answer.created else "queue.idempotency_reuse",
            by=claims.by,
            queue=queue,
            ticket=ticket.number,
            label=answer.label,
            position=ticket.position,
            duration_ms=round((time.perf_counter() - began) * 1000, 1),
            request_id=request.id,
        )
        return self._draw_ticket(request, claims, answer, asked)

    # Access

    def _opened(self, request: Request, queue: QueueId, token: str) -> Response:
        claims = self._checked(queue, token)
        kept = self._context.cookie(request, _cookie(queue), token, claims.expires - time.time())
        return see_other(_path(queue), (kept,))

    async def _allowed(self, request: Request, queue: QueueId) -> KioskClaims:
        token = request.cookies.get(_cookie(queue))
        if not token:
            raise TokenMissing
        claims = self._checked(queue, token)
        await self._keys.of_id(claims.by, Role.OPERATOR)
        return claims

    def _checked(self, queue: QueueId, token: str) -> KioskClaims:
        claims = self._service.keyring.kiosks.check(token, time.time())
        if claims.queue != queue:
            raise TokenMissing
        return claims

    # Drawing

    async def _locked(self, request: Request, name: str, error: FairlineError) -> Response:
        """The page that says that the kiosk is not active."""
        if wants_json(request):
            return failure(request, error)
        content = PageContent("kiosk_locked", name[:80], preferred(request), path=_path(name))
        return await self._access.drawing.draw(content, PROBLEMS["forbidden"][0], None)

    async def _start(
        self, request: Request, queue: QueueId, claims: KioskClaims, refusal: FairlineError | None = None
    ) -> Response:
        try:
            snapshot, settings = await self._service.snapshot(queue)
        except FairlineError as error:
            return await self._access.refuse(request, queue, error, path=_path(queue))
        refusal = refusal or self._access.refusal_now(queue, settings, snapshot)
        if refusal:
            content = self._access.refused(request, queue, refusal, settings, path=_path(queue))
        else:
            content = self._content(request, queue, settings)
        more: dict[str, Any] = {"refused": refusal is not None, "crowd": crowd(content.words, settings, snapshot)}
        status = PROBLEMS[refusal.code][0] if refusal and refusal.code in PROBLEMS else 200
        retry: Headers = ((b"retry-after", b"10"),) if status in (429, 503) else ()
        return self._draw(content, settings, claims, more, status=status, headers=retry)

    def _draw_ticket(self, request: Request, claims: KioskClaims, answer: JoinAnswer, asked: JoinRequest) -> Response:
        ticket = self._context.answers.ticket(answer)
        link = f"{self._access.join_url(request, answer.queue)}/move"
        link += f"#{self._walk_in.move_code(answer.queue, answer.ticket_status, PAPER_SECONDS)}"
        content = self._content(request, answer.queue, answer.settings, "waiting", ticket)
        series = asked.series or next(iter(answer.settings.series), "")
        about = content.words.series(series)
        taken = {
            "code": embedded(link),
            "party_size": asked.party_size or 1,
            "joined": ticket.joined_at,
            "about": about if about != series else "",
        }
        return self._draw(content, answer.settings, claims, {"taken": taken}, status=201 if answer.created else 200)

    def _content(
        self, request: Request, queue: QueueId, settings: QueueSettings, state: str = "form", ticket: Any = None
    ) -> PageContent:
        return PageContent(state, queue, preferred(request), settings, ticket, path=_path(queue))

    def _draw(
        self,
        content: PageContent,
        settings: QueueSettings,
        claims: KioskClaims,
        more: dict[str, Any],
        *,
        status: int = 200,
        headers: Headers = (),
    ) -> Response:
        values = {
            "page": content,
            "t": content.words,
            "path": _path(content.queue),
            "key": new_key(),
            "prints": claims.prints,
            "series": [Series(name, content.words.series(name)) for name in settings.series],
            "parties": (parties := _parties(settings)),
            "small": SMALL if len(parties) > ALL_AT_ONCE else len(parties),
            "taken": None,
            "refused": False,
            "crowd": "",
            "wrong": "",
            **more,
        }
        state = "taken" if values["taken"] else "refused" if values["refused"] else "start"
        return self._access.drawing.draw_whole(
            "kiosk.html", state, {**values, "state": state}, settings, status, headers
        )


def _parties(settings: QueueSettings) -> range:
    """The party sizes that have a button; none if the queue does not ask for the size."""
    if settings.ask_party_size is Ask.NO:
        return range(0)
    return range(1, min(settings.max_party_size, BUTTONS) + 1)


def _without_person(filled: Filled) -> Filled:
    return Filled(key=filled.key, party_size=filled.party_size or "1", series=filled.series)


def _without_person_asked(settings: QueueSettings) -> QueueSettings:
    """What a kiosk asks: at most the size of the party. Nobody types their name where others can see it."""
    return msgspec.structs.replace(settings, ask_name=Ask.NO, ask_phone=Ask.NO, ask_email=Ask.NO)


def _cookie(queue: str) -> str:
    return f"fairline_kiosk_{queue}"


def _path(queue: str) -> str:
    return f"/join/{quote(queue, safe='')}/kiosk"
