"""The gate of a protected site: may this request go on? For nginx `auth_request` and every kind of forward-auth.

A proxy asks before it passes a request on, and says which address was asked for (`X-Original-URI`, `X-Forwarded-Uri`).
Whoever has a pass goes on. The pass of a link is exchanged for one of that browser alone, as a cookie, and the browser
sent to the same address without it: once, so that a link that was passed on lets nobody else in. Whoever has no pass
may be let straight through, or is sent to the waiting page and from there back to the address they asked for.

Proxies differ in what they do with a refusal. nginx wants 401, and then asks us once more for an answer to the browser
(`answer=refused`); others hand our first answer to the browser as it is (`answer=redirect`).
"""

from __future__ import annotations

import time
from hashlib import sha256
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from fairline.caches import SHARES, cached, size_in_bytes
from fairline.domain.bypass import address_passes, agent_passes, decoded, path_passes
from fairline.domain.join_request import JoinRequest
from fairline.domain.queue import QueueId, QueueSettings
from fairline.domain.ticket import Action, Status
from fairline.domain.tokens import SessionClaims
from fairline.errors import (
    FairlineError,
    QueueNotFound,
    SessionTaken,
    StoreError,
    TokenError,
    TokenInvalid,
    TransitionRefused,
)
from fairline.service.answers import StatusAnswer
from fairline.web.api.people import named_queue, visitor_of
from fairline.web.api.queue_states import State
from fairline.web.api.wire import TurnedAway
from fairline.web.context import SESSION_COOKIE, TAKEN, Context, local
from fairline.web.server.http import (
    NO_STORE,
    Head,
    Headers,
    Outcome,
    Pending,
    Request,
    Response,
    Running,
    Sent,
    args_of,
    cookie,
    encode,
    wants_json,
)
from fairline.web.server.problems import failure

#: An errand of so many bytes is worked out each time.
LONGEST_KNOWN = 500
_PASS = f"{SESSION_COOKIE}="
#: Programs that were turned away come again after the wait that is left, within these seconds.
RETRY_SECONDS = (5, 60)


class GateRequest(Struct, frozen=True):
    """What a proxy asks for."""

    queue: str
    """The queue that guards the path, if it is named."""
    uri: str = ""
    """Path and query that were asked for, without a pass."""
    arriving: str = ""
    """The pass that was in it."""
    reads: bool = True
    """Whether it can be asked for again: what was sent with a POST would be lost."""
    answer: str = ""
    """Who reads the answer: the proxy; or the browser too, where it is no (`redirect`), or in any case (`refused`)."""
    clear: bool = True
    """Whether it is clear which address was asked for: a client may send headers that its proxy does not know of."""


def gate_request_of(head: Head) -> GateRequest:
    """What a proxy asks for, by its headers and our query."""
    gate_request: GateRequest | None = head.understood
    if gate_request is None:
        original, forwarded = head.header(b"x-original-uri"), head.header(b"x-forwarded-uri")
        method = head.header(b"x-original-method") or head.header(b"x-forwarded-method") or b"GET"
        asked = (original or b"", forwarded or b"", method, head.query)
        gate_request = head.understood = (
            _known(asked) if sum(map(len, asked)) <= LONGEST_KNOWN else _gate_request(asked)
        )
    return gate_request


def _gate_request(heard: tuple[bytes, bytes, bytes, bytes]) -> GateRequest:
    original, forwarded, method, asked = heard
    uri = (original or forwarded).decode("utf-8", "replace")
    path, mark, query = uri.partition("?")
    parts = query.split("&") if mark else []
    kept = [part for part in parts if not part.startswith(_PASS)]
    passes = [part.removeprefix(_PASS) for part in parts if part.startswith(_PASS)]
    args = args_of(asked)
    return GateRequest(
        queue=args.get("queue", ""),
        uri=local(path + ("?" + "&".join(kept) if kept else "")) if uri else "",
        arriving=passes[-1] if passes else "",
        reads=method in (b"GET", b"HEAD"),
        answer=args.get("answer", ""),
        clear=not original or not forwarded or original == forwarded,
    )


def _weight(heard: tuple[bytes, bytes, bytes, bytes], gate_request: GateRequest) -> int:
    return (
        size_in_bytes(heard)
        + size_in_bytes((gate_request.queue, gate_request.uri, gate_request.arriving, gate_request.answer))
        + 100
    )


#: In a rush everyone asks for the same few pages.
_known = cached(SHARES["errands"], _gate_request, _weight)


