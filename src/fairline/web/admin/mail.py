"""The calls about mail: its configuration, a test mail, and mail that was not delivered."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta, Struct

from fairline.domain.mail import LONGEST_ADDRESS, checked_address, relay_of, trial_message
from fairline.errors import MailNotSetUp
from fairline.keeper.mail import BOX, Mailer
from fairline.service.dead_letters import DeadLetters
from fairline.store import Role
from fairline.web.admin.deliveries import PAGE, DeliveryList, PingAnswer, Replayed, delivery_rows, wanted_state
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.wire import Nothing
from fairline.web.api.wire import Strict
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation

#: The time that the mail server has for a test mail: less than the caller waits for the answer.
TRIAL_SECONDS = 8.0


class MailAnswer(Struct, frozen=True, kw_only=True):
    """How mail is configured here, and how much of it is pending or dead."""

    set_up: bool
    """Whether this server has an `smtp_url`."""
    sender: str
    """The setting `mail_from`."""
    pending: int
    """Mails that wait to be sent or tried again."""
    dead: int
    """Dead letters: mails that were given up, kept for a week."""


class MailTrial(Strict, frozen=True):
    """The recipient of a test mail."""

    to: Annotated[str, Meta(min_length=1, max_length=LONGEST_ADDRESS)]


class MailCalls(OperatorCalls):
    """The operators' calls about mail."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._dead_letters = DeadLetters(operators.service.store)

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /mail",
                "How mail is configured, and how much of it waits.",
                self.show,
                {200: MailAnswer},
            ),
            self._row(
                Role.ADMIN,
                "POST /mail/test",
                "Send a test mail now, and answer the outcome.",
                self.test,
                {200: PingAnswer},
                takes=MailTrial,
                problems=("mail_not_set_up",),
            ),
            *delivery_rows(self._operators, "/mail", self.deliveries, self.replay_one, self.replay_all),
        ]

    async def show(self, call: Call) -> Response:
        """How mail is configured."""
        settings = self._operators.context.settings
        (counts,) = await self._dead_letters.counts([BOX])
        answer = MailAnswer(
            set_up=bool(settings.smtp_url), sender=settings.mail_from, pending=counts.pending, dead=counts.dead
        )
        return private(200, answer)

    async def test(self, call: Call) -> Response:
        """Send a test mail directly, without the outbox."""
        address = checked_address(call.take(MailTrial).to, "to")
        settings = self._operators.context.settings
        if not settings.smtp_url:
            raise MailNotSetUp
        mailer = Mailer(relay_of(settings.smtp_url), settings.mail_from)
        began = time.monotonic()
        outcome = await mailer.send(trial_message(address, settings.mail_from), TRIAL_SECONDS)
        await call.record("mail.tested", delivered=outcome.sent)
        return private(200, PingAnswer.of(outcome, time.monotonic() - began))

    async def deliveries(self, call: Call) -> Response:
        """A page of pending mails or dead letters."""
        state = wanted_state(call.request.args)
        page = await self._dead_letters.page(
            BOX, state, call.request.args.get("cursor") or None, call.limit(PAGE, PAGE)
        )
        return private(200, DeliveryList.of(page, state))

    async def replay_one(self, call: Call) -> Response:
        """Send one dead letter again."""
        call.take(Nothing)
        await self._dead_letters.replay(BOX, call.request.params["delivery"])
        await call.record("mail.replayed", count=1)
        return private(200, Replayed(1))

    async def replay_all(self, call: Call) -> Response:
        """Send all dead letters again."""
        call.take(Nothing)
        count = await self._dead_letters.replay_all(BOX)
        await call.record("mail.replayed", count=count)
        return private(200, Replayed(count))
