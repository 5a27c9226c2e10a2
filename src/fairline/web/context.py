"""What every handler of a worker has: the room, the settings, and how tickets, passes and callers are told."""

from __future__ import annotations

import time
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address, ip_network
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from msgspec import UNSET
from msgspec.structs import replace

from fairline.caches import SHARES, BoundedCache, cached, size_in_bytes
from fairline.domain.address import counted_address
from fairline.domain.estimate import Wait
from fairline.domain.join_request import Caller
from fairline.domain.queue import QueueId, QueueSettings
from fairline.domain.ticket import WAITING, Status, Ticket, TicketStatus, Went
from fairline.domain.tokens import ClientClaims, SessionClaims, TicketClaims
from fairline.errors import TokenError, TokenInvalid, TokenMoved
from fairline.service.answers import StatusAnswer
from fairline.service.fairline import Fairline
from fairline.settings import ServerSettings
from fairline.web.api.queue_states import QueueStates
from fairline.web.api.wire import TicketAnswer, TransferredTo, moment
from fairline.web.pages.renderer import Renderer
from fairline.web.server.http import Headers, Request, cookie, other_token
from fairline.web.server.origins import Origins
from fairline.web.server.preferred_language import preferred

if TYPE_CHECKING:
    from fairline.web.streams.board_streams import BoardStreams
    from fairline.web.streams.hub import Hub

SESSION_COOKIE = "fairline_session"
CLIENT_COOKIE = "fairline_client"
#: In the query of a waiting page: who is sent there came with a link that somebody else has used.
TAKEN = "taken=1"
VISITOR_COOKIE = "fairline_visitor"
VISITOR_SECONDS = 31_536_000


def ticket_cookie(queue: QueueId) -> str:
    """The name of the cookie that holds the token of someone's ticket in a queue."""
    return f"fairline_ticket_{queue}"


def user_cookie(queue: QueueId) -> str:
    """The name of the cookie that holds what a site said of who someone is, for joins of a queue."""
    return f"fairline_user_{queue}"


