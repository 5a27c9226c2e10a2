"""The forward-auth call of a protected site: may this request continue? For nginx `auth_request` and other proxies.

A proxy asks before it forwards a request, and sends the requested address (`X-Original-URI`, `X-Forwarded-Uri`). A
client with a session token continues. The session token of a link is exchanged, once, for one that belongs to that
browser alone and is kept in a cookie; then the browser is sent to the same address without the token. So a copied link
lets nobody else in. A client without a session token may be let straight through, or is sent to the waiting page and
from there back to the address it asked for.

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
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
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
from fairline.web.context import Context
from fairline.web.cookies import SESSION_COOKIE
from fairline.web.redirects import TAKEN, local
from fairline.web.server.head import Head, args_of
from fairline.web.server.http import (
    NO_STORE,
    Headers,
    Outcome,
    Pending,
    Request,
    Response,
    encode,
    wants_json,
)
from fairline.web.server.problems import failure

#: Bytes of a request of a proxy that is cached; a longer one is parsed each time.
LONGEST_CACHED = 500
_TOKEN_FIELD = f"{SESSION_COOKIE}="
#: The smallest and the largest Retry-After for programs that are turned away; between them it is the estimated wait.
RETRY_SECONDS = (5, 60)


class GateRequest(Struct, frozen=True):
    """A request that a proxy asks about."""

    queue: str
    """The queue that guards the path, if it is named."""
    uri: str = ""
    """The requested path and query, without a session token."""
    link_token: str = ""
    """The session token that was in the query."""
    repeatable: bool = True
    """Whether the browser can repeat it with GET: the content of a POST would be lost."""
    answer: str = ""
    """Who reads the answer: the proxy; or the browser too, if it is a refusal (`redirect`), or always (`refused`)."""
    uri_certain: bool = True
    """Whether the requested address is certain: a client may send headers that its proxy does not know."""


def gate_request_of(head: Head) -> GateRequest:
    """The request that a proxy asks about, from its headers and the query of the call."""
    gate_request: GateRequest | None = head.understood
    if gate_request is None:
        original, forwarded = head.header(b"x-original-uri"), head.header(b"x-forwarded-uri")
        method = head.header(b"x-original-method") or head.header(b"x-forwarded-method") or b"GET"
        asked = (original or b"", forwarded or b"", method, head.query)
        gate_request = head.understood = (
            _cached_gate_request(asked) if sum(map(len, asked)) <= LONGEST_CACHED else _gate_request(asked)
        )
    return gate_request


def _gate_request(parts_of_head: tuple[bytes, bytes, bytes, bytes]) -> GateRequest:
    original, forwarded, method, own_query = parts_of_head
    uri = (original or forwarded).decode("utf-8", "replace")
    path, mark, query = uri.partition("?")
    parts = query.split("&") if mark else []
    kept = [part for part in parts if not part.startswith(_TOKEN_FIELD)]
    tokens = [part.removeprefix(_TOKEN_FIELD) for part in parts if part.startswith(_TOKEN_FIELD)]
    args = args_of(own_query)
    return GateRequest(
        queue=args.get("queue", ""),
        uri=local(path + ("?" + "&".join(kept) if kept else "")) if uri else "",
        link_token=tokens[-1] if tokens else "",
        repeatable=method in (b"GET", b"HEAD"),
        answer=args.get("answer", ""),
        uri_certain=not original or not forwarded or original == forwarded,
    )


def _weight(parts_of_head: tuple[bytes, bytes, bytes, bytes], gate_request: GateRequest) -> int:
    return (
        size_in_bytes(parts_of_head)
        + size_in_bytes((gate_request.queue, gate_request.uri, gate_request.link_token, gate_request.answer))
        + 100
    )


#: Cached, because in a rush everybody asks for the same few pages.
_cached_gate_request = cached(SHARES["errands"], _gate_request, _weight)


class ForwardAuth:
    """The call of proxies in front of a site."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service

    def verify(self, request: Request) -> Outcome:
        """May this request continue? The first request of an admitted ticket starts the session, later ones keep it
        alive."""
        gate_request = gate_request_of(request.head)
        try:
            if gate_request.link_token and (claims := self._arrived(gate_request)):
                return self._arrival(request, gate_request, claims)
            claims = self._context.sessions.claims(request)
            _check_queue(claims, gate_request)
        except TokenError as error:
            return self._without_token(request, gate_request, error)
        proven = self._context.sessions.proven_client(request, claims)
        by = proven or self._context.sessions.browser_at_address(request)

        def let_through(answer: StatusAnswer) -> Response:
            """Yes, with the ticket in headers. Never more than one cookie: some proxies forward only one."""
            headers = _who(answer)
            if not proven:
                headers += self._context.sessions.client_cookies(request, claims, by)
            return _yes(gate_request, headers)

        def refused(error: FairlineError) -> Outcome:
            return self._without_token(request, msgspec.structs.replace(gate_request, queue=claims.queue), error)

        visit = self._service.visit(QueueId(claims.queue), claims.number, by, claims.joined)
        return Pending(visit, let_through, recover=refused)

    # With a session token in the address

    def _arrived(self, gate_request: GateRequest) -> SessionClaims | None:
        """The claims of a valid token in the address. An invalid one is ignored: the cookie may hold a valid one."""
        try:
            claims = self._service.keyring.sessions.check(gate_request.link_token, time.time())
            _check_queue(claims, gate_request)
        except TokenError:
            return None
        return claims

    def _arrival(self, request: Request, gate_request: GateRequest, claims: SessionClaims) -> Outcome:
        """The token of a link starts its session, once, and is exchanged for one that belongs to this client alone. If
        it cannot start the session, the link is somebody else's: it must not replace a token that the browser already
        has."""
        queue, by = QueueId(claims.queue), self._context.sessions.arriving_client(request, claims)
        named = msgspec.structs.replace(gate_request, queue=claims.queue)

        def settled(_: StatusAnswer) -> Response:
            token = self._context.sessions.token_for_client(claims, by)
            return self._settle_in(request, gate_request, (self._session_cookie(request, token, claims.expires),))

        def refused(error: FairlineError) -> Outcome:
            if SESSION_COOKIE in request.cookies and not isinstance(error, StoreError):
                return self._settle_in(request, gate_request, ())
            return self._without_token(request, named, error)

        if gate_request.answer:
            return Pending(self._service.start(queue, claims.number, by, claims.joined), settled, recover=refused)

        def checked(answer: StatusAnswer) -> Outcome:
            proven = self._context.sessions.proven_client(request, claims) is not None
            obstacle = _obstacle(answer, claims, proven=proven)
            return refused(obstacle) if obstacle else settled(answer)

        # The proxy will ask once more for an answer to the browser: this call must not use up the link.
        return Pending(self._service.status(queue, claims.number), checked, recover=refused)

    def _settle_in(self, request: Request, gate_request: GateRequest, cookies: Headers) -> Response:
        """Move the token from the address, where it could be copied, into a cookie."""
        if gate_request.answer:
            return _once_more(gate_request, (*NO_STORE, *cookies))
        refusal = failure(request, TokenInvalid("it is in the address and moves into a cookie"), status=401)
        return refusal.with_headers((b"x-fairline-redirect", gate_request.uri.encode()), *cookies)

    def _session_cookie(self, request: Request, token: str, expires: float) -> tuple[bytes, bytes]:
        return self._context.cookie(request, SESSION_COOKIE, token, expires - time.time())

    # Without a session token

    def _without_token(self, request: Request, gate_request: GateRequest, error: FairlineError) -> Outcome:
        if isinstance(error, StoreError):
            return failure(request, error)  # an outage of the store is no reason to send anybody to the waiting page
        return self._judge(request, gate_request, error)

    async def _judge(self, request: Request, gate_request: GateRequest, error: FairlineError) -> Response:
        """A client without a session token may need none, may be let straight through, or has to wait."""
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
                and gate_request.uri_certain
                and path_passes(decoded(gate_request.uri), settings.bypass_paths)
            )
            or agent_passes(request.text(b"user-agent") or "", settings.bypass_agents)
            or address_passes(self._context.proxies.address(request), settings.bypass_addresses)
        )

    async def _straight_through(self, request: Request, gate_request: GateRequest, queue: QueueId) -> Response | None:
        """Join, be admitted and start the session, while there is capacity and nobody waits."""
        # A browser whose session has ended sends several requests at once: it is one person all the same.
        ended = request.cookies.get(SESSION_COOKIE)
        visitor = sha256(ended.encode()).hexdigest() if ended else visitor_of(request)
        caller = self._context.caller(request, queue, visitor=visitor)
        try:
            joined = await self._service.join(queue, JoinRequest(), caller, through=True)
            if joined.ticket_status.status not in (Status.ADMITTED, Status.ACTIVE):
                return None
            token = self._context.sessions.token(joined)
            claims = self._service.keyring.sessions.check(token, time.time())
            by = self._context.sessions.client(request, claims)
            answer = await self._service.visit(queue, claims.number, by)
        except StoreError:
            raise
        except FairlineError:
            return None  # no capacity, a limit, somebody else's session: the client can wait like everyone
        client = self._context.sessions.token_for_client(claims, by)
        return _yes(gate_request, (*_who(answer), self._session_cookie(request, client, claims.expires)))

    def _turned_away(
        self, request: Request, gate_request: GateRequest, error: FairlineError, state: State | None
    ) -> Response:
        """Refuse, with the address of the waiting page, which leads back afterwards."""
        page = self._page(gate_request)
        if gate_request.link_token and isinstance(error, SessionTaken):
            page += ("&" if "?" in page else "?") + TAKEN
        if gate_request.answer and state is not None:
            return self._browser_answer(request, page, state, error)
        refusal = failure(request, error, status=401)
        return refusal.with_headers((b"x-fairline-redirect", page.encode())) if gate_request.queue else refusal

    def _browser_answer(self, request: Request, page: str, state: State, error: FairlineError) -> Response:
        """The answer for the proxy's client: a browser goes to the waiting page; a program or a script receives the
        state of the queue as JSON."""
        navigates = request.text(b"sec-fetch-mode") in (None, "navigate")
        if navigates and not wants_json(request):
            return Response(302, headers=((b"location", page.encode()), *NO_STORE))
        if isinstance(error, SessionTaken):
            return failure(request, error)
        wait = state.answer.estimated_wait_seconds or 0
        retry = min(max(wait, RETRY_SECONDS[0]), RETRY_SECONDS[1])
        base = self._context.settings.public_url
        turned_away = TurnedAway(
            **msgspec.structs.asdict(state.answer),
            join_url=f"{base}/api/v1/queues/{quote(state.answer.id, safe='')}/join",
            waiting_page=page,
        )
        return Response(503, encode(turned_away), headers=(*NO_STORE, (b"retry-after", str(retry).encode())))

    def _page(self, gate_request: GateRequest) -> str:
        back = "?" + urlencode({"return": gate_request.uri}) if gate_request.uri and gate_request.repeatable else ""
        return f"{self._context.settings.public_url}/q/{quote(gate_request.queue, safe='')}{back}"


