"""The API call with which a browser asks to be told by Web Push."""

from __future__ import annotations

import msgspec

from fairline.domain.branding import LANGUAGES
from fairline.domain.push import Subscription, check
from fairline.domain.queue import QueueId
from fairline.errors import AddressRefused, InvalidRequest, QueueNotFound
from fairline.keeper.outbound import check_literal
from fairline.service.answers import StatusAnswer
from fairline.service.push import PushWish, PushWishes
from fairline.settings import PrivateAddresses
from fairline.web.api.people import gone_with_its_queue
from fairline.web.api.wire import PushRequest
from fairline.web.context import Context
from fairline.web.pages.languages import Language
from fairline.web.server.http import NO_STORE, Request, Response
from fairline.web.server.preferred_language import preferred
from fairline.web.ticket_answers import same_ticket

_push = msgspec.json.Decoder(PushRequest)
_DONE = Response(204, headers=NO_STORE)


class Pushes:
    """The API call of browsers that want to be told."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service
        self._push_wishes = PushWishes(context.service)

    async def subscribe(self, request: Request) -> Response:
        """Tell a browser by Web Push when it is nearly their turn, and when it is."""
        claims = self._context.ticket_claims(request)
        body = request.decode(_push)
        queue = QueueId(claims.queue)
        subscription = Subscription(body.endpoint, body.p256dh, body.auth)
        if (body.place is None) == (body.minutes is None):
            raise InvalidRequest("place", "Send either place or minutes.")
        try:
            check(subscription)
        except ValueError:
            raise InvalidRequest("p256dh", "must be the keys of a subscription") from None
        try:
            check_literal(body.endpoint, self._context.settings.webhook_private_addresses is PrivateAddresses.ALLOW)
        except AddressRefused:
            raise InvalidRequest("endpoint", "must be at a push service; this address is private") from None
        try:
            answer = same_ticket(claims, await self._service.heartbeat(queue, claims.number, claims.joined))
        except QueueNotFound as error:
            gone_with_its_queue(error)
        await self._push_wishes.add(queue, answer.ticket_status, self._wishes(request, body, answer, subscription))
        return _DONE

    def _wishes(
        self, request: Request, body: PushRequest, answer: StatusAnswer, subscription: Subscription
    ) -> list[PushWish]:
        language = body.language if body.language in LANGUAGES else preferred(request)
        words = Language(language, answer.settings.texts, walk_in=answer.settings.is_walk_in)

        def wish(title: str, place: int | None, minutes: int | None) -> PushWish:
            return PushWish(
                queue=answer.queue,
                ticket=answer.ticket_status.number,
                joined=answer.ticket_status.joined,
                place=place,
                minutes=minutes,
                subscription=subscription,
                title=words(title),
                text=f"{answer.settings.name or answer.queue} · {answer.label}",
                url=f"/q/{answer.queue}?lang={language}",
            )

        return [wish("tell_title", body.place, body.minutes), wish("admitted_title", None, None)]
