"""A page that stands in for the site of a queue that has none yet: it accepts the session token as a site would.

Set as `target_url`, it lets people try a queue from the waiting page to the inside and out again. The queue `demo` of a
new server leads here.
"""

from __future__ import annotations

import time

from fairline.domain.queue import QueueId
from fairline.domain.tokens import SessionClaims
from fairline.errors import FairlineError, QueueNotFound, SessionTaken, StoreError, TokenInvalid
from fairline.web.api.people import named_queue
from fairline.web.cookies import SESSION_COOKIE
from fairline.web.pages.addresses import arrival_url, page_url
from fairline.web.pages.languages import preferred
from fairline.web.pages.page_access import Pages, fields_of, see_other
from fairline.web.pages.page_content import PageContent
from fairline.web.server.http import Request, Response, other_token


class ArrivalPages(Pages):
    """The page at /arrived/{queue}."""

    async def show(self, request: Request) -> Response:
        """Take the session token out of the address, or show the page to a visitor with one. Others go to the line."""
        name = request.params["queue"]
        try:
            queue = named_queue(name)
            claims = self._claims(request, queue)
            if SESSION_COOKIE in request.args:
                by = self._context.sessions.arriving_client(request, claims, _cookie(queue))
                await self._service.start(queue, claims.number, by, claims.joined)
                token, lasts = self._context.sessions.token_for_client(claims, by), claims.expires - time.time()
                kept = self._context.cookie(request, _cookie(queue), token, lasts)
                return see_other(arrival_url(queue, self._lang(request)), (kept,))
            by = claims.client or self._context.sessions.browser_at_address(request)
            answer = await self._service.touch(queue, claims.number, by, claims.joined)
        except (QueueNotFound, StoreError, SessionTaken) as error:
            return await self._access.refuse(request, name, error, path=page_url(name))
        except FairlineError:
            return see_other(page_url(name, self._lang(request)))
        path = arrival_url(queue)
        content = PageContent(
            "arrived", queue, preferred(request), answer.settings, self._context.answers.ticket(answer), path=path
        )
        return await self._access.drawing.draw(content, 200, answer.settings)

    async def leave(self, request: Request) -> Response:
        """The button to leave: the place inside is free at once."""
        name = request.params["queue"]
        try:
            queue = named_queue(name)
            if self._is_foreign(request) or fields_of(request).get("do") != "leave":
                return see_other(arrival_url(queue, self._lang(request)))
            claims = self._claims(request, queue)
            by = claims.client or self._context.sessions.browser_at_address(request)
            await self._service.leave(queue, claims.number, claims.joined, by)
        except (QueueNotFound, StoreError) as error:
            return await self._access.refuse(request, name, error, path=arrival_url(name))
        except FairlineError:  # the session has ended already, and the waiting page says so
            pass
        return see_other(page_url(name, self._lang(request)))

    def _claims(self, request: Request, queue: QueueId) -> SessionClaims:
        token = other_token(request, _cookie(queue), SESSION_COOKIE)
        claims: SessionClaims = self._service.keyring.sessions.check(token, time.time())
        if claims.queue != queue:
            raise TokenInvalid("it is for another queue")
        return claims

    def _lang(self, request: Request) -> str:
        return preferred(request) if "lang" in request.args else ""


def _cookie(queue: QueueId) -> str:
    """A cookie of its own: a site on the same host uses the usual one."""
    return f"fairline_arrived_{queue}"
