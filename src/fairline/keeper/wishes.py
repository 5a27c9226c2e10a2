"""Wishes: tells people who asked for it on their page when it is nearly their turn, when it is, and that an opening has
started.

Each wish is a delivery in an outbox, with the subscription of the browser or the e-mail address. It is looked at again
and again until its moment comes, and forgotten with its ticket.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from fairline.domain.events import Event
from fairline.domain.mail import mailbox, message
from fairline.domain.notices import Notice, NoticeKind, Recipient
from fairline.domain.notices.words import filled, number, words
from fairline.domain.opening import OpeningState, Phase
from fairline.domain.opening_steps import current_opening
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Status
from fairline.errors import QueueNotFound, TicketNotFound
from fairline.keeper import mail, push
from fairline.keeper.delivery import Outcome
from fairline.keeper.mail import Mailer
from fairline.keeper.notices import NoticeWriter
from fairline.keeper.push import Pusher
from fairline.service.answers import StatusAnswer
from fairline.service.fairline import Fairline
from fairline.service.wishes import MAIL_BOX, PUSH_BOX, Wish
from fairline.store import Delivery, NewDelivery

#: How often a wish is looked at: often when its moment is near.
SOONEST_SECONDS, LATEST_SECONDS = 1.0, 30.0
#: How often while an order is drawn.
DRAWING_SECONDS = 3.0
_wish = msgspec.json.Decoder(Wish).decode
#: The openings whose start is still to be told.
_TO_COME = (OpeningState.SCHEDULED, OpeningState.PREQUEUE, OpeningState.DRAWING)


class WishBox:
    """An outbox of wishes. No event goes into it: pages put them there. `tell` sends a wish whose moment has come."""

    def __init__(
        self, box: str, kind: str, service: Fairline, tell: Callable[[Wish, StatusAnswer], Awaitable[Outcome]]
    ) -> None:
        self.id = box
        self.kind = kind
        self._service = service
        self._tell = tell

    def covers(self, queue: QueueId) -> bool:
        """False for every queue."""
        return False

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """None."""
        return []

    async def send(self, delivery: Delivery) -> Outcome:
        """Tell if the moment has come."""
        wish = _wish(delivery.payload)
        try:
            answer = await self._service.status(QueueId(wish.queue), wish.ticket)
        except (QueueNotFound, TicketNotFound):
            return Outcome(sent=False, overtaken=True)
        moment = _moment(wish, answer)
        if not moment.here:
            return Outcome(sent=False, overtaken=moment.over, later=None if moment.over else moment.later)
        return await self._tell(wish, answer)


class Teller:
    """Tells people, by Web Push or mail."""

    def __init__(
        self,
        notice_writer: NoticeWriter,
        public_url: str = "",
        pusher: Pusher | None = None,
        mailer: Mailer | None = None,
    ) -> None:
        self._notice_writer = notice_writer
        self._public_url = public_url
        self._pusher = pusher
        self._mailer = mailer

    def boxes(self, service: Fairline) -> list[WishBox]:
        """The outboxes of wishes, by what this server can send."""
        by_push = [WishBox(PUSH_BOX, push.KIND, service, self._push)] if self._pusher else []
        by_mail = [WishBox(MAIL_BOX, mail.KIND, service, self._mail)] if self._mailer else []
        return by_push + by_mail

    async def _push(self, wish: Wish, answer: StatusAnswer) -> Outcome:
        assert self._pusher is not None
        assert wish.subscription is not None
        body, tag = _text(wish, answer), f"{wish.queue} {wish.ticket}"
        message = {"title": wish.title, "body": body, "tag": tag, "url": wish.url}
        return await self._pusher.send(wish.subscription, msgspec.json.encode(message))

    async def _mail(self, wish: Wish, answer: StatusAnswer) -> Outcome:
        """Send a mail, unless the mailbox has received too many. One that is not accepted is sent again while its
        moment lasts; after a final refusal the address is forgotten."""
        assert self._mailer is not None
        if not await self._notice_writer.may_tell(mail.BOX, mailbox(wish.email), wish.id):
            return Outcome(sent=False, limited=True)
        outcome = await self._mailer.send(message(self._notice(wish, answer), self._mailer.sender))
        if outcome.sent:
            return outcome
        return Outcome(sent=False, overtaken=outcome.final, later=None if outcome.final else LATEST_SECONDS)

    def _notice(self, wish: Wish, answer: StatusAnswer) -> Notice:
        url = self._public_url + wish.url if self._public_url else None
        kind = NoticeKind.CALLED if wish.is_turn else NoticeKind.NEARLY
        return Notice(
            id=wish.id,
            notice=NoticeKind.OPENING_STARTED if wish.opening else kind,
            queue=wish.queue,
            at=datetime.now(UTC),
            ticket=wish.ticket,
            label=wish.label,
            position=None,
            desk=None,
            subject=f"{wish.title}: {wish.label}",
            text=f"{wish.title}. {_text(wish, answer)} {url or ''}".strip(),
            url=url,
            to=Recipient(name=None, phone=None, email=wish.email, user_id=None, language=wish.language),
        )


class _Moment(Struct):
    """Whether the moment of a wish has come (`here`), is over, or is still to come."""

    here: bool = False
    over: bool = False
    later: float = LATEST_SECONDS


def _text(wish: Wish, answer: StatusAnswer) -> str:
    """The text of a wish; at the start of an opening with the rank that was drawn."""
    ticket_status = answer.ticket_status
    drawn = next((each for each in answer.settings.openings if each.id == wish.opening and each.count), None)
    if drawn is None or ticket_status.drawn_in != drawn.id:
        return wish.text
    values = {"rank": number(wish.language, ticket_status.drawn_rank), "count": number(wish.language, drawn.count)}
    return f"{wish.text}. {filled(words(wish.language)['rank'], values)}"


def _moment(wish: Wish, answer: StatusAnswer) -> _Moment:
    ticket_status = answer.ticket_status
    if ticket_status.joined != wish.joined or ticket_status.status not in (Status.WAITING, Status.ADMITTED):
        return _Moment(over=True)
    called = ticket_status.status is Status.ADMITTED
    if wish.is_turn and called:
        return _Moment(here=True)
    if called:
        return _Moment(over=True)
    state = next((each.state for each in answer.settings.openings if each.id == wish.opening), None)
    if answer.settings.held_back or state is OpeningState.SCHEDULED:
        # An opening that was deleted, or has ended, is not told any more.
        return _Moment(later=_until_start(answer), over=bool(wish.opening) and state not in _TO_COME)
    if wish.opening:
        started = state is OpeningState.OPEN
        return _Moment(here=started, over=not started)
    if wish.is_turn:
        return _Moment(later=_pause(answer, 0))
    position, wait = ticket_status.position, answer.wait
    if not position:  # on hold
        return _Moment()
    near = position <= wish.place if wish.place else wait is not None and wait.seconds <= 60 * (wish.minutes or 0)
    return _Moment(here=True) if near else _Moment(later=_pause(answer, 60 * (wish.minutes or 0)))


def _until_start(answer: StatusAnswer) -> float:
    """Seconds until it is worth looking again before an opening has started. While the order is drawn, the store is
    left to the draw."""
    opening = current_opening(answer.settings)
    if opening is None:
        return LATEST_SECONDS
    if opening.phase is Phase.DRAWING:
        return DRAWING_SECONDS
    left = (opening.closes_ms - answer.snapshot.now) / 1000
    return min(max(left, SOONEST_SECONDS), LATEST_SECONDS)


def _pause(answer: StatusAnswer, before: float) -> float:
    """Seconds until it is worth looking again: a tenth of the wait."""
    position, wait = answer.ticket_status.position or 1, answer.wait
    pause = (wait.seconds - before) / 10 if wait else position / 5
    return min(max(pause, SOONEST_SECONDS), LATEST_SECONDS)