class Context:
    """One worker's web side."""

    def __init__(self, settings: ServerSettings, service: Fairline) -> None:
        self.settings = settings
        self.service = service
        self.queue_states = QueueStates(service)
        self.origins = Origins(self)
        self.hub: Hub | None = None
        self.board_streams: BoardStreams | None = None
        self.renderer = Renderer()
        self._proxies = [ip_network(network, strict=False) for network in settings.trusted_proxies]
        # Whoever sends no cookie back is given the same one again and again.
        self._client_token = cached(SHARES["clients"], self._sign_client)
        # Session tokens made lately, by ticket: reading a status again gives the same one.
        self._sessions = BoundedCache[tuple[QueueId, int, int, int | None, int], str](SHARES["sessions"])

    # Who calls

    def address(self, request: Request) -> str | None:
        """Where a call comes from. X-Forwarded-For is believed from named proxies only, counted from the right."""
        address = request.peer
        if not self._proxies or address is None or not self._trusted(address):
            return address
        for hop in reversed((request.text(b"x-forwarded-for") or "").split(",")):
            hop = hop.strip()
            try:
                ip_address(hop)
            except ValueError:
                return address
            address = hop
            if not self._trusted(address):
                break
        return address

    def counted_address(self, request: Request) -> str:
        """The address that limits of the server count a call by; empty where it is not known."""
        return counted_address(self.address(request))

    def secure(self, request: Request) -> bool:
        """Whether the client came by https, as far as a named proxy or the connection says: the last word is that of
        the proxy before us."""
        if self._proxies and request.peer is not None and self._trusted(request.peer):
            said = (request.text(b"x-forwarded-proto") or "").rpartition(",")[2].strip()
            return said == "https" or request.secure
        return request.secure

    def host(self, request: Request) -> str:
        """The host the client asked for, with its port: as a named proxy says, or else the request itself."""
        if self._proxies and request.peer is not None and self._trusted(request.peer):
            said = (request.text(b"x-forwarded-host") or "").rpartition(",")[2].strip()
            return said or request.text(b"host") or ""
        return request.text(b"host") or ""

    def _trusted(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._proxies)

    def caller(
        self,
        request: Request,
        queue: QueueId,
        staff: str | None = None,
        priority: int = 0,
        visitor: str | None = None,
        form: bool = False,
    ) -> Caller:
        """Who makes a call, as we see it."""
        browser = request.head.browser
        if browser is None:
            browser = request.head.browser = (request.head.text(b"user-agent"), preferred(request))
        return Caller(
            address=self.address(request),
            user_agent=browser[0],
            visitor=visitor,
            holds=self._held(request, queue),
            staff=staff,
            priority=priority,
            form=form,
            user_token=self.user_token(request, queue) if staff is None else None,
            language=browser[1],
        )

    def user_token(self, request: Request, queue: QueueId) -> str | None:
        """What a link of the site has left in a cookie."""
        cookies = request.head.cookies
        return (cookies.get(user_cookie(queue)) or None) if cookies else None

    def _held(self, request: Request, queue: QueueId) -> tuple[int, int, int] | None:
        """The ticket that our signed cookie proves the caller to hold."""
        cookies = request.head.cookies
        token = cookies.get(ticket_cookie(queue)) if cookies else None
        if not token:
            return None
        try:
            claims = self.service.keyring.tickets.check(token, time.time())
        except TokenError:
            return None
        return (claims.number, claims.joined, claims.moved) if claims.queue == queue else None

    # Tickets

    def ticket_claims(self, request: Request, token: str | None = None) -> TicketClaims:
        """Whose ticket a call is about, or 401."""
        token = token or request.head.bearer
        if token is None:
            queue = request.args.get("queue")
            names = [ticket_cookie(QueueId(queue))] if queue else _ticket_cookies(request)
            token = other_token(request, names[0] if len(names) == 1 else "", "token")
        return self.service.keyring.tickets.check(token, time.time())

    def ticket_cookies(self, request: Request, queue: QueueId, settings: QueueSettings, token: str) -> Headers:
        """The cookie by which a browser has a ticket, for as long as its token is good."""
        return (
            cookie(ticket_cookie(queue), token, self.service.tokens.seconds(settings), secure=self.secure(request)),
        )

    def renewed(self, claims: TicketClaims, answer: StatusAnswer) -> str | None:
        """A new token once the old one is past half its life."""
        if time.time() - claims.issued < (claims.expires - claims.issued) / 2:
            return None
        return self.service.tokens.token(answer.queue, answer.settings, answer.ticket_status, claims.client)

    def told(self, answer: StatusAnswer, *, token: str | None = None, heartbeat: bool = False) -> TicketAnswer:
        """What someone is told of where they stand."""
        ticket_status, settings, wait = answer.ticket_status, answer.settings, answer.wait
        seconds = wait.rounded if wait else None
        told = TicketAnswer(
            queue=answer.queue,
            ticket=ticket_status.number,
            label=answer.label,
            status=ticket_status.status,
            position=ticket_status.position,
            queue_length=answer.snapshot.waiting,
            estimated_wait_seconds=seconds[0] if seconds else None,
            estimated_wait_range=seconds[1:] if seconds else None,
            queue_status=settings.status,
            priority=ticket_status.priority,
            joined_at=moment(ticket_status.joined),
            heartbeat_interval_seconds=settings.heartbeat_interval_seconds,
            next_heartbeat_seconds=_next_beat(settings, wait) if heartbeat else UNSET,
            token=token or UNSET,
        )
        more = self._more(answer)
        return replace(told, **more) if more else told

    def _more(self, answer: StatusAnswer) -> dict[str, Any]:
        """What only some are told. It is put apart since most who ask wait, and ask often."""
        ticket_status, settings = answer.ticket_status, answer.settings
        more: dict[str, Any] = {}
        if settings.stock is not None and answer.snapshot.sold_out(settings.stock):
            more["sold_out"] = True
        if settings.stock_unknown:
            more["stock_unknown"] = True
        if settings.message:
            more["message"] = settings.message
        if ticket_status.on_hold:
            more["on_hold"] = True
        if ticket_status.status is not WAITING:
            more |= self._since_waiting(answer)
        return more

    def _since_waiting(self, answer: StatusAnswer) -> dict[str, Any]:
        """What became of someone who was called, or whose place is gone."""
        ticket_status, settings = answer.ticket_status, answer.settings
        told: dict[str, Any] = {"reason": ticket_status.reason, "desk": ticket_status.desk}
        if ticket_status.status is Status.ADMITTED:
            session = self.session_token(answer)
            told |= {"session_token": session, "redirect_url": redirect_url(settings.target_url, session)}
            told["claim_before"] = moment(ticket_status.deadline) if ticket_status.deadline else None
        if isinstance(ticket_status, Ticket) and ticket_status.went is not None:
            told["transferred_to"] = self._went(settings, ticket_status, ticket_status.went)
        return {name: value for name, value in told.items() if value is not None}

    def _went(self, settings: QueueSettings, ticket_status: Ticket, went: Went) -> TransferredTo:
        """Where someone who was transferred is now, with the token of their ticket there."""
        there = TicketStatus(
            number=went.number, status=Status.WAITING, priority=ticket_status.priority, joined=went.joined
        )
        token = self.service.tokens.token(QueueId(went.queue), settings, there, ticket_status.client[:6].hex())
        return TransferredTo(queue=went.queue, ticket=went.number, label=went.label, token=token)

    # Sessions

    def session_token(self, answer: StatusAnswer) -> str:
        """The pass for the site, made when it is read; anew for whoever is called again, since it lasts from the call
        on."""
        ticket_status = answer.ticket_status
        key = (
            answer.queue,
            ticket_status.number,
            ticket_status.joined,
            ticket_status.deadline,
            self.service.keyring.generation,
        )
        token = self._sessions.get(key)
        if token is None:
            now = int(time.time())
            lasts = answer.settings.claim_seconds + answer.settings.session_max_seconds
            token = self.service.keyring.sessions.sign(
                SessionClaims(
                    queue=answer.queue,
                    subject=answer.label,
                    number=ticket_status.number,
                    joined=ticket_status.joined,
                    issued=now,
                    expires=now + int(lasts),
                )
            )
            self._sessions.put(key, token, size_in_bytes(key) + size_in_bytes(token))
        return token

    def session_claims(self, request: Request) -> SessionClaims:
        """Whose session a call is about, or 401."""
        signer, head = self.service.keyring.sessions, request.head
        token = head.bearer
        if not token or (head.cookies.get(SESSION_COOKIE) and not signer.knows(token)):
            # There is none, or what they authorise themselves with is the site's own.
            token = other_token(request, SESSION_COOKIE, SESSION_COOKIE)
        return signer.check(token, time.time())

    def bound_as(self, request: Request, claims: SessionClaims, pass_cookie: str = SESSION_COOKIE) -> str | None:
        """Which client it is, if that is proven: by the pass it was handed, or by the cookie that names it for this
        session."""
        if claims.client:
            return claims.client
        cookies, now = request.head.cookies, time.time()
        if token := cookies.get(CLIENT_COOKIE):
            with suppress(TokenError):
                client = self.service.keyring.clients.check(token, now)
                if (client.queue, client.number) == (claims.queue, claims.number):
                    return client.by
        if token := cookies.get(pass_cookie):
            with suppress(TokenError):
                handed = self.service.keyring.sessions.check(token, now)
                if (handed.queue, handed.number, handed.joined) == (claims.queue, claims.number, claims.joined):
                    return handed.client or None
        return None

    def visitor(self, request: Request, claims: SessionClaims) -> str:
        """Which client comes: the one that is proven, or else this browser at this address."""
        return self.bound_as(request, claims) or self.seen_as(request)

    def arriving(self, request: Request, claims: SessionClaims, pass_cookie: str = SESSION_COOKIE) -> str:
        """Which browser comes to be let in: the one that is proven, or else a new one, so that a link lets one in
        however many have it. From then on it is known by the pass it was handed, and never by the link."""
        return self.bound_as(request, claims, pass_cookie) or token_hex(12)

    def starting(self, request: Request, claims: SessionClaims) -> str:
        """The same for a program that calls. The same call made again is the same client, by its idempotency key. One
        that comes with a cookie of ours comes with it again, and goes on by that or by the pass it is handed; any other
        is known by its address and what it calls itself too."""
        secret = self.service.identity.key(request.head.text(b"idempotency-key"), "start").hex() or token_hex(12)
        by_cookie = VISITOR_COOKIE in request.head.cookies
        return self.bound_as(request, claims) or (secret if by_cookie else f"{secret} {self.seen_as(request)}")

    def handed_to(self, claims: SessionClaims, by: str) -> str:
        """The pass of a link, exchanged for the one of the client that came with it."""
        return self.service.keyring.sessions.sign(replace(claims, client=by))

    def seen_as(self, request: Request) -> str:
        """A client without our cookie: this browser at this address."""
        return _seen(self.address(request), request.head.header(b"user-agent"))

    def visitor_cookies(self, request: Request, claims: SessionClaims, by: str) -> Headers:
        """Cookies that let the same client go on, from another address too."""
        token = self._client_token((claims.queue, claims.number, claims.expires, by, self.service.keyring.generation))
        return (cookie(CLIENT_COOKIE, token, claims.expires - time.time(), secure=self.secure(request)),)

    def _sign_client(self, client: tuple[str, int, int, str, int]) -> str:
        queue, number, expires, by, _ = client
        return self.service.keyring.clients.sign(ClientClaims(queue=queue, number=number, by=by, expires=expires))


