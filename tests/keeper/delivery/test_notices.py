"""Notices on both stores: everyone receives one, in their language, while it is true, and the line waits for no one."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action
from fairline.domain.webhook import Topic
from fairline.keeper.delivery import ROUND_SECONDS, RetryPolicy
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.mail import BOX
from fairline.keeper.notices import MOST_NOTICES
from fairline.service.dead_letters import DeadLetters
from fairline.service.fairline import Fairline
from fairline.service.walk_in import WalkIn as Desk
from fairline.store import DeliveryState, Store
from fairline.web.admin.webhook_manager import WebhookManager
from tests.keeper.delivery.hooks import service_of
from tests.keeper.delivery.notices import ALL, PUBLIC, gateway, join, kept, mailer, told, until_empty
from tests.mailbox import Mailbox
from tests.receiver import FINE, Receiver
from tests.web.inside import until


@pytest.fixture
async def service(store: Store) -> AsyncIterator[Fairline]:
    made = service_of(store)
    yield made
    await made.close()


@pytest.fixture
def queue_settings() -> dict[str, Any]:
    """A walk-in line that sends every notice."""
    return {
        "name": "The Bakery",
        "admission": "manual",
        "heartbeat_timeout_seconds": 0,
        "ticket_prefix": "DEMO",
        "notices": ALL,
        "notice_place": 2,
    }


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox()
    yield made
    made.down()


async def test_everyone_is_told_once_in_their_language(
    service: Fairline, queue: QueueId, receiver: Receiver, mailbox: Mailbox
) -> None:
    await gateway(service.store, receiver)
    async with kept(service, 3, mailer=mailer(mailbox)):
        await join(service, queue, "Ada", phone="+41446681800", language="de")
        await join(service, queue, "Bob", email="bob@example.com", language="fr-CA")
        await join(service, queue, "Cy", phone="+41446681801", email="cy@example.com")
        await join(service, queue, "Nobody")
        await until(lambda: {("nearly", 1), ("nearly", 2)} <= set(told(receiver)))
        await service.call_next(queue, 1, "Desk 2")
        # Cy is second only once Ada was called.
        await until(lambda: ("nearly", 3) in told(receiver) and ("called", 1) in told(receiver))
        await service.act(queue, Action.RECALL, 1)
        await until(lambda: told(receiver).count(("called", 1)) == 2)
        await service.act(queue, Action.RETURN, 1)
        await until(lambda: ("returned", 1) in told(receiver) and len(mailbox.mails) == 4)
    assert Counter(told(receiver)) == Counter(
        {("called", 1): 2, ("returned", 1): 1}
        | {(kind, number): 1 for kind in ("joined", "nearly") for number in (1, 2, 3)}
    )
    called = next(letter.told for letter in receiver.letters if letter.told["notice"] == "called")
    assert called["text"] == (
        f"The Bakery: RDEMO-000001, Sie sind an der Reihe. Bitte gehen Sie zu: Desk 2. {PUBLIC}/q/{queue}"
    )
    assert (called["type"], called["label"], called["desk"], called["url"]) == (
        "notice",
        "RDEMO-000001",
        "Desk 2",
        f"{PUBLIC}/q/{queue}",
    )
    assert called["to"] == {
        "name": "Ada",
        "phone": "+41446681800",
        "email": None,
        "user_id": None,
        "language": "de",
    }
    assert len(set(receiver.ids)) == len(receiver.ids)
    bob, cy = mailbox.texts("bob@example.com"), mailbox.texts("cy@example.com")
    assert sorted(text.partition(".")[0] for text in bob) == [
        "The Bakery : RDEMO-000002, c’est bientôt votre tour",
        "The Bakery : votre numéro est le RDEMO-000002",
    ]
    assert len(cy) == 2
    mail = mailbox.mails[0]
    assert mail.sender == "line@bakery.example"
    assert str(mail.message["From"]) == "The Bakery <line@bakery.example>"
    assert f'<a href="{PUBLIC}/q/{queue}">' in mail.html


async def test_nobody_receives_nearly_your_turn_before_their_number(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await gateway(service.store, receiver)
    await service.configure(queue, {"notice_place": 8})
    for number in range(1, 9):  # both are due at once: no sweep has run yet
        await join(service, queue, f"p{number}", phone=f"+4144668180{number}")
    async with kept(service, 3):
        await until(lambda: len(receiver.letters) == 16)
    heard = told(receiver)
    assert [n for n in range(1, 9) if heard.index(("nearly", n)) < heard.index(("joined", n))] == []


async def test_one_mailbox_and_one_phone_have_a_limit_of_notices_an_hour_over_all_queues(
    service: Fairline, queue: QueueId, queue_settings: dict[str, Any], receiver: Receiver, mailbox: Mailbox
) -> None:
    await gateway(service.store, receiver)
    queues = [queue, QueueId(f"{queue}-2")]
    await service.store.create(queues[1], checked(queue_settings))
    unlimited = {"notices": ("joined",), "join_limit_per_phone": 0, "join_limit_per_email": 0}
    for each in queues:
        await service.configure(each, unlimited)
    name, phone = f"ada{secrets.token_hex(6)}", "+41446681800"
    async with kept(service, 2, mailer=mailer(mailbox)) as outcomes:
        for number in range(MOST_NOTICES + 6):
            email = f"{name}+{number}@example.com"
            await join(service, queues[number % 2], f"p{number}", email=email, phone=phone)
        await until(lambda: outcomes["mail", "limited"] == outcomes["webhook", "limited"] == 6)
        await until(lambda: outcomes["mail", "sent"] == outcomes["webhook", "sent"] == MOST_NOTICES)
        await join(service, queue, "Bob", email="bob@example.com", phone="+41446681801")
        await join(service, queue, "guest", staff=True, email=f"{name}@example.com", phone=phone)
        await until(lambda: mailbox.texts("bob@example.com") and mailbox.texts(f"{name}@example.com"))
        await until(lambda: outcomes["webhook", "sent"] == MOST_NOTICES + 2)
        await until_empty(service.store, BOX)
    assert len(mailbox.mails) == len(receiver.letters) == MOST_NOTICES + 2
    await service.store.delete(queues[1])


async def test_a_receiver_that_was_down_is_told_after_it_is_back_once(
    service: Fairline, queue: QueueId, receiver: Receiver, mailbox: Mailbox
) -> None:
    await gateway(service.store, receiver)
    receiver.down()
    mailbox.down()
    async with kept(service, 2, mailer=mailer(mailbox)) as outcomes:
        for number in range(1, 5):
            await join(service, queue, f"p{number}", phone=f"+4144668180{number}", email=f"p{number}@example.com")
        await until(lambda: outcomes["webhook", "retried"] > 8 and outcomes["mail", "retried"] > 8)
        assert [ticket.number for ticket in await service.call_next(queue)] == [1]  # the line does not wait for anyone
        # What was read before the call is sent as true: it must have failed before someone listens again.
        await until(lambda: outcomes["webhook", "overtaken"] == outcomes["mail", "overtaken"] == 1)
        receiver.up()
        mailbox.up()
        await until(lambda: {("called", 1), ("nearly", 3), ("joined", 4)} <= set(told(receiver)))
        await until(lambda: len(mailbox.mails) == 7)
        store = service.store
        hook = (await store.registry.webhooks())[0]
        await until_empty(store, hook.id, BOX)
    # Nobody receives "nearly your turn" after having been called.
    assert Counter(told(receiver)) == Counter(
        [("joined", n) for n in (1, 2, 3, 4)] + [("nearly", n) for n in (2, 3)] + [("called", 1)]
    )
    assert Counter(mail.to for mail in mailbox.mails) == {
        "p1@example.com": 2,
        "p2@example.com": 2,
        "p3@example.com": 2,
        "p4@example.com": 1,
    }
    assert outcomes["webhook", "overtaken"] == outcomes["mail", "overtaken"] == 1


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_after_a_minute_in_which_nobody_could_be_reached_everyone_is_told_once(
    service: Fairline, queue: QueueId, receiver: Receiver, mailbox: Mailbox
) -> None:
    """In real time, by keepers as they are: what was tried five times in vain is tried again a minute later."""
    now = await service.store.settings(queue)
    told_of = checked({"notices": ("joined", "called")}, now.settings)
    await service.store.configure(queue, told_of, now.version)
    hook = await gateway(service.store, receiver)
    receiver.down()
    mailbox.down()
    loop = asyncio.get_running_loop()
    people = range(1, 31)
    async with kept(
        service, 2, mailer=mailer(mailbox), retry_policy=RetryPolicy(), round_seconds=ROUND_SECONDS
    ) as outcomes:
        began = loop.time()
        for number in people:
            await join(service, queue, f"p{number}", phone=f"+414466818{number:02}", email=f"p{number}@example.com")
            await service.call_next(queue, desk="Desk 2")
            await asyncio.sleep(began + 2 * number - loop.time())
        assert loop.time() - began >= 60
        assert outcomes["webhook", "retried"] >= 60 <= outcomes["mail", "retried"]
        assert outcomes["webhook", "sent"] == outcomes["mail", "sent"] == 0
        receiver.up()
        mailbox.up()
        await until_empty(service.store, hook.id, BOX, seconds=150)
    everyone = Counter((notice, number) for number in people for notice in ("joined", "called"))
    assert Counter(told(receiver)) == everyone
    assert len(set(receiver.ids)) == len(everyone)
    assert Counter(mail.to for mail in mailbox.mails) == {f"p{number}@example.com": 2 for number in people}
    assert outcomes["webhook", "sent"] == outcomes["mail", "sent"] == len(everyone)
    assert not outcomes["webhook", "dead"]
    assert not outcomes["mail", "dead"]


async def test_nearly_is_told_late_rather_than_never_but_once_across_restarts(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await gateway(service.store, receiver, Topic.NOTICE)
    await service.configure(queue, {"notices": ("nearly",)})
    for number in range(1, 4):
        await join(service, queue, f"p{number}", phone=f"+4144668180{number}")
    for _ in range(3):  # keepers come and go
        async with kept(service, 2):
            await until(lambda: len(receiver.letters) == 2)
    assert sorted(told(receiver)) == [("nearly", 1), ("nearly", 2)]
    await service.act(queue, Action.HOLD, 1)
    async with kept(service):
        await until(lambda: len(receiver.letters) == 3)
        await service.act(queue, Action.RELEASE, 1)
        await service.configure(queue, {"notice_place": 3})
        await join(service, queue, "p4", phone="+41446681804")
        await service.call_next(queue)
        await until(lambda: ("nearly", 4) in told(receiver))
    assert sorted(told(receiver)) == [("nearly", 1), ("nearly", 2), ("nearly", 3), ("nearly", 4)]
    positions = {letter.told["ticket"]: letter.told["position"] for letter in receiver.letters}
    assert positions == {1: 1, 2: 2, 3: 2, 4: 3}


async def test_where_nothing_moves_the_store_is_asked_for_no_more_than_that(
    service: Fairline, queue: QueueId, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway(service.store, receiver)
    await join(service, queue, "Ada", phone="+41446681800")
    asked: Counter[str] = Counter()
    dispatch = Dispatch(service, private=True, round_seconds=0.02)
    for name in ("note_nearly", "settings", "events", "look_up"):
        was = getattr(service.store, name)

        async def counted(*args: Any, name: str = name, was: Any = was) -> Any:
            asked[name] += 1
            return await was(*args)

        monkeypatch.setattr(service.store, name, counted)
    for _ in range(3):
        await dispatch.take()  # settles
    asked.clear()
    for _ in range(5):
        await dispatch.take()
    assert asked == {}


async def test_whom_staff_put_in_line_takes_up_the_ticket_by_the_link(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await gateway(service.store, receiver)
    async with kept(service):
        await join(service, queue, "Ada", staff=True, phone="+41446681800")
        await until(lambda: ("joined", 1) in told(receiver))
        url = receiver.letters[0].told["url"]
        assert url.startswith(f"{PUBLIC}/join/{queue}/move#")
        assert receiver.letters[0].told["text"].endswith(url)
        taken = await Desk(service).moved(url.partition("#")[2], "her phone")
        assert taken.ticket_status.number == 1
        await service.call_next(queue)
        await until(lambda: ("called", 1) in told(receiver))
    assert receiver.letters[-1].told["url"] == f"{PUBLIC}/q/{queue}"


async def test_who_is_sent_on_is_told_where_to(service: Fairline, queue: QueueId, receiver: Receiver) -> None:
    await gateway(service.store, receiver)
    other = QueueId(f"{queue}-other")
    await service.create(other, {"name": "The Café", "admission": "manual", "ticket_prefix": "CAFE"})
    try:
        async with kept(service):
            await join(service, queue, "Ada", staff=True, phone="+41446681800", language="es")
            await until(lambda: ("joined", 1) in told(receiver))
            await Desk(service).transfer(queue, 1, other)
            await until(lambda: ("transferred", 1) in told(receiver))
        letter = receiver.letters[-1].told
        assert letter["text"].startswith("The Bakery: le hemos pasado a The Café. Su número allí es RCAFE-000001.")
        taken = await Desk(service).moved(letter["url"].partition("#")[2], "her phone")
        assert (taken.queue, taken.ticket_status.number) == (other, 1)
    finally:
        await service.delete(other)


async def test_without_personal_data_a_notice_says_neither_who_nor_the_link(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await gateway(service.store, receiver, Topic.NOTICE, Topic.JOINED, person=False)
    async with kept(service):
        await join(service, queue, "Ada", staff=True, phone="+41446681800")
        await until(lambda: len(receiver.letters) == 3)
    assert sorted(receiver.types()) == ["joined", "notice", "notice"]
    assert all(b"4466818" not in letter.body and b"move" not in letter.body for letter in receiver.letters)
    notice = next(letter.told for letter in receiver.letters if letter.told["type"] == "notice")
    assert (notice["to"], notice["url"], notice["label"]) == (None, None, "RDEMO-000001")


async def test_only_who_asks_for_notices_has_them_and_only_of_what_the_queue_tells(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await WebhookManager(service.store, private=True).create(receiver.url, queue, (), True, active=True)
    await gateway(service.store, receiver)
    await service.configure(
        queue, {"notices": ("called",), "texts": {"notice_called.de": "Los, {label}! {nonsense} {}"}}
    )
    async with kept(service):
        await join(service, queue, "Ada", phone="+41446681800", language="de")
        await service.call_next(queue)
        await until(lambda: "notice" in receiver.types() and "called" in receiver.types())
    assert Counter(receiver.types())["notice"] == 1
    (notice,) = [letter.told for letter in receiver.letters if letter.told["type"] == "notice"]
    assert notice["text"] == f"Los, RDEMO-000001! {{nonsense}} {{}} {PUBLIC}/q/{queue}"


async def test_mail_refused_for_now_is_tried_again_and_refused_for_good_is_a_dead_letter(
    service: Fairline, queue: QueueId, mailbox: Mailbox
) -> None:
    await service.configure(queue, {"notices": ("joined",)})

    def refuse(line: str) -> str | None:
        if line.startswith("RCPT TO:<bob@"):
            return "550 no bob@example.com here"
        return "451 later, ada@example.com" if line.startswith("RCPT") and mailbox.tries < 4 else None

    mailbox.refuse = refuse
    dead_letters = DeadLetters(service.store)
    with capture_logs() as logs:
        async with kept(service, mailer=mailer(mailbox)) as outcomes:
            await join(service, queue, "Bob", email="bob@example.com")
            await join(service, queue, "Ada", email="ada@example.com")
            await until(lambda: len(mailbox.mails) == 1 and outcomes["mail", "dead"] == 1)
            await until_empty(service.store, BOX)
            assert outcomes["mail", "retried"] >= 1
            (dead,) = (await dead_letters.page(BOX, DeliveryState.DEAD, None, 10)).deliveries
            assert (dead.error, dead.tries) == ("answered 550", 1)
            mailbox.refuse = lambda _: None
            assert await dead_letters.replay_all(BOX) == 1
            await until(lambda: len(mailbox.mails) == 2)
    assert [mail.to for mail in mailbox.mails] == ["ada@example.com", "bob@example.com"]
    assert "example.com" not in str(logs)


async def test_what_is_not_true_any_more_is_not_sent_again_from_the_dead(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    hook = await gateway(service.store, receiver)
    await service.configure(queue, {"notices": ("joined", "called")})
    receiver.answer = lambda _: (410, {}, b"")
    dead_letters = DeadLetters(service.store)
    async with kept(service) as outcomes:
        await join(service, queue, "Ada", phone="+41446681800")
        await service.call_next(queue)
        await until(lambda: outcomes["webhook", "dead"] == 2)
        await service.begin(queue, 1)
        receiver.answer = lambda _: FINE
        receiver.letters.clear()
        await dead_letters.replay_all(hook.id)
        await until(lambda: told(receiver) == [("joined", 1)])
        await until_empty(service.store, hook.id)
    assert told(receiver) == [("joined", 1)]