class ForwardAuth:
    """The calls of proxies in front of a site."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service

    def verify(self, request: Request) -> Outcome:
        """May this request go on? The first one of an admitted pass begins the session, later ones are activity."""
        gate_request = gate_request_of(request.head)
        try:
            if gate_request.arriving and (claims := self._arrived(gate_request)):
                return self._arrival(request, gate_request, claims)
            claims = self._context.session_claims(request)
            _check_queue(claims, gate_request)
        except TokenError as error:
            return self._without_pass(request, gate_request, error)
        bound = self._context.bound_as(request, claims)
        by = bound or self._context.seen_as(request)

        def let_through(answer: StatusAnswer) -> Response:
            """Yes, and who it is. Only ever one cookie: proxies hand on no more."""
            headers = _who(answer)
            if not bound:
                headers += self._context.visitor_cookies(request, claims, by)
            return _yes(gate_request, headers)

        def refused(error: FairlineError) -> Outcome:
            return self._without_pass(request, msgspec.structs.replace(gate_request, queue=claims.queue), error)

        visit = self._service.visit(QueueId(claims.queue), claims.number, by, claims.joined)
        return Pending(visit, let_through, recover=refused)

    # With a pass in the address

    def _arrived(self, gate_request: GateRequest) -> SessionClaims | None:
        """A good pass in the address. A bad one is as good as none: an older one in a cookie may be better."""
        try:
            claims = self._service.keyring.sessions.check(gate_request.arriving, time.time())
            _check_queue(claims, gate_request)
        except TokenError:
            return None
        return claims

    def _arrival(self, request: Request, gate_request: GateRequest, claims: SessionClaims) -> Outcome:
        """The pass of a link begins its session, once, and is exchanged for one of this client alone. One that does not
        is someone else's: it must not take the place of a pass that the browser has already."""
        queue, by = QueueId(claims.queue), self._context.arriving(request, claims)
        named = msgspec.structs.replace(gate_request, queue=claims.queue)

        def settled(_: StatusAnswer) -> Response:
            token = self._context.handed_to(claims, by)
            return self._settle_in(request, gate_request, (self._pass_cookie(request, token, claims.expires),))

        def refused(error: FairlineError) -> Outcome:
            if SESSION_COOKIE in request.cookies and not isinstance(error, StoreError):
                return self._settle_in(request, gate_request, ())
            return self._without_pass(request, named, error)

        if gate_request.answer:
            return Pending(self._service.start(queue, claims.number, by, claims.joined), settled, recover=refused)

        def looked(answer: StatusAnswer) -> Outcome:
            proven = self._context.bound_as(request, claims) is not None
            trouble = _in_the_way(answer, claims, proven=proven)
            return refused(trouble) if trouble else settled(answer)

        # A proxy that wants an answer for the browser asks once more: this call must not use up the link.
        return Pending(self._service.status(queue, claims.number), looked, recover=refused)

    def _settle_in(self, request: Request, gate_request: GateRequest, cookies: Headers) -> Response:
        """The pass goes into a cookie and out of the address, where it could be copied."""
        if gate_request.answer:
            return _once_more(gate_request, (*NO_STORE, *cookies))
        refusal = failure(request, TokenInvalid("it is in the address; it goes into a cookie"), status=401)
        return refusal.with_headers((b"x-fairline-redirect", gate_request.uri.encode()), *cookies)

    def _pass_cookie(self, request: Request, token: str, expires: float) -> tuple[bytes, bytes]:
        return cookie(SESSION_COOKIE, token, expires - time.time(), secure=self._context.secure(request))

    # Without a pass

    def _without_pass(self, request: Request, gate_request: GateRequest, error: FairlineError) -> Outcome:
        if isinstance(error, StoreError):
            return failure(request, error)  # our own trouble is told as what it is
        return Pending(Running(self._judged(request, gate_request, error)), _as_it_is)

    async def _judged(self, request: Request, gate_request: GateRequest, error: FairlineError) -> Response:
        """Whoever has no pass may need none, may be let straight through, or has to wait."""
        try:
            queue = named_queue(gate_request.queue)
            state = await self._context.queue_states.state(queue)
        except QueueNotFound:
            return self._turned_away(request, gate_request, error, None)
        if self._bypasses(request, gate_request, state.settings):
            return _yes(gate_request, (*NO_STORE, (b"x-fairline-bypass", b"1")))
        if state.settings.passthrough and (let_in := await self._straight_through(request, gate_request, queue)):
            return let_in
        return self._turned_away(request, gate_request, error, state)

    def _bypasses(self, request: Request, gate_request: GateRequest, settings: QueueSettings) -> bool:
        return (
            (
                gate_request.uri != ""
                and gate_request.clear
                and path_passes(decoded(gate_request.uri), settings.bypass_paths)
            )
            or agent_passes(request.text(b"user-agent") or "", settings.bypass_agents)
            or address_passes(self._context.address(request), settings.bypass_addresses)
        )

    async def _straight_through(self, request: Request, gate_request: GateRequest, queue: QueueId) -> Response | None:
        """Join, be let in and begin the session, while there is room and nobody waits."""
        # A browser whose pass has ended asks for several things at once: it is one person all the same.
        ended = request.cookies.get(SESSION_COOKIE)
        visitor = sha256(ended.encode()).hexdigest() if ended else visitor_of(request)
        caller = self._context.caller(request, queue, visitor=visitor)
        try:
            welcome = await self._service.join(queue, JoinRequest(), caller, through=True)
            if welcome.ticket_status.status not in (Status.ADMITTED, Status.ACTIVE):
                return None
            token = self._context.session_token(welcome)
            claims = self._service.keyring.sessions.check(token, time.time())
            by = self._context.visitor(request, claims)
            answer = await self._service.visit(queue, claims.number, by)
        except StoreError:
            raise
        except FairlineError:
            return None  # no room, a limit, someone else's session: they can wait like everyone
        client = self._context.handed_to(claims, by)
        return _yes(gate_request, (*_who(answer), self._pass_cookie(request, client, claims.expires)))

    def _turned_away(
        self, request: Request, gate_request: GateRequest, error: FairlineError, state: State | None
    ) -> Response:
        """No: with the way to the waiting page, and from there back."""
        page = self._page(gate_request)
        if gate_request.arriving and isinstance(error, SessionTaken):
            page += ("&" if "?" in page else "?") + TAKEN
        if gate_request.answer and state is not None:
            return self._told(request, page, state, error)
        refusal = failure(request, error, status=401)
        return refusal.with_headers((b"x-fairline-redirect", page.encode())) if gate_request.queue else refusal

    def _told(self, request: Request, page: str, state: State, error: FairlineError) -> Response:
        """The answer for whoever asked: a browser goes to the page, a program or a script is told of the queue."""
        navigates = request.text(b"sec-fetch-mode") in (None, "navigate")
        if navigates and not wants_json(request):
            return Response(302, headers=((b"location", page.encode()), *NO_STORE))
        if isinstance(error, SessionTaken):
            return failure(request, error)
        wait = state.told.estimated_wait_seconds or 0
        retry = min(max(wait, RETRY_SECONDS[0]), RETRY_SECONDS[1])
        base = self._context.settings.public_url
        told = TurnedAway(
            **msgspec.structs.asdict(state.told),
            join_url=f"{base}/api/v1/queues/{quote(state.told.id, safe='')}/join",
            waiting_page=page,
        )
        return Response(503, encode(told), headers=(*NO_STORE, (b"retry-after", str(retry).encode())))

    def _page(self, gate_request: GateRequest) -> str:
        back = "?" + urlencode({"return": gate_request.uri}) if gate_request.uri and gate_request.reads else ""
        return f"{self._context.settings.public_url}/q/{quote(gate_request.queue, safe='')}{back}"


