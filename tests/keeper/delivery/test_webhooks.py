"""Webhooks on both stores: what is sent, to whom, and how a receiver knows that it is genuine."""

from __future__ import annotations

import hmac
import re
import shutil
import subprocess
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.rehearsal import rehearsal_queue
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action
from fairline.domain.webhook import Topic, signature
from fairline.errors import InvalidRequest, QueueNotFound, TooManyWebhooks, WebhookNotFound
from fairline.store import DeliveryState, Store
from fairline.web.admin import webhook_manager as manager_module
from fairline.web.admin.webhook_manager import WebhookManager
from tests.keeper.delivery.hooks import counts_of, holds, hook_for, join, kept
from tests.receiver import Receiver
from tests.web.inside import until

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "webhooks.md"


async def test_everything_that_happens_is_told_once_in_full(store: Store, queue: QueueId, receiver: Receiver) -> None:
    await join(store, queue, 3)  # before its time
    hook = await hook_for(store, receiver, None)
    async with kept(store, 2):
        await join(store, queue, 2)
        await store.admit(queue, 10)
        await store.visit(queue, "start", [(4, b"me")])
        await store.act(queue, Action.COMPLETE, [4])
        await store.act(queue, Action.LEAVE, [5])
        await until(lambda: len(receiver.letters) >= 10)
        await holds(store, hook, 0, 0)
        other = QueueId(f"{queue}-later")
        await store.create(other, checked({}))
        await until(lambda: len(receiver.letters) == 11)
        await store.delete(other)
    told = [letter.told for letter in receiver.letters]
    assert Counter(each["type"] for each in told) == {
        "joined": 2,
        "admitted": 5,
        "started": 1,
        "completed": 1,
        "expired": 1,
        "queue_created": 1,
    }
    assert len(set(receiver.ids)) == 11
    ended = next(each for each in told if each["type"] == "expired")
    assert ended.keys() == {"id", "type", "queue", "at", "ticket", "label", "detail"}
    assert (ended["queue"], ended["ticket"], ended["label"]) == (queue, 5, "RDEMO-000005")
    assert ended["detail"] == "left"
    assert ended["at"].endswith("Z")
    made = next(each for each in told if each["type"] == "queue_created")
    assert (made["queue"], made["ticket"], made["label"]) == (other, None, None)


async def test_a_rehearsal_sends_no_webhooks(store: Store, queue: QueueId, receiver: Receiver) -> None:
    await hook_for(store, receiver, None)
    stage = rehearsal_queue(await store.time(), "0" * 16)
    async with kept(store):
        await store.create(stage, checked({}))
        await join(store, stage, 3)
        await join(store, queue)
        await until(lambda: len(receiver.letters) >= 1)
        await join(store, queue)
        await until(lambda: len(receiver.letters) >= 2)
    await store.delete(stage)
    assert [letter.told["queue"] for letter in receiver.letters] == [queue, queue]


async def test_a_letter_is_signed_and_says_what_it_is(store: Store, queue: QueueId, receiver: Receiver) -> None:
    hook = await hook_for(store, receiver, queue, Topic.JOINED)
    async with kept(store):
        await join(store, queue, name="Ada", phone="+41446681800")
        await until(lambda: receiver.letters != [])
    (letter,) = receiver.letters
    headers = letter.headers
    assert headers["x-fairline-event"] == "joined"
    assert headers["x-fairline-delivery"] == letter.told["id"]
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"].startswith("Fairline/")
    at = int(headers["x-fairline-signature"].partition(",")[0].removeprefix("t="))
    assert abs(time.time() - at) < 30
    expected = hmac.new(hook.secret.encode(), f"{at}.".encode() + letter.body, sha256).hexdigest()
    assert headers["x-fairline-signature"] == f"t={at},v1={expected}"
    assert b"Ada" not in letter.body