def _seen(address: str | None, agent: bytes | None) -> str:
    """A browser at an address, as far as they tell."""
    return sha256(b"%b %b" % ((address or "").encode(), agent or b"")).hexdigest()[:24]


def same_ticket(claims: TicketClaims, answer: StatusAnswer) -> StatusAnswer:
    """The answer, if it is about the ticket of the token: not one of the same number in a queue made anew, nor one that
    has gone on to another device."""
    if answer.ticket_status.joined != claims.joined:
        raise TokenInvalid("it is for a queue that is no more")
    if answer.ticket_status.moved != claims.moved:
        raise TokenMoved
    return answer


def redirect_url(target: str, session_token: str, back_to: str = "") -> str:
    """Where someone who is let in goes, with the pass: the target, or the address of the same site they asked for."""
    if not target:
        return ""
    parts = urlsplit(urljoin(target, local(back_to)) if back_to else target)
    query = "&".join(filter(None, (parts.query, urlencode({SESSION_COOKIE: session_token}))))
    return urlunsplit(parts._replace(query=query))


def local(uri: str) -> str:
    """An address as path and query of whichever site it is used on: it never leads to another one."""
    parts = uri.split("://", 1)
    path = parts[1].partition("/")[2] if len(parts) == 2 and "/" not in parts[0] else uri
    return "/" + quote(path.lstrip("/\\").replace("\\", "/"), safe="/?&=%:@!$'()*+,;~-._")


def _ticket_cookies(request: Request) -> list[str]:
    return [name for name in request.cookies if name.startswith("fairline_ticket_")]


def _next_beat(settings: QueueSettings, wait: Wait | None) -> float:
    """When to beat next: whoever has long to wait may beat less often, well within the timeout."""
    interval = settings.heartbeat_interval_seconds
    if wait is None or wait.seconds <= 60 * interval:
        return interval
    longest = settings.heartbeat_timeout_seconds / 3 or 60.0
    return max(interval, round(min(wait.seconds / 60, longest), 1))
