"""Session tokens, which the protected site checks: how they are issued and read, and which client each belongs to.

The token of a link is issued when an admitted person reads their status. It does not name a client: the first client
that starts the session with it receives a token of its own, so that a copied link lets nobody else in.
"""

from __future__ import annotations

import time
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex

from msgspec.structs import replace

from fairline.caches import SHARES, BoundedCache, cached, size_in_bytes
from fairline.domain.queue import QueueId
from fairline.domain.tokens import ClientClaims, SessionClaims
from fairline.errors import TokenError
from fairline.service.answers import StatusAnswer
from fairline.service.fairline import Fairline
from fairline.web.cookies import CLIENT_COOKIE, SESSION_COOKIE, VISITOR_COOKIE
from fairline.web.server.http import Headers, Request, cookie, other_token
from fairline.web.server.trusted_proxies import TrustedProxies


class SessionTokens:
    """Issues and checks the session tokens of one worker."""

    def __init__(self, service: Fairline, proxies: TrustedProxies) -> None:
        self._service = service
        self._proxies = proxies
        # A client that sends no cookie back receives the same one each time.
        self._client_token = cached(SHARES["clients"], self._sign_client)
        # Recent tokens by ticket: reading a status again returns the same token.
        self._issued = BoundedCache[tuple[QueueId, int, int, int | None, int], str](SHARES["sessions"])

    # Tokens

    def token(self, answer: StatusAnswer) -> str:
        """The token of an admitted ticket, issued when it is first read. A ticket that is called again receives a new
        one, since a token is valid from the call on."""
        ticket_status = answer.ticket_status
        key = (
            answer.queue,
            ticket_status.number,
            ticket_status.joined,
            ticket_status.deadline,
            self._service.keyring.generation,
        )
        token = self._issued.get(key)
        if token is None:
            now = int(time.time())
            lasts = answer.settings.claim_seconds + answer.settings.session_max_seconds
            token = self._service.keyring.sessions.sign(
                SessionClaims(
                    queue=answer.queue,
                    subject=answer.label,
                    number=ticket_status.number,
                    joined=ticket_status.joined,
                    issued=now,
                    expires=now + int(lasts),
                )
            )
            self._issued.put(key, token, size_in_bytes(key) + size_in_bytes(token))
        return token

    def token_for_client(self, claims: SessionClaims, client: str) -> str:
        """The token that replaces the one of a link: it belongs to the client that came with the link."""
        return self._service.keyring.sessions.sign(replace(claims, client=client))

    def claims(self, request: Request) -> SessionClaims:
        """Whose session a call is about, or 401."""
        signer, head = self._service.keyring.sessions, request.head
        token = head.bearer
        if not token or (head.cookies.get(SESSION_COOKIE) and not signer.knows(token)):
            # There is no Authorization header, or it holds a token of the site itself.
            token = other_token(request, SESSION_COOKIE, SESSION_COOKIE)
        return signer.check(token, time.time())

    # Clients

    def proven_client(
        self, request: Request, claims: SessionClaims, session_cookie: str = SESSION_COOKIE
    ) -> str | None:
        """Which client it is, if that is proven: by a token of its own, or by the cookie that names it for this
        session."""
        if claims.client:
            return claims.client
        cookies, now = request.head.cookies, time.time()
        if token := cookies.get(CLIENT_COOKIE):
            with suppress(TokenError):
                client = self._service.keyring.clients.check(token, now)
                if (client.queue, client.number) == (claims.queue, claims.number):
                    return client.by
        if token := cookies.get(session_cookie):
            with suppress(TokenError):
                own = self._service.keyring.sessions.check(token, now)
                if (own.queue, own.number, own.joined) == (claims.queue, claims.number, claims.joined):
                    return own.client or None
        return None

    def client(self, request: Request, claims: SessionClaims) -> str:
        """Which client makes a call: the proven one, or else this browser at this address."""
        return self.proven_client(request, claims) or self.browser_at_address(request)

    def arriving_client(self, request: Request, claims: SessionClaims, session_cookie: str = SESSION_COOKIE) -> str:
        """Which browser comes with a link: the proven one, or else a new one, so that a link lets in one browser
        however many have it. From then on the browser is known by its own token, never by the link."""
        return self.proven_client(request, claims, session_cookie) or token_hex(12)

    def starting_client(self, request: Request, claims: SessionClaims) -> str:
        """The same for a program that starts a session. A repeated call with the same idempotency key is the same
        client. A client that sends our visitor cookie will send it again, and continues with it or with its own token;
        any other client is also known by its address and User-Agent."""
        secret = self._service.identity.key(request.head.text(b"idempotency-key"), "start").hex() or token_hex(12)
        by_cookie = VISITOR_COOKIE in request.head.cookies
        return self.proven_client(request, claims) or (
            secret if by_cookie else f"{secret} {self.browser_at_address(request)}"
        )

    def browser_at_address(self, request: Request) -> str:
        """A client without our cookie: a digest of its address and User-Agent."""
        address, agent = self._proxies.address(request), request.head.header(b"user-agent")
        return sha256(b"%b %b" % ((address or "").encode(), agent or b"")).hexdigest()[:24]

    def client_cookies(self, request: Request, claims: SessionClaims, client: str) -> Headers:
        """The cookie that lets the same client continue, from another address too."""
        generation = self._service.keyring.generation
        token = self._client_token((claims.queue, claims.number, claims.expires, client, generation))
        lasts = claims.expires - time.time()
        return (cookie(CLIENT_COOKIE, token, lasts, secure=self._proxies.is_https(request)),)

    def _sign_client(self, key: tuple[str, int, int, str, int]) -> str:
        queue, number, expires, client, _ = key
        return self._service.keyring.clients.sign(ClientClaims(queue=queue, number=number, by=client, expires=expires))
