"""Webhooks on a running server, over the API and the command line, as an operator sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from fairline.domain.webhook import signature
from tests.backends import wait_until
from tests.keeper.delivery.typed import command
from tests.receiver import FINE, Receiver
from tests.web.running import RunningServer


@pytest.fixture(scope="module", params=["embedded", "embedded-postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose webhooks may go to this machine."""
    environ = {"FAIRLINE_WEBHOOK_PRIVATE_ADDRESSES": "allow"}
    running = RunningServer(tmp_path_factory.mktemp("webhooks"), workers=1, store=request.param, environ=environ)
    yield running
    running.stop()


def join(server: RunningServer) -> None:
    assert httpx.post(f"{server.base_url}/api/v1/queues/demo/join").status_code == 201


def metrics(server: RunningServer) -> dict[str, float]:
    text = httpx.get(f"{server.base_url}/metrics").text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_a_webhook_from_its_making_to_its_end(server: RunningServer, admin: httpx.Client, receiver: Receiver) -> None:
    before = metrics(server)
    body = {"url": receiver.url + "?token=abc", "queue": "demo", "events": ["joined"]}
    answer = admin.post("/webhooks", json=body)
    assert answer.status_code == 201
    made = answer.json()
    path = f"/webhooks/{made['id']}"
    secret = made.pop("secret")
    assert made["url"] == body["url"]
    assert (made["queue"], made["events"], made["active"], made["pending"]) == ("demo", ["joined"], True, 0)
    assert admin.get(path).json() == made
    assert admin.get("/webhooks").json() == {"webhooks": [made]}
    viewer = admin.post("/keys", json={"role": "viewer"}).json()["key"]
    shown = admin.get(path, headers={"authorization": f"Bearer {viewer}"})
    assert "abc" not in shown.text
    assert shown.json()["url"] == f"http://127.0.0.1:{receiver.port}/…"

    pinged = admin.post(f"{path}/test").json()
    assert (pinged["delivered"], pinged["error"]) == (True, None)
    assert receiver.types() == ["ping"]

    join(server)
    wait_until(lambda: len(receiver.letters) == 2, "the letter did not come")
    letter = receiver.letters[-1]
    assert (letter.path, letter.told["type"]) == ("/hook?token=abc", "joined")
    signed = letter.headers["x-fairline-signature"]
    assert signed == signature(secret, letter.body, int(signed[2 : signed.index(",")]))

    receiver.answer = lambda _: (410, {}, b"secrets of the receiver")
    assert admin.post(f"{path}/test").json()["error"] == "answered 410"
    join(server)
    wait_until(lambda: admin.get(path).json()["dead"] == 1, "nothing was given up")
    listed = admin.get(f"{path}/deliveries", params={"state": "dead"})
    assert "secrets of the receiver" not in listed.text
    (dead,) = listed.json()["deliveries"]
    assert (dead["state"], dead["type"], dead["error"], dead["tries"]) == ("dead", "joined", "answered 410", 1)
    assert dead["died_at"] >= dead["at"]
    assert dead["due_at"] is None
    assert admin.get(f"{path}/deliveries").json()["deliveries"] == []
    now = metrics(server)
    assert now['fairline_deliveries_dead{kind="webhook"}'] == 1
    for outcome in ("sent", "dead"):
        name = f'fairline_deliveries_total{{kind="webhook",outcome="{outcome}"}}'
        assert now[name] - before[name] == 1
    assert receiver.url not in httpx.get(f"{server.base_url}/metrics").text

    receiver.answer = lambda _: FINE
    assert admin.post(f"{path}/deliveries/{dead['id']}/replay").json() == {"replayed": 1}
    wait_until(lambda: admin.get(path).json()["dead"] == 0, "it was not sent again")
    wait_until(lambda: receiver.ids[-1] == dead["id"], "it did not come")
    assert admin.post(f"{path}/replay").json() == {"replayed": 0}

    assert admin.patch(path, json={"active": False, "events": []}).json()["active"] is False
    assert admin.delete(path).status_code == 204
    assert admin.get("/webhooks").json() == {"webhooks": []}
    assert server.logged("webhook.created", webhook=made["id"])["queue"] == "demo"
    assert server.logged("delivery.dead", box=made["id"])["error"] == "answered 410"
    assert server.logged("webhook.removed", webhook=made["id"])


def test_the_command_line(server: RunningServer, receiver: Receiver) -> None:
    run = command(server, "webhook")
    assert "There is none" in run("list")
    made = json.loads(run("create", receiver.url, "--queue", "demo", "--event", "joined", "--json"))
    hook = made["id"]
    assert made["secret"].startswith("whsec_")
    listed = run("list")
    assert hook in listed
    assert made["secret"] not in listed
    assert "arrived" in run("test", hook)
    receiver.answer = lambda _: (410, {}, b"")
    assert "did not arrive: answered 410" in run("test", hook, code=1)
    join(server)
    wait_until(lambda: json.loads(run("dead", hook, "--json"))["deliveries"] != [], "nothing was given up")
    assert "answered 410" in run("dead", hook)
    receiver.answer = lambda _: FINE
    assert "paused" in run("pause", hook)
    assert "active" in run("resume", hook)
    assert "1 is sent again" in run("replay", hook)
    assert "is removed" in run("remove", hook)
    run("test", hook, code=1)
