"""The start of an opening on a running server: who asked by the page or left a phone is told, and the rank is right."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.backends import HOST, wait_until
from tests.keeper.delivery.notices import told
from tests.mailbox import Mailbox
from tests.receiver import Receiver
from tests.web.running import RunningServer

STORES = ("embedded", "embedded-postgres")


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox()
    yield made
    made.down()


@pytest.fixture(scope="module", params=STORES)
def server(
    request: pytest.FixtureRequest, mailbox: Mailbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    environ = {
        "FAIRLINE_WEBHOOK_PRIVATE_ADDRESSES": "allow",
        "FAIRLINE_SMTP_URL": f"smtp://{HOST}:{mailbox.port}?starttls=no",
        "FAIRLINE_MAIL_FROM": "The Sale <line@sale.example>",
        "FAIRLINE_PUBLIC_URL": "{base_url}",
    }
    running = RunningServer(tmp_path_factory.mktemp("starts"), workers=2, store=request.param, environ=environ)
    yield running
    running.stop()


def test_the_start_and_the_rank_are_told_by_text_message_and_by_mail(
    server: RunningServer, admin: httpx.Client, mailbox: Mailbox, receiver: Receiver
) -> None:
    email = f"ada.{secrets.token_hex(4)}@example.com"
    body = {"id": "sale", "name": "The Sale", "admission": "manual", "join_limit_per_ip": 0}
    body |= {"notices": ["opening_started", "nearly"], "notice_place": 5, "status": "maintenance"}
    assert admin.post("/queues", json=body).status_code == 201
    hook = {"url": receiver.url, "events": ["notice"], "include_person": True}
    assert admin.post("/webhooks", json=hook).status_code == 201

    def moment(seconds: float) -> str:
        return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()

    plan = {"prequeue_at": moment(0.5), "starts_at": moment(3600), "draw": "random"}
    opening = admin.post("/queues/sale/openings", json=plan).json()["id"]
    public = f"{server.base_url}/api/v1"
    wait_until(lambda: httpx.get(f"{public}/queues/sale").json()["phase"] == "prequeue", "no pre-queue")

    def join(**said: Any) -> dict[str, Any]:
        answer = httpx.post(f"{public}/queues/sale/join", json=said)
        assert answer.status_code == 201, answer.text
        content: dict[str, Any] = answer.json()
        return content

    texted = join(client_id="a", phone="+41446681801", language="de")
    others = [join(client_id=f"c{number}") for number in range(4)]
    asked = join(client_id="b")
    bearer = {"authorization": f"Bearer {asked['token']}"}
    wish = {"email": email, "place": 1, "language": "en"}
    assert httpx.post(f"{public}/mail", json=wish, headers=bearer).status_code == 204
    assert (told(receiver), mailbox.texts(email)) == ([], []), "nothing is told before the start"
    moved = admin.patch(f"/queues/sale/openings/{opening}", json={"starts_at": moment(1.5)})
    assert moved.status_code == 200, moved.text

    def mails() -> list[str]:
        return [text for text in mailbox.texts(email) if "started" in text]

    def letters() -> list[dict[str, Any]]:
        return [letter.told for letter in receiver.letters if letter.told["notice"] == "opening_started"]

    wait_until(lambda: len(mails()) == len(letters()) == 1, "nobody was told")

    def rank(ticket: dict[str, Any]) -> int:
        answer = httpx.get(f"{public}/status", headers={"authorization": f"Bearer {ticket['token']}"}).json()
        assert answer["draw"]["count"] == 6
        found: int = answer["draw"]["rank"]
        return found

    assert sorted(rank(each) for each in (texted, asked, *others)) == list(range(1, 7))
    (letter,) = letters()
    assert f"es hat begonnen. Die Reihenfolge wurde ausgelost: Sie sind Nummer {rank(texted)} von 6." in letter["text"]
    (mail,) = mails()
    assert mail.startswith("It has started.")
    assert f"You are number {rank(asked)} of 6." in mail
