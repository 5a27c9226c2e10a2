"""What all handlers of one worker share: the service, the settings, and who makes a call with which ticket."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from fairline.domain.join_request import Caller
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.tokens import TicketClaims
from fairline.errors import TokenError
from fairline.service.answers import StatusAnswer
from fairline.service.fairline import Fairline
from fairline.settings import ServerSettings
from fairline.web.api.queue_states import QueueStates
from fairline.web.cookies import ticket_cookie, user_cookie
from fairline.web.pages.renderer import Renderer
from fairline.web.server.http import Headers, Request, cookie, other_token
from fairline.web.server.origins import Origins
from fairline.web.server.preferred_language import preferred
from fairline.web.server.trusted_proxies import TrustedProxies
from fairline.web.session_tokens import SessionTokens
from fairline.web.ticket_answers import TicketAnswers

if TYPE_CHECKING:
    from fairline.web.streams.board_streams import BoardStreams
    from fairline.web.streams.hub import Hub
    from fairline.web.streams.queue_streams import QueueStreams

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?", re.ASCII)


class Context:
    """What the handlers of one worker share."""

    def __init__(self, settings: ServerSettings, service: Fairline) -> None:
        self.settings = settings
        self.service = service
        self.queue_states = QueueStates(service)
        self.proxies = TrustedProxies(settings.trusted_proxies)
        self.origins = Origins(settings, self.proxies)
        self.sessions = SessionTokens(service, self.proxies)
        self.answers = TicketAnswers(service, self.sessions)
        self.hub: Hub | None = None
        self.board_streams: BoardStreams | None = None
        self.queue_streams: QueueStreams | None = None
        self.renderer = Renderer()

    def base_url(self, request: Request) -> str:
        """The address of this server, for QR codes and posters: `public_url`, or the host the browser asked for."""
        if self.settings.public_url:
            return self.settings.public_url
        host = self.proxies.host(request)
        if not _HOST.fullmatch(host):
            return ""
        return f"{'https' if self.proxies.is_https(request) else 'http'}://{host}"

    def caller(
        self,
        request: Request,
        queue: QueueId,
        staff: str | None = None,
        priority: int = 0,
        visitor: str | None = None,
        form: bool = False,
    ) -> Caller:
        """Who makes a call, as far as the request shows."""
        return Caller(
            address=self.proxies.address(request),
            user_agent=request.head.text(b"user-agent"),
            visitor=visitor,
            holds=self._existing_ticket(request, queue),
            staff=staff,
            priority=priority,
            form=form,
            user_token=self.user_token(request, queue) if staff is None else None,
            language=preferred(request),
        )

    def user_token(self, request: Request, queue: QueueId) -> str | None:
        """The user token that a link of the site has left in a cookie."""
        cookies = request.head.cookies
        return (cookies.get(user_cookie(queue)) or None) if cookies else None

    def _existing_ticket(self, request: Request, queue: QueueId) -> tuple[int, int, int] | None:
        """The ticket that the signed ticket cookie proves the caller to hold."""
        cookies = request.head.cookies
        token = cookies.get(ticket_cookie(queue)) if cookies else None
        if not token:
            return None
        try:
            claims = self.service.keyring.tickets.check(token, time.time())
        except TokenError:
            return None
        return (claims.number, claims.joined, claims.moved) if claims.queue == queue else None

    # Ticket tokens

    def ticket_claims(self, request: Request, token: str | None = None) -> TicketClaims:
        """Whose ticket a call is about, or 401."""
        token = token or request.head.bearer
        if token is None:
            queue = request.args.get("queue")
            names = [ticket_cookie(QueueId(queue))] if queue else _ticket_cookies(request)
            token = other_token(request, names[0] if len(names) == 1 else "", "token")
        return self.service.keyring.tickets.check(token, time.time())

    def ticket_cookies(self, request: Request, queue: QueueId, settings: QueueSettings, token: str) -> Headers:
        """The cookie in which a browser keeps a ticket, for as long as its token is valid."""
        seconds = self.service.tokens.seconds(settings)
        return (self.cookie(request, ticket_cookie(queue), token, seconds),)

    def cookie(self, request: Request, name: str, value: str, seconds: float) -> tuple[bytes, bytes]:
        """A cookie; only for https, if the request came by it."""
        return cookie(name, value, seconds, secure=self.proxies.is_https(request))

    def renewed_token(self, claims: TicketClaims, answer: StatusAnswer) -> str | None:
        """A new token once the old one is past half its life."""
        if time.time() - claims.issued < (claims.expires - claims.issued) / 2:
            return None
        return self.service.tokens.token(answer.queue, answer.settings, answer.ticket_status, claims.client)


def _ticket_cookies(request: Request) -> list[str]:
    return [name for name in request.cookies if name.startswith("fairline_ticket_")]
