"""Who asked for it is told by Web Push at their place and at their turn; a fake push service decrypts what it gets."""

from __future__ import annotations

import secrets
import ssl
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fairline.domain.push import PushKey, Subscription
from fairline.domain.queue import QueueId
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action
from fairline.errors import RateLimited
from fairline.keeper import notices, push, wishes
from fairline.keeper.delivery import Outcome
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.push import Pusher
from fairline.service.fairline import Fairline
from fairline.service.wishes import MOST_TRIES, Wish, Wishes
from fairline.store import Store
from tests.keeper.delivery.hooks import at_work, service_of
from tests.keeper.delivery.notices import PUBLIC, QUICK, join, mailer, until_empty
from tests.mailbox import Mailbox
from tests.receiver import Answer, Letter, Receiver
from tests.web.inside import until


class Browser:
    """A browser that has subscribed: it decrypts what its push service passes on (RFC 8291)."""

    def __init__(self, endpoint: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._auth = secrets.token_bytes(16)
        self._point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.subscription = Subscription(endpoint, *(urlsafe_b64encode(k).decode() for k in (self._point, self._auth)))

    def read(self, letter: Letter) -> dict[str, str]:
        assert letter.headers["content-encoding"] == "aes128gcm"
        assert letter.headers["authorization"].startswith("vapid t=")
        salt, length = letter.body[:16], letter.body[20]
        point, sealed = letter.body[21 : 21 + length], letter.body[21 + length :]
        sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        shared = self._key.exchange(ec.ECDH(), sender)
        secret = _derived(shared, self._auth, b"WebPush: info\0" + self._point + point, 32)
        key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
        read: dict[str, str] = msgspec.json.decode(AESGCM(key).decrypt(nonce, sealed, None).removesuffix(b"\2"))
        return read


def _derived(key: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(key)


@pytest.fixture
async def service(store: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fairline]:
    monkeypatch.setattr(wishes, "SOONEST_SECONDS", 0.02)
    monkeypatch.setattr(wishes, "LATEST_SECONDS", 0.05)
    monkeypatch.setattr(push, "AGAIN_SECONDS", 0.05)
    made = service_of(store)
    yield made
    await made.close()


async def open_line(store: Store) -> QueueId:
    queue = QueueId(f"q-{secrets.token_hex(6)}")
    await store.create(queue, checked({"admission": "manual", "join_limit_per_ip": 0}))
    return queue


async def wish(service: Fairline, queue: QueueId, who: str, browser: Browser, **when: Any) -> None:
    answer = await join(service, queue, who)
    ticket = answer.ticket_status
    given: dict[str, Any] = {
        "queue": queue,
        "ticket": ticket.number,
        "joined": ticket.joined,
        "subscription": browser.subscription,
        "label": answer.label,
        "text": who,
        "url": "/",
    }
    nearly = Wish(**given, place=when.get("place"), minutes=when.get("minutes"), title="nearly")
    await Wishes(service).add(queue, ticket, [nearly, Wish(**given, place=None, minutes=None, title="turn")])


def keeper(service: Fairline) -> Dispatch:
    # The receiver speaks plain HTTP: that only https is taken is seen where people subscribe, and in test_outbound.
    pusher = Pusher(PushKey(service.keyring.push_seed), "mailto:a@line.example", private=True)
    return Dispatch(service, private=True, pusher=pusher, round_seconds=0.02)


async def test_each_is_told_once_at_the_place_they_chose_and_at_their_turn(service: Fairline, store: Store) -> None:
    receiver, queue = Receiver(), await open_line(store)
    browser = Browser(receiver.url)
    try:
        for _ in range(3):
            await join(service, queue, secrets.token_hex(4))
        await wish(service, queue, "Ada", browser, place=2)
        async with at_work(keeper(service)):
            await service.call_next(queue)
            await service.call_next(queue)
            await until(lambda: len(receiver.letters) == 1)
            await service.call_next(queue)
            await service.call_next(queue)
            await until(lambda: len(receiver.letters) == 2)
            await until_empty(store, "push")
        read = [browser.read(letter) for letter in receiver.letters]
        assert [(each["title"], each["body"]) for each in read] == [("nearly", "Ada"), ("turn", "Ada")]
    finally:
        receiver.down()


async def wish_for_mail(service: Fairline, queue: QueueId, who: str, email: str, most: int = 3) -> None:
    ticket = (await join(service, queue, who)).ticket_status
    given: dict[str, Any] = {"queue": queue, "ticket": ticket.number, "joined": ticket.joined, "label": "Q-1"}
    given |= {"email": email, "language": "de", "text": who, "url": f"/q/{queue}?lang=de"}
    nearly = Wish(**given, place=1, minutes=None, title="Bald")
    wishes = [nearly, Wish(**given, place=None, minutes=None, title="Jetzt")]
    await Wishes(service).add_mail(queue, ticket, wishes, email, most)


async def test_by_mail_each_is_told_once_at_their_place_and_at_their_turn(service: Fairline, store: Store) -> None:
    mailbox, queue = Mailbox(), await open_line(store)
    answers = ["451 later", "451 later"]
    mailbox.refuse = lambda line: answers.pop() if answers and line.upper().startswith("RCPT") else None
    email = f"ada.{secrets.token_hex(4)}@example.com"
    try:
        await join(service, queue, "Grace")
        await wish_for_mail(service, queue, "Ada", email)
        await wish_for_mail(service, queue, "Left", f"left-{email}")
        await service.act(queue, Action.CANCEL, 3)
        made = Dispatch(service, private=True, public_url=PUBLIC, mailer=mailer(mailbox), round_seconds=0.02)
        async with at_work(made):
            await service.call_next(queue)
            await until(lambda: len(mailbox.mails) == 1)
            await service.call_next(queue)
            await until(lambda: len(mailbox.mails) == 2)
            await until_empty(store, "mail-wishes")
        assert [(mail.to, mail.message["Subject"]) for mail in mailbox.mails] == [
            (email, "Bald: Q-1"),
            (email, "Jetzt: Q-1"),
        ]
        assert {mail.message["Content-Language"] for mail in mailbox.mails} == {"de"}
        assert f"{PUBLIC}/q/{queue}?lang=de" in mailbox.mails[0].text
    finally:
        mailbox.down()


async def test_nobody_is_sent_mail_again_and_again(
    service: Fairline, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox, queue = Mailbox(), await open_line(store)
    monkeypatch.setattr(notices, "MOST_NOTICES", 2)
    email = f"ada.{secrets.token_hex(4)}@gmail.com"
    try:
        for number in range(3):
            await wish_for_mail(service, queue, f"Ada {number}", email.replace("@", f"+{number}@"))
        with pytest.raises(RateLimited) as refused:
            await wish_for_mail(service, queue, "Ada 4", email.replace(".", "", 1))
        assert refused.value.who == "email"
        await wish_for_mail(service, await open_line(store), "Ada 5", email)  # in another line
        made = Dispatch(service, private=True, mailer=mailer(mailbox), round_seconds=0.02, retry_policy=QUICK)
        async with at_work(made):
            await until(lambda: len(mailbox.mails) == 2)
            for _ in range(3):
                await service.call_next(queue)
            await service.call_next(queue)

            async def left() -> bool:
                (counts,) = await store.outbox.counts(["mail-wishes"])
                return counts.pending <= 1

            await until(left)
        assert len(mailbox.mails) == 2, "of at least five whose moment has come"
    finally:
        mailbox.down()


async def test_a_wish_is_forgotten_with_its_ticket_and_with_its_subscription(service: Fairline, store: Store) -> None:
    receiver, queue = Receiver(), await open_line(store)
    gone: Answer = (410, {}, b"")
    receiver.answer = lambda _: gone
    try:
        await wish(service, queue, "Ada", Browser(receiver.url), place=1)
        await wish(service, queue, "Grace", Browser(receiver.url), place=1)
        await service.act(queue, Action.CANCEL, 2)
        async with at_work(keeper(service)):
            await until(lambda: len(receiver.letters) == 1)
            await service.call_next(queue)
            await until_empty(store, "push")
        assert [letter.path for letter in receiver.letters] == ["/hook", "/hook"], "Ada alone, and no retry"
    finally:
        receiver.down()


async def test_a_busy_push_service_is_asked_again(service: Fairline, store: Store) -> None:
    receiver, queue = Receiver(), await open_line(store)
    answers: list[Answer] = [(503, {}, b""), (429, {}, b"")]
    receiver.answer = lambda _: answers.pop(0) if answers else (201, {}, b"")
    browser = Browser(receiver.url)
    try:
        await wish(service, queue, "Ada", browser, place=1)
        async with at_work(keeper(service)):
            await until(lambda: len(receiver.letters) == 3)
        assert {browser.read(letter)["title"] for letter in receiver.letters} == {"nearly"}
    finally:
        receiver.down()


async def test_a_push_goes_to_no_private_address_and_to_no_stranger_without_a_certificate(
    service: Fairline, tmp_path: Path
) -> None:
    receiver = Receiver()
    key = PushKey(service.keyring.push_seed)
    try:
        refused = await Pusher(key, "", private=False).send(Browser(receiver.url).subscription, b"{}")
        assert refused == Outcome(sent=False, later=push.AGAIN_SECONDS)
        plain = receiver.url.replace("http://", "https://")
        tls = ssl.create_default_context()
        refused = await Pusher(key, "", private=True, tls=tls).send(Browser(plain).subscription, b"{}")
        assert refused == Outcome(sent=False, later=push.AGAIN_SECONDS)
        assert receiver.letters == []
    finally:
        receiver.down()


async def test_a_ticket_can_wish_so_often_and_not_more(service: Fairline, store: Store) -> None:
    queue, browser = await open_line(store), Browser("https://push.example/1")
    for _ in range(MOST_TRIES):
        await wish(service, queue, "Ada", browser, place=1)
    with pytest.raises(RateLimited):
        await wish(service, queue, "Ada", browser, place=1)
    (counts,) = await store.outbox.counts(["push"])
    assert counts.pending >= 2
