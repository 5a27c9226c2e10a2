"""Mail: whether it is set up, and what did not arrive."""

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

#: What the server of mail has to answer a trial: less than whoever asked for it waits for us.
TRIAL_SECONDS = 8.0


class MailAnswer(Struct, frozen=True, kw_only=True):
    """How mail is set up here, and how much of it there is."""

    set_up: bool
    """Whether this server has an `smtp_url`."""
    sender: str
    """`mail_from`."""
    pending: int
    """Still to be sent, or tried again."""
    dead: int
    """Dead letters: given up, and kept for a week."""


class MailTrial(Strict, frozen=True):
    """Where a trial goes."""

    to: Annotated[str, Meta(min_length=1, max_length=LONGEST_ADDRESS)]


class MailCalls(OperatorCalls):
    """The operators' calls about mail."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._dead_letters = DeadLetters(operators.service.store)

    def rows(self) -> list[Operation]:
        """Its calls."""
        row = self._operators.row
        return [
            row(
                Role.VIEWER, "GET /mail", "How mail is set up, and how much of it waits.", self.show, {200: MailAnswer}
            ),
            row(
                Role.ADMIN,
                "POST /mail/test",
                "Send a letter to an address now, and say what became of it.",
                self.test,
                {200: PingAnswer},
                takes=MailTrial,
                problems=("mail_not_set_up",),
            ),
            *delivery_rows(self._operators, "/mail", self.deliveries, self.replay_one, self.replay_all),
        ]

    async def show(self, call: Call) -> Response:
        """How it is set up."""
        settings = self._operators.context.settings
        (counts,) = await self._dead_letters.counts([BOX])
        answer = MailAnswer(
            set_up=bool(settings.smtp_url), sender=settings.mail_from, pending=counts.pending, dead=counts.dead
        )
        return private(200, answer)

    async def test(self, call: Call) -> Response:
        """Send a letter past the outbox."""
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
        """A page of what is pending, or dead."""
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