def _yes(gate_request: GateRequest, headers: Headers) -> Response:
    """Let it through; or where the proxy has no way to do that any more, let the browser ask once more."""
    return _once_more(gate_request, headers) if gate_request.answer == "refused" else Response(200, headers=headers)


def _once_more(gate_request: GateRequest, headers: Headers) -> Response:
    """To the address that was asked for. What was sent with a POST is sent again: the site has not seen it."""
    return Response(
        302 if gate_request.reads else 307, headers=((b"location", gate_request.uri.encode() or b"/"), *headers)
    )


def _check_queue(claims: SessionClaims, gate_request: GateRequest) -> None:
    if gate_request.queue and claims.queue != gate_request.queue:
        raise TokenInvalid(f"it is for queue {claims.queue!r}, not {gate_request.queue!r}")


def _in_the_way(answer: StatusAnswer, claims: SessionClaims, *, proven: bool) -> FairlineError | None:
    """Why the pass of a link would begin no session, as far as it can be told before it is tried."""
    ticket_status = answer.ticket_status
    if ticket_status.joined != claims.joined:
        return TokenInvalid("it is for a queue that is no more")
    if ticket_status.status is Status.ADMITTED or (ticket_status.status is Status.ACTIVE and proven):
        return None
    if ticket_status.status is Status.ACTIVE:
        return SessionTaken()
    return TransitionRefused(Action.START, ticket_status.found, ticket_status.reason)


def _who(answer: StatusAnswer) -> Headers:
    number = str(answer.ticket_status.number).encode()
    return (*NO_STORE, (b"x-fairline-queue", answer.queue.encode()), (b"x-fairline-ticket", number))


def _as_it_is(sent: Sent) -> Sent:
    return sent
