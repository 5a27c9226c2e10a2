"""The API calls with which people ask to be told by Web Push or e-mail."""

from __future__ import annotations

import msgspec

from fairline.domain.branding import LANGUAGES
from fairline.domain.mail import checked_address
from fairline.domain.opening_steps import current_opening
from fairline.domain.push import Subscription, check
from fairline.domain.queue import QueueId
from fairline.errors import AddressRefused, InvalidRequest, QueueNotFound
from fairline.keeper.outbound import check_literal
from fairline.service.answers import StatusAnswer
from fairline.service.wishes import Wish, Wishes
from fairline.settings import PrivateAddresses
from fairline.web.api.people import gone_with_its_queue
from fairline.web.api.wire import MailRequest, PushRequest
from fairline.web.context import Context
from fairline.web.pages.languages import Language
from fairline.web.server.http import NO_STORE, Request, Response
from fairline.web.server.preferred_language import preferred
from fairline.web.ticket_answers import same_ticket

_push = msgspec.json.Decoder(PushRequest)
_mail = msgspec.json.Decoder(MailRequest)
_DONE = Response(204, headers=NO_STORE)


class Tellings:
    """The API calls of people who want to be told."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service
        self._wishes = Wishes(context.service)

    async def by_push(self, request: Request) -> Response:
        """Tell a browser by Web Push when it is nearly their turn, and when it is; before an opening has started, also
        when it starts."""
        self._context.ticket_claims(request)  # before the body, which is nobody's without a ticket
        body = request.decode(_push)
        subscription = Subscription(body.endpoint, body.p256dh, body.auth)
        try:
            check(subscription)
        except ValueError:
            raise InvalidRequest("p256dh", "must be the keys of a subscription") from None
        try:
            check_literal(body.endpoint, self._context.settings.webhook_private_addresses is PrivateAddresses.ALLOW)
        except AddressRefused:
            raise InvalidRequest("endpoint", "must be at a push service; this address is private") from None
        answer = await self._answer(request, body)
        wishes = _wishes_of(request, body, answer, subscription=subscription)
        await self._wishes.add(QueueId(answer.queue), answer.ticket_status, wishes)
        return _DONE

    async def by_mail(self, request: Request) -> Response:
        """Tell by e-mail when it is nearly their turn, and when it is; before an opening has started, also when it
        starts."""
        self._context.ticket_claims(request)
        body = request.decode(_mail)
        if not self._context.settings.smtp_url:
            raise InvalidRequest("email", "cannot be used: this server sends no mail (smtp_url is not set)")
        email = checked_address(body.email)
        answer = await self._answer(request, body)
        wishes = _wishes_of(request, body, answer, email=email)
        at_most = answer.settings.join_limit_per_email
        await self._wishes.add_mail(QueueId(answer.queue), answer.ticket_status, wishes, email, at_most)
        return _DONE

    async def _answer(self, request: Request, body: PushRequest | MailRequest) -> StatusAnswer:
        """The status of the ticket that asks."""
        if (body.place is None) == (body.minutes is None):
            raise InvalidRequest("place", "Send either place or minutes.")
        claims = self._context.ticket_claims(request)
        try:
            beaten = await self._service.heartbeat(QueueId(claims.queue), claims.number, claims.joined)
        except QueueNotFound as error:
            gone_with_its_queue(error)
        return same_ticket(claims, beaten)


def _wishes_of(
    request: Request,
    body: PushRequest | MailRequest,
    answer: StatusAnswer,
    *,
    subscription: Subscription | None = None,
    email: str = "",
) -> list[Wish]:
    language = body.language if body.language in LANGUAGES else preferred(request)
    words = Language(language, answer.settings.texts, walk_in=answer.settings.is_walk_in)

    def wish(title: str, place: int | None, minutes: int | None) -> Wish:
        return Wish(
            queue=answer.queue,
            ticket=answer.ticket_status.number,
            joined=answer.ticket_status.joined,
            place=place,
            minutes=minutes,
            subscription=subscription,
            email=email,
            language=language,
            label=answer.label,
            title=words(title),
            text=f"{answer.settings.name or answer.queue} · {answer.label}",
            url=f"/q/{answer.queue}?lang={language}",
        )

    wishes = [wish("tell_title", body.place, body.minutes), wish("admitted_title", None, None)]
    opening = current_opening(answer.settings)
    if opening is not None and answer.settings.held_back:
        wishes.append(msgspec.structs.replace(wish("tell_started", None, None), opening=opening.id))
    return wishes
