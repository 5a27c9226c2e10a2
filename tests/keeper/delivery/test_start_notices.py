"""The start of an opening is told to those who asked, with the rank that was drawn, and to nobody before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairline.domain.notices import NoticeKind
from fairline.domain.opening import Phase
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action
from fairline.keeper import start_notices, wishes
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.drawing import Drawing
from fairline.keeper.openings import OpeningKeeper
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings
from fairline.service.wishes import MAIL_BOX, Wish, Wishes
from fairline.store import Store
from tests.keeper.delivery.hooks import at_work, service_of
from tests.keeper.delivery.notices import PUBLIC, gateway, join, kept, mailer, told, until_empty
from tests.mailbox import Mailbox
from tests.receiver import Receiver
from tests.web.inside import until

STARTED = NoticeKind.OPENING_STARTED.value
LATER = 3600.0


@pytest.fixture
async def service(store: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fairline]:
    monkeypatch.setattr(start_notices, "PEOPLE", 2)
    monkeypatch.setattr(start_notices, "PAUSE_SECONDS", 0.02)
    for name in ("SOONEST_SECONDS", "LATEST_SECONDS", "DRAWING_SECONDS"):
        monkeypatch.setattr(wishes, name, 0.02)
    await store.outbox.drop(MAIL_BOX)  # of the tests before
    made = service_of(store)
    yield made
    await made.close()


@pytest.fixture
def queue_settings() -> dict[str, Any]:
    """A line whose people receive a message at the start, and when they are near the front."""
    return {
        "name": "The Sale",
        "admission": "manual",
        "heartbeat_timeout_seconds": 0,
        "ticket_prefix": "SALE",
        "join_limit_per_ip": 0,
        "notices": [STARTED],
        "notice_place": 2,
    }


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox()
    yield made
    made.down()


async def plan(service: Fairline, queue: QueueId, starts_in: float, draw: str = "random") -> str:
    """An opening, whose pre-queue begins at once."""
    now = datetime.fromtimestamp(await service.store.time() / 1000, UTC)
    fields = {
        "prequeue_at": now + timedelta(seconds=0.1),
        "starts_at": now + timedelta(seconds=starts_in),
        "draw": draw,
    }
    return (await Openings(service).create(queue, fields)).opening.id


async def until_phase(service: Fairline, queue: QueueId, phase: Phase) -> None:
    """Take the steps of the opening as they come due, until the queue is in a phase."""
    keeper = OpeningKeeper(service.store, Drawing(service.store))

    async def reached() -> bool:
        await keeper.take(queue)
        return (await service.store.settings(queue)).settings.phase is phase

    await until(reached)


async def ranks(service: Fairline, queue: QueueId) -> dict[int, int]:
    found = (await service.store.tickets(queue, None, None, 100)).tickets
    return {ticket.number: ticket.drawn_rank for ticket in found}


async def test_those_who_left_an_address_are_told_once_with_the_rank_that_was_drawn(
    service: Fairline, queue: QueueId, receiver: Receiver, mailbox: Mailbox
) -> None:
    await gateway(service.store, receiver)
    for number in range(1, 12):
        said: dict[str, Any] = {"email": "ada@example.com"} if number == 4 else {}
        if number % 3 == 0:
            said = {"phone": f"+414466818{number:02d}", "language": "de"}
        await join(service, queue, f"p{number}", **said)
    await service.act(queue, Action.HOLD, 3)
    async with kept(service, 3, mailer=mailer(mailbox)) as outcomes:
        await plan(service, queue, 1.2)
        await until_phase(service, queue, Phase.OPEN)
        await until(lambda: len(receiver.letters) == 3 and len(mailbox.mails) == 1)
        (hook,) = await service.store.registry.webhooks()
        await until_empty(service.store, hook.id, "mail")
    drawn = await ranks(service, queue)
    assert sorted(drawn.values()) == list(range(1, 12))
    assert sorted(told(receiver)) == [(STARTED, 4), (STARTED, 6), (STARTED, 9)], "those who can be reached, once"
    texts = {letter.told["ticket"]: letter.told["text"] for letter in receiver.letters}
    for number in (6, 9):
        assert texts[number] == (
            f"The Sale: RSALE-00000{number}, es hat begonnen. Die Reihenfolge wurde ausgelost: "
            f"Sie sind Nummer {drawn[number]} von 11. {PUBLIC}/q/{queue}"
        )
    (text,) = mailbox.texts("ada@example.com")
    assert f"you are number {drawn[4]} of 11." in text
    assert outcomes["webhook", "sent"] == 3, "the steps through the line are no deliveries"


async def test_without_a_draw_they_are_told_their_place(service: Fairline, queue: QueueId, receiver: Receiver) -> None:
    await gateway(service.store, receiver)
    for number in range(1, 6):
        await join(service, queue, f"p{number}", phone=f"+4144668180{number}")
    async with kept(service):
        await plan(service, queue, 1.2, draw="none")
        await until_phase(service, queue, Phase.OPEN)
        await until(lambda: len(receiver.letters) == 5)
    letters = {letter.told["ticket"]: letter.told for letter in receiver.letters}
    assert {number: each["position"] for number, each in letters.items()} == {n: n for n in range(1, 6)}
    assert "it has started. Your place in line: 1." in letters[1]["text"]


async def test_a_queue_that_does_not_send_that_notice_reads_no_line(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await gateway(service.store, receiver)
    await service.configure(queue, {"notices": ("called",)})
    await join(service, queue, "Ada", phone="+41446681801")
    async with kept(service):
        await plan(service, queue, 1.2)
        await until_phase(service, queue, Phase.OPEN)
        await service.call_next(queue)
        await until(lambda: len(receiver.letters) == 1)
    assert told(receiver) == [("called", 1)]


async def test_before_the_start_nobody_is_told_a_place_or_that_it_is_nearly_their_turn(
    service: Fairline, queue: QueueId, receiver: Receiver
) -> None:
    await gateway(service.store, receiver)
    await service.configure(queue, {"notices": ("joined", "nearly")})
    opening = await plan(service, queue, LATER)
    await until_phase(service, queue, Phase.PREQUEUE)
    async with kept(service):
        for number in range(1, 4):
            await join(service, queue, f"p{number}", phone=f"+4144668180{number}")
        await until(lambda: len(receiver.letters) == 3)
        assert await service.store.note_nearly(queue, 2) == []
        assert [letter.told["position"] for letter in receiver.letters] == [None] * 3
        assert not any("Your place" in letter.told["text"] for letter in receiver.letters)
        await Openings(service).delete(queue, opening)  # then the line is one as any other
        await until(lambda: len(receiver.letters) == 5)
    assert sorted(told(receiver)) == [("joined", 1), ("joined", 2), ("joined", 3), ("nearly", 1), ("nearly", 2)]


async def wish(service: Fairline, queue: QueueId, who: str, opening: str, email: str) -> None:
    answer = await join(service, queue, who)
    ticket = answer.ticket_status
    given: dict[str, Any] = {"queue": queue, "ticket": ticket.number, "joined": ticket.joined, "label": answer.label}
    given |= {"email": email, "language": "de", "text": who, "url": f"/q/{queue}?lang=de"}
    asked = [
        Wish(**given, place=1, minutes=None, title="Bald"),
        Wish(**given, place=None, minutes=None, title="Jetzt"),
        Wish(**given, place=None, minutes=None, title="Beginn", opening=opening),
    ]
    await Wishes(service).add_mail(queue, ticket, asked, email, 0)


async def test_who_asked_on_the_page_is_told_the_start_and_the_rank_once(
    service: Fairline, queue: QueueId, mailbox: Mailbox
) -> None:
    opening = await plan(service, queue, LATER)
    await until_phase(service, queue, Phase.PREQUEUE)
    for who in ("Ada", "Bea", "Cyd"):
        await wish(service, queue, who, opening, f"{who.lower()}.{queue}@example.com")
    made = Dispatch(service, private=True, public_url=PUBLIC, mailer=mailer(mailbox), round_seconds=0.02)
    async with at_work(made):
        soon = datetime.fromtimestamp(await service.store.time() / 1000, UTC) + timedelta(seconds=1.1)
        await Openings(service).change(queue, opening, {"starts_at": soon})
        await until_phase(service, queue, Phase.OPEN)
        await until(lambda: len(mailbox.mails) == 4)
        drawn = await ranks(service, queue)
        for number in sorted(drawn, key=drawn.__getitem__, reverse=True):  # so that nobody comes to the front
            await service.act(queue, Action.CANCEL, number)
        await until_empty(service.store, MAIL_BOX)
    texts = {who: mailbox.texts(f"{who.lower()}.{queue}@example.com") for who in ("Ada", "Bea", "Cyd")}
    for number, (who, mails) in enumerate(texts.items(), 1):
        (start,) = [text for text in mails if text.startswith("Beginn")]
        assert f"{who}. Sie sind Nummer {drawn[number]} von 3. {PUBLIC}" in start
        assert [text[:4] for text in mails if text != start] == (["Bald"] if drawn[number] == 1 else [])


async def test_a_start_that_was_called_off_is_told_to_nobody(
    service: Fairline, queue: QueueId, mailbox: Mailbox
) -> None:
    opening = await plan(service, queue, LATER)
    await until_phase(service, queue, Phase.PREQUEUE)
    await wish(service, queue, "Ada", opening, f"ada.{queue}@example.com")
    made = Dispatch(service, private=True, public_url=PUBLIC, mailer=mailer(mailbox), round_seconds=0.02)
    async with at_work(made):
        await Openings(service).delete(queue, opening)
        await until(lambda: len(mailbox.mails) == 1)  # it is an ordinary line now, and they are the first
        await service.act(queue, Action.CANCEL, 1)
        await until_empty(service.store, MAIL_BOX)
    assert [mail.text[:4] for mail in mailbox.mails] == ["Bald"]