def _yes(gate_request: GateRequest, headers: Headers) -> Response:
    """Let the request through; or, where the proxy can no longer do that, let the browser send it once more."""
    return _once_more(gate_request, headers) if gate_request.answer == "refused" else Response(200, headers=headers)


def _once_more(gate_request: GateRequest, headers: Headers) -> Response:
    """A redirect to the requested address. A POST is sent again with its content: the site has not received it yet."""
    return Response(
        302 if gate_request.repeatable else 307, headers=((b"location", gate_request.uri.encode() or b"/"), *headers)
    )


def _check_queue(claims: SessionClaims, gate_request: GateRequest) -> None:
    if gate_request.queue and claims.queue != gate_request.queue:
        raise TokenInvalid(f"it is for queue {claims.queue!r}, not {gate_request.queue!r}")


def _obstacle(answer: StatusAnswer, claims: SessionClaims, *, proven: bool) -> FairlineError | None:
    """Why the token of a link would not start a session, as far as that is known before trying."""
    ticket_status = answer.ticket_status
    if ticket_status.joined != claims.joined:
        return TokenInvalid("it is for a queue that no longer exists")
    if ticket_status.status is Status.ADMITTED or (ticket_status.status is Status.ACTIVE and proven):
        return None
    if ticket_status.status is Status.ACTIVE:
        return SessionTaken()
    return TransitionRefused(Action.START, ticket_status.found, ticket_status.reason)


def _who(answer: StatusAnswer) -> Headers:
    number = str(answer.ticket_status.number).encode()
    return (*NO_STORE, (b"x-fairline-queue", answer.queue.encode()), (b"x-fairline-ticket", number))
