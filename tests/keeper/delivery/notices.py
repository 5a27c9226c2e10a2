"""A walk-in line that sends notices, and the keepers that send them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.mail import Relay, Security
from fairline.domain.queue import QueueId
from fairline.domain.webhook import Topic, Webhook
from fairline.keeper.delivery import RetryPolicy
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.mail import Mailer
from fairline.service.answers import JoinAnswer
from fairline.service.fairline import Fairline
from fairline.store import Store
from tests.backends import HOST, PATIENCE_SECONDS
from tests.keeper.delivery.hooks import at_work, hook_for
from tests.mailbox import Mailbox
from tests.receiver import Receiver
from tests.web.inside import until

#: As patient as a test can be.
QUICK = RetryPolicy(tries=60, first=0.05, factor=1.2, most=0.1)
ALL = ("joined", "nearly", "called", "returned", "transferred")
PUBLIC = "https://line.example"


def mailer(mailbox: Mailbox) -> Mailer:
    relay = Relay(host=HOST, port=mailbox.port, security=Security.NONE)
    return Mailer(relay, "The Bakery <line@bakery.example>")


async def gateway(store: Store, receiver: Receiver, *topics: Topic, person: bool = True) -> Webhook:
    return await hook_for(store, receiver, None, *(topics or (Topic.NOTICE,)), person=person)


@asynccontextmanager
async def kept(service: Fairline, keepers: int = 1, **options: Any) -> AsyncIterator[Counter[tuple[str, str]]]:
    """This many keepers deliver from the outboxes; counts what became of the tries."""
    outcomes: Counter[tuple[str, str]] = Counter()
    given = {"private": True, "public_url": PUBLIC, "round_seconds": 0.02, "retry_policy": QUICK, **options}
    made = [Dispatch(service, on_outcome=lambda *what: outcomes.update([what]), **given) for _ in range(keepers)]
    await made[0].take()  # the outbox of mail is open from here on
    async with at_work(*made):
        yield outcomes


async def join(service: Fairline, queue: QueueId, who: str, *, staff: bool = False, **said: Any) -> JoinAnswer:
    caller = Caller(staff="desk") if staff else Caller(visitor=who)
    return await service.join(queue, JoinRequest(name=who, **said), caller)


def told(receiver: Receiver) -> list[tuple[str, int]]:
    return [(letter.told["notice"], letter.told["ticket"]) for letter in receiver.letters]


async def until_empty(store: Store, *boxes: str, seconds: float = PATIENCE_SECONDS) -> None:
    async def is_empty() -> bool:
        return not any(each.pending for each in await store.outbox.counts(boxes))

    await until(is_empty, seconds)
