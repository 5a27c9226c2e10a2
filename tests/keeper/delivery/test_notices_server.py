"""Notices on a running server: the example gateway and a server of mail, both down for a while; what operators see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairline.domain.webhook import signature
from tests.backends import HOST, free_ports, wait_until
from tests.keeper.delivery.typed import command
from tests.mailbox import Mailbox
from tests.web.running import RunningServer

NEARLY = "곧 차례입니다(현재 2번째). 가까이에서 기다려 주세요."
ROOT = Path(__file__).parents[3]
HOW_TO = (ROOT / "docs" / "how-to" / "notices.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox()
    yield made
    made.down()


@pytest.fixture(scope="module", params=["embedded-postgres"])
def server(
    request: pytest.FixtureRequest, mailbox: Mailbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    environ = {
        "FAIRLINE_WEBHOOK_PRIVATE_ADDRESSES": "allow",
        "FAIRLINE_SMTP_URL": f"smtp://{HOST}:{mailbox.port}?starttls=no",
        "FAIRLINE_MAIL_FROM": "The Bakery <line@bakery.example>",
        "FAIRLINE_PUBLIC_URL": "{base_url}",
    }
    running = RunningServer(tmp_path_factory.mktemp("notices"), workers=1, store=request.param, environ=environ)
    yield running
    running.stop()


class Gateway:
    """The example, as the how-to starts it."""

    def __init__(self, port: int, secret: str, folder: Path) -> None:
        self.port = port
        self._environ = os.environ | {"FAIRLINE_WEBHOOK_SECRET": secret}
        self._said = folder / "said"

    @property
    def said(self) -> list[str]:
        return [line for line in self._said.read_text(encoding="utf-8").splitlines() if line.startswith("to ")]

    @contextmanager
    def running(self) -> Iterator[None]:
        command = [sys.executable, "-m", "examples.sms_gateway", "--port", str(self.port)]
        with self._said.open("ab") as out:
            process = subprocess.Popen(command, cwd=ROOT, env=self._environ, stdout=out)
        try:
            wait_until(lambda: "listening" in self._said.read_text(encoding="utf-8"), "the gateway did not start")
            yield
        finally:
            process.terminate()
            process.wait(30)


def join(server: RunningServer, accepts: str, **said: Any) -> httpx.Response:
    url = f"{server.base_url}/api/v1/queues/bakery/join"
    return httpx.post(url, json=said, headers={"accept-language": accepts})


@pytest.mark.timeout(300)
def test_people_are_told_by_the_example_gateway_and_by_mail_after_both_were_down(
    server: RunningServer, admin: httpx.Client, mailbox: Mailbox, tmp_path: Path
) -> None:
    body = {"id": "bakery", "name": "The Bakery", "admission": "manual", "notices": ["joined", "nearly", "called"]}
    assert admin.post("/queues", json=body | {"heartbeat_timeout_seconds": 0}).status_code == 201
    (port,) = free_ports(1)
    url = f"http://{HOST}:{port}/"
    hook = {"url": url, "events": ["notice"], "include_person": True}
    made = admin.post("/webhooks", json=hook).json()
    assert made["events"] == ["notice"]
    gateway = Gateway(port, made["secret"], tmp_path)
    mailbox.down()
    assert join(server, "de-CH, en;q=0.5", phone="+41446681800", email="ada@example.com").status_code == 201
    assert join(server, "ko", phone="+41446681801", email="bob@example.com").status_code == 201
    bad = join(server, "en", email="ada@example.com\nBcc: x@example.com")
    assert (bad.status_code, bad.json()["field"]) == (422, "email")
    assert join(server, "en", language="tlh").json()["field"] == "language"
    wait_until(lambda: admin.get("/mail").json()["pending"] == 4, "nothing is to be sent by mail")
    wait_until(lambda: admin.get(f"/webhooks/{made['id']}").json()["pending"] == 4, "nothing is to be posted")
    assert admin.post("/queues/bakery/call-next", json={"desk": "Desk 2"}).json()["tickets"][0]["ticket"] == 1
    with gateway.running():
        mailbox.up()
        # The longer they were down, the longer it is until the next try.
        wait_until(lambda: len(gateway.said) == 4, "not all were told by the gateway", 120)
        wait_until(lambda: len(mailbox.mails) == 4, "not all were told by mail", 120)
        wait_until(lambda: admin.get("/mail").json()["pending"] == 0, "something is still to be sent")
        wait_until(lambda: admin.get(f"/webhooks/{made['id']}").json()["pending"] == 0, "something is still to be sent")
        assert httpx.post(url, content=b"{}").status_code == 401
        ping = b'{"id":"1","type":"notice","to":{"phone":"+1"},"text":"twice?"}'
        signed = {"x-fairline-signature": signature(made["secret"], ping, 0)}
        assert httpx.post(url, content=ping, headers=signed).status_code == 401  # a recording of long ago
    link = f"{server.base_url}/q/bakery"
    assert Counter(gateway.said) == Counter(
        [
            f"to +41446681800: The Bakery: Ihre Nummer ist RBAKERY-000001. Ihr Platz in der Warteschlange: 1. {link}",
            "to +41446681800: The Bakery: RBAKERY-000001, Sie sind an der Reihe. Bitte gehen Sie zu: Desk 2. " + link,
            f"to +41446681801: The Bakery: 번호는 RBAKERY-000002입니다. 현재 순서: 2번째. {link}",
            f"to +41446681801: The Bakery: RBAKERY-000002 님, {NEARLY} {link}",
        ]
    )
    assert sorted(mail.to for mail in mailbox.mails) == ["ada@example.com"] * 2 + ["bob@example.com"] * 2
    ticket = admin.get("/queues/bakery/tickets/1").json()
    assert (ticket["email"], ticket["language"]) == ("ada@example.com", "de")
    metrics = httpx.get(f"{server.base_url}/metrics").text
    assert 'fairline_deliveries_total{kind="mail",outcome="sent"} 4.0' in metrics
    assert 'fairline_deliveries_total{kind="mail",outcome="overtaken"} 1.0' in metrics
    log = server.data.parent / "server.log"
    assert "example.com" not in log.read_text(encoding="utf-8")


def test_who_left_an_address_in_the_form_gets_mail(
    server: RunningServer, admin: httpx.Client, mailbox: Mailbox
) -> None:
    body = {"id": "barber", "name": "Barber Bo", "admission": "manual", "notices": ["called"], "ask_email": "optional"}
    assert admin.post("/queues", json=body | {"heartbeat_timeout_seconds": 0}).status_code == 201
    form = f"{server.base_url}/join/barber?lang=fr"
    fields = {"key": "one", "email": "zoe@example.com"}
    assert httpx.post(form, data=fields, headers={"accept": "text/html"}).status_code == 303
    assert admin.post("/queues/barber/call-next", json={"desk": "2"}).status_code == 200
    wait_until(lambda: mailbox.texts("zoe@example.com") != [], "nobody was written to")
    assert "votre tour" in mailbox.texts("zoe@example.com")[0]


def test_what_operators_see_of_mail(server: RunningServer, admin: httpx.Client, mailbox: Mailbox) -> None:
    run = command(server, "mail")
    assert "from The Bakery <line@bakery.example>" in run("status")
    assert "accepted the test mail" in run("test", "ada@example.com")
    assert mailbox.mails[-1].message["Subject"] == "A test of Fairline"
    mailbox.refuse = lambda line: "550 no such person: eve@example.com" if line.startswith("RCPT") else None
    assert "answered 550" in run("test", "eve@example.com", code=1)
    assert admin.post("/mail/test", json={"to": "eve"}).json()["field"] == "to"
    assert join(server, "en", email="eve@example.com").status_code == 201
    wait_until(lambda: admin.get("/mail").json()["dead"] == 2, "nothing was given up")
    listed = admin.get("/mail/deliveries", params={"state": "dead"})
    assert "example.com" not in listed.text
    dead = next(each for each in listed.json()["deliveries"] if each["notice"] == "joined")
    assert (dead["type"], dead["notice"], dead["error"], dead["ticket"]) == ("notice", "joined", "answered 550", 3)
    assert "answered 550" in run("dead")
    assert json.loads(run("dead", "--json"))["deliveries"]
    mailbox.refuse = lambda _: None
    assert "1 is sent again" in run("replay", dead["id"])
    wait_until(lambda: mailbox.texts("eve@example.com") != [], "it was not sent again")
    run("replay")
    wait_until(lambda: admin.get("/mail").json()["dead"] == 0, "something is still dead")
    assert admin.post("/mail/deliveries/none/replay").json()["code"] == "delivery_not_found"
    assert server.logged("delivery.dead", kind="mail")["error"] == "answered 550"
    actions = {entry["action"] for entry in admin.get("/audit").json()["entries"]}
    assert {"mail.tested", "mail.replayed"} <= actions


def test_the_how_to_names_what_there_is() -> None:
    assert "python -m examples.sms_gateway" in HOW_TO
    assert "FAIRLINE_SMTP_URL" in HOW_TO