async def test_who_it_is_about_is_told_only_where_that_is_asked_for(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    await hook_for(store, receiver, queue, Topic.JOINED, person=True)
    async with kept(store):
        await join(store, queue, name="Zoë", phone="+41446681800", party_size=3, user_agent="Firefox", address="d1")
        await until(lambda: receiver.letters != [])
    person = {"name": "Zoë", "phone": "+41446681800", "email": None, "user_id": None, "party_size": 3, "metadata": None}
    assert receiver.letters[0].told["person"] == person


async def test_only_what_is_asked_for_comes(store: Store, queue: QueueId, receiver: Receiver) -> None:
    other = QueueId(f"{queue}-other")
    await store.create(other, checked({}))
    await hook_for(store, receiver, queue, Topic.ADMITTED)
    async with kept(store):
        await join(store, other, 2)
        await join(store, queue, 2)
        await store.admit(queue, 1)
        await until(lambda: len(receiver.letters) == 1)
    assert receiver.letters[0].told["queue"] == queue
    assert receiver.types() == ["admitted"]
    await store.delete(other)


async def test_a_redirect_leads_nowhere(store: Store, queue: QueueId, receiver: Receiver) -> None:
    inside = Receiver()
    receiver.answer = lambda _: (302, {"location": inside.url}, b"")
    hook = await hook_for(store, receiver, queue)
    async with kept(store):
        await join(store, queue)
        await holds(store, hook, 0, 1)
    page = await store.outbox.deliveries(hook.id, DeliveryState.DEAD, None, 1)
    assert page.deliveries[0].error == "answered 302, and redirects are not followed"
    assert inside.letters == []
    inside.down()


async def test_nothing_is_sent_into_the_house_unless_that_is_set(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    with pytest.raises(InvalidRequest, match="webhook_private_addresses"):
        await WebhookManager(store, private=False).create(receiver.url, queue, (), include_person=False, active=True)
    # What is written otherwise tells nothing until it is looked up.
    sly = receiver.url.replace("127.0.0.1", "2130706433")
    hook = await WebhookManager(store, private=False).create(sly, queue, (), include_person=False, active=True)
    async with kept(store, private=False):
        await join(store, queue)
        await holds(store, hook, 0, 1)
    outcome, _ = await WebhookManager(store, private=False).ping(hook.id)
    assert not outcome.sent
    assert "private address" in outcome.error
    assert receiver.letters == []


async def test_one_that_is_paused_goes_on_from_where_it_was(store: Store, queue: QueueId, receiver: Receiver) -> None:
    manager = WebhookManager(store, private=True)
    hook = await hook_for(store, receiver, queue)
    await manager.change(hook.id, {"active": False})
    bystander = Receiver()
    await hook_for(store, bystander, queue)
    async with kept(store):
        await join(store, queue, 3)
        await until(lambda: len(bystander.letters) == 3)
        assert receiver.letters == []
        await manager.change(hook.id, {"active": True})
        await until(lambda: len(receiver.letters) == 3)
    bystander.down()


async def test_what_is_removed_is_not_told_any_more(store: Store, queue: QueueId, receiver: Receiver) -> None:
    manager = WebhookManager(store, private=True)
    hook = await hook_for(store, receiver, queue)
    receiver.down()
    async with kept(store) as outcomes:
        await join(store, queue, 3)
        await until(lambda: outcomes["retried"] > 0)
        await manager.remove(hook.id)
        receiver.up()
        await join(store, queue, 3)
        other = await hook_for(store, receiver, queue)
        await join(store, queue, 1)
        await until(lambda: receiver.letters != [])
        await holds(store, other, 0, 0)
    assert len(receiver.letters) == 1
    assert await counts_of(store, hook) == (0, 0)
    with pytest.raises(WebhookNotFound):
        await manager.remove(hook.id)


async def test_there_is_an_end_to_how_many_there_may_be(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager_module, "MOST", 1)
    await hook_for(store, receiver, None)
    with pytest.raises(TooManyWebhooks):
        await hook_for(store, receiver, None)
    monkeypatch.setattr(manager_module, "MOST", 2)
    with pytest.raises(QueueNotFound):
        await hook_for(store, receiver, QueueId("nowhere"))


def snippet(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


BODY = '{"id":"1","type":"joined","label":"Zoë"}'.encode()


def test_the_documented_check_in_python_takes_what_we_sign_and_nothing_else() -> None:
    names: dict[str, Any] = {}
    exec(snippet("python"), names)
    genuine, now = names["is_genuine"], int(time.time())
    good = signature("whsec_1", BODY, now)
    assert genuine("whsec_1", good, BODY)
    assert not genuine("whsec_2", good, BODY)
    assert not genuine("whsec_1", good, BODY + b" ")
    assert not genuine("whsec_1", signature("whsec_1", BODY, now - 3600), BODY)
    for nonsense in ("", "t=,v1=", "v1=abc", f"t={now}", "t=x,v1=y", good.replace("v1=", "v1=é")):
        assert not genuine("whsec_1", nonsense, BODY)


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_the_documented_check_in_node_takes_what_we_sign_and_nothing_else() -> None:
    now = int(time.time())
    good = signature("whsec_1", BODY, now)
    cases = [
        *(("whsec_1", good), ("whsec_2", good), ("whsec_1", signature("whsec_1", BODY, now - 3600))),
        *(("whsec_1", ""), ("whsec_1", "t=x,v1=y"), ("whsec_1", f"t={now}")),
    ]
    calls = "\n".join(
        f"console.log(isGenuine({secret!r}, {sent!r}, Buffer.from({BODY.hex()!r}, 'hex')))" for secret, sent in cases
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", snippet("js") + calls], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["true", "false", "false", "false", "false", "false"]
