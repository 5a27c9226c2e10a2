"""Webhooks on both stores: whatever the receiver does, everything arrives or is said to be given up, and the line goes
on."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairline.errors import DeliveryNotFound, InvalidRequest, QueueNotFound, TooManyWebhooks, WebhookNotFound
from fairline.keeper import dispatch
from fairline.keeper.dispatch import Dispatch
from fairline.keeper.outbox import AT_ONCE, Courier, Outcome, Patience
from fairline.queue import QueueId, checked
from fairline.room import Room
from fairline.store import Arrival, BoxCounts, Delivery, DeliveryState, Parcel, Store, open_store
from fairline.store.postgres import client as postgres
from fairline.store.valkey import client as valkey
from fairline.store.valkey.keys import key
from fairline.ticket import Action, Person
from fairline.token import Keyring
from fairline.web import webhooks as desk_module
from fairline.web.webhooks import WebhookDesk
from fairline.webhook import Topic, Webhook, signature
from tests.backends import OWNERS, Servers
from tests.receiver import FINE, Answer, Letter, Receiver
from tests.web.inside import until

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to" / "webhooks.md"
#: As patient as a test can be.
QUICK = Patience(tries=4, first=0.05, factor=2, most=0.2)


@pytest.fixture(scope="module", params=["valkey", "postgres"])
def backend(request: pytest.FixtureRequest, servers: Servers) -> str:
    return servers.url(request.param)


@pytest.fixture
async def store(backend: str) -> AsyncIterator[Store]:
    opened = await open_store(backend)
    yield opened
    for hook in await opened.registry.webhooks():
        await opened.registry.remove_webhook(hook.id)
        await opened.outbox.drop(hook.id)
    await opened.close()


@pytest.fixture
async def queue(store: Store, queue: QueueId) -> AsyncIterator[QueueId]:
    """A queue where everyone is let in."""
    await store.create(queue, checked({"admission_rate": 1000, "burst": 1000, "ticket_prefix": "DEMO"}))
    yield queue
    with contextlib.suppress(QueueNotFound):
        await store.delete(queue)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.down()


async def hook_for(
    store: Store, receiver: Receiver, queue: QueueId | None, *events: Topic, person: bool = False
) -> Webhook:
    return await WebhookDesk(store, private=True).create(receiver.url, queue, events, person, active=True)


def room_of(store: Store) -> Room:
    return Room(store, Keyring(b"a secret of the tests"))


@asynccontextmanager
async def kept(store: Store, keepers: int = 1, **options: Any) -> AsyncIterator[Counter[str]]:
    """So many keepers look after the webhooks; counts what became of the tries."""
    outcomes: Counter[str] = Counter()
    given = {"private": True, "round_seconds": 0.02, "patience": QUICK, **options}
    tasks = [
        asyncio.create_task(
            Dispatch(room_of(store), on_outcome=lambda _, became: outcomes.update([became]), **given).run()
        )
        for _ in range(keepers)
    ]
    yield outcomes
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def join(store: Store, queue: QueueId, count: int = 1, **person: Any) -> None:
    await store.join(queue, [Arrival(person=Person(**person))] * count)


async def held(store: Store, hook: Webhook) -> BoxCounts:
    (counts,) = await store.outbox.counts([hook.id])
    return counts


async def holds(store: Store, hook: Webhook, pending: int, dead: int) -> None:
    async def does() -> bool:
        return await held(store, hook) == (pending, dead)

    await until(does)


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


async def test_a_receiver_that_was_down_gets_everything_once_it_is_back(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    hook = await hook_for(store, receiver, queue)
    receiver.down()
    async with kept(store, 2, patience=Patience(tries=12, first=0.05, factor=1.5, most=0.3)) as outcomes:
        await join(store, queue, 30)
        await until(lambda: outcomes["retried"] >= 40)
        assert await held(store, hook) == (30, 0)
        page = await store.outbox.deliveries(hook.id, DeliveryState.PENDING, None, 100)
        assert "no connection" in {each.error[:13] for each in page.deliveries}
        receiver.up()
        await holds(store, hook, 0, 0)
    assert len(receiver.ids) == len(set(receiver.ids)) == outcomes["sent"] == 30
    assert outcomes["dead"] == 0


async def test_one_that_fails_is_tried_as_often_as_promised_then_kept_and_can_be_replayed(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    desk = WebhookDesk(store, private=True)
    hook = await hook_for(store, receiver, queue)
    receiver.answer = lambda _: (500, {}, b"our database password is hunter2")
    with capture_logs() as logs:
        async with kept(store, 2) as outcomes:
            await join(store, queue, 3)
            await holds(store, hook, 0, 3)
            assert set(Counter(receiver.ids).values()) == {QUICK.tries}
            await until(lambda: outcomes == {"retried": 9, "dead": 3})  # told once the store has noted it
            page = await desk.deliveries(hook.id, DeliveryState.DEAD, None, 10)
            assert {(each.error, each.tries) for each in page.deliveries} == {("answered 500", QUICK.tries)}
            receiver.answer = lambda _: FINE
            first = page.deliveries[0].id
            await desk.replay(hook.id, first)
            await holds(store, hook, 0, 2)
            assert receiver.ids[-1] == first
            with pytest.raises(DeliveryNotFound):
                await desk.replay(hook.id, first)
            assert await desk.replay_all(hook.id) == 2
            await holds(store, hook, 0, 0)
    assert len(set(receiver.ids)) == 3
    assert len({letter.body for letter in receiver.letters}) == 3  # a try is like the one before it, to the byte
    assert "hunter2" not in str(logs)
    assert {log["event"] for log in logs} >= {"delivery.retried", "delivery.dead"}


async def test_gone_is_gone_at_once(store: Store, queue: QueueId, receiver: Receiver) -> None:
    hook = await hook_for(store, receiver, queue)
    receiver.answer = lambda _: (410, {}, b"")
    async with kept(store):
        await join(store, queue)
        await holds(store, hook, 0, 1)
    assert len(receiver.letters) == 1


async def test_whoever_asks_for_a_pause_gets_it(store: Store, queue: QueueId, receiver: Receiver) -> None:
    times: list[float] = []

    def busy(_: Letter) -> Answer:
        times.append(time.monotonic())
        return (503, {"retry-after": "1"}, b"") if len(times) == 1 else FINE

    receiver.answer = busy
    hook = await hook_for(store, receiver, queue)
    async with kept(store, patience=Patience(first=0.01)):
        await join(store, queue)
        await until(lambda: len(times) == 2)
        await holds(store, hook, 0, 0)
    assert times[1] - times[0] >= 1


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
        await WebhookDesk(store, private=False).create(receiver.url, queue, (), include_person=False, active=True)
    # What is written otherwise tells nothing until it is looked up.
    sly = receiver.url.replace("127.0.0.1", "2130706433")
    hook = await WebhookDesk(store, private=False).create(sly, queue, (), include_person=False, active=True)
    async with kept(store, private=False):
        await join(store, queue)
        await holds(store, hook, 0, 1)
    outcome, _ = await WebhookDesk(store, private=False).ping(hook.id)
    assert not outcome.sent
    assert "private address" in outcome.error
    assert receiver.letters == []


async def test_a_slow_receiver_is_not_crowded_and_the_line_does_not_notice(
    store: Store, queue: QueueId, receiver: Receiver
) -> None:
    hook = await hook_for(store, receiver, queue, Topic.JOINED)
    quick = Receiver()
    receiver.gate.clear()
    fast = await hook_for(store, quick, queue, Topic.JOINED)
    async with kept(store):
        for _ in range(20):
            await join(store, queue, 5)
            assert len((await store.admit(queue, 5)).items) == 5
        await holds(store, fast, 0, 0)  # one receiver does not wait for another
        await until(lambda: len(quick.letters) == 100)
        assert await held(store, hook) == (100, 0)
        await until(lambda: receiver.most_at_once == AT_ONCE)
        receiver.gate.set()
        await holds(store, hook, 0, 0)
        assert len(set(receiver.ids)) == len(receiver.ids) == 100
    quick.down()


async def test_a_full_outbox_waits_and_nothing_is_missed(
    store: Store, queue: QueueId, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "PENDING", 12)
    monkeypatch.setattr(dispatch, "STEP", 10)
    hook = await hook_for(store, receiver, queue)
    receiver.down()
    async with kept(store, patience=Patience(first=0.1, factor=1)) as outcomes:
        await join(store, queue, 45)
        await until(lambda: outcomes["retried"] > 20)
        assert (await held(store, hook)).pending <= 12
        receiver.up()
        await until(lambda: len(receiver.ids) == 45)
        await holds(store, hook, 0, 0)
    assert len(set(receiver.ids)) == 45


async def test_one_that_is_paused_goes_on_from_where_it_was(store: Store, queue: QueueId, receiver: Receiver) -> None:
    desk = WebhookDesk(store, private=True)
    hook = await hook_for(store, receiver, queue)
    await desk.change(hook.id, {"active": False})
    bystander = Receiver()
    await hook_for(store, bystander, queue)
    async with kept(store):
        await join(store, queue, 3)
        await until(lambda: len(bystander.letters) == 3)
        assert receiver.letters == []
        await desk.change(hook.id, {"active": True})
        await until(lambda: len(receiver.letters) == 3)
    bystander.down()


async def test_events_that_were_gone_too_soon_are_said(
    store: Store, backend: str, queue: QueueId, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "STEP", 10)
    hook = await hook_for(store, receiver, queue)
    missed: list[str] = []
    await join(store, queue, 5)
    await Dispatch(room_of(store), private=True, on_lost=missed.append).take()
    await join(store, queue, 30)
    await Dispatch(room_of(store), private=True, on_lost=missed.append).take()
    assert missed == []
    await join(store, queue, 60)
    await trim(backend, queue, 40)
    with capture_logs() as logs:
        await Dispatch(room_of(store), private=True, on_lost=missed.append).take()
    assert missed == ["webhook"]
    assert [log["box"] for log in logs if log["event"] == "delivery.events_lost"] == [hook.id]
    assert await held(store, hook) == (75, 0)


async def trim(backend: str, queue: QueueId, keep: int) -> None:
    """What the store does by itself after 100,000 events."""
    if backend in OWNERS:
        async with await postgres.connect(OWNERS[backend]) as connection:
            await connection.execute(
                "DELETE FROM fairline.events e USING fairline.queues q, fairline.counters c WHERE q.id = %s"
                " AND e.queue = q.key AND c.queue = q.key AND e.id <= c.event - %s",
                [queue, keep],
            )
        return
    client = valkey.connect(backend, 1)
    await client.xtrim(key(queue, "events"), maxlen=keep, approximate=False)
    await client.aclose()


async def test_what_is_removed_is_not_told_any_more(store: Store, queue: QueueId, receiver: Receiver) -> None:
    desk = WebhookDesk(store, private=True)
    hook = await hook_for(store, receiver, queue)
    receiver.down()
    async with kept(store) as outcomes:
        await join(store, queue, 3)
        await until(lambda: outcomes["retried"] > 0)
        await desk.remove(hook.id)
        receiver.up()
        await join(store, queue, 3)
        other = await hook_for(store, receiver, queue)
        await join(store, queue, 1)
        await until(lambda: receiver.letters != [])
        await holds(store, other, 0, 0)
    assert len(receiver.letters) == 1
    assert await held(store, hook) == (0, 0)
    with pytest.raises(WebhookNotFound):
        await desk.remove(hook.id)


async def test_there_is_an_end_to_how_many_there_may_be(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "MOST", 1)
    await hook_for(store, receiver, None)
    with pytest.raises(TooManyWebhooks):
        await hook_for(store, receiver, None)
    monkeypatch.setattr(desk_module, "MOST", 2)
    with pytest.raises(QueueNotFound):
        await hook_for(store, receiver, QueueId("nowhere"))


DYING = """
import asyncio, sys
from fairline.keeper.outbox import Courier
from fairline.keeper.webhooks import post
from fairline.store import open_store
from functools import partial

async def main(url, hook_id):
    store = await open_store(url)
    hook = await store.registry.webhook(hook_id)
    courier = Courier(store.outbox, "webhook", round_seconds=0.02, claim_seconds=1)
    await courier.run(lambda: {hook.id: partial(post, hook, True)})

asyncio.run(main(*sys.argv[1:]))
"""


async def test_what_a_killed_keeper_had_in_its_hands_is_sent_by_another(
    store: Store, backend: str, queue: QueueId, receiver: Receiver
) -> None:
    hook = await hook_for(store, receiver, queue)
    receiver.gate.clear()
    await join(store, queue, 3)
    await Dispatch(room_of(store), private=True).take()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, backend, hook.id)
    try:
        await until(lambda: len(receiver.letters) == 3)
    finally:
        process.kill()
        await process.wait()
    assert await held(store, hook) == (3, 0)
    receiver.gate.set()
    async with kept(store):
        await holds(store, hook, 0, 0)
    assert Counter(Counter(receiver.ids).values()) == {2: 3}


async def test_a_channel_is_a_plain_function(store: Store) -> None:
    box, sent = secrets.token_hex(6), []
    await store.outbox.open(box, {})
    await store.outbox.take(box, QueueId("any"), None, "1", [Parcel("a", "Dear Ada"), Parcel("b", "?")], 10)

    async def by_pigeon(delivery: Delivery) -> Outcome:
        sent.append(delivery.payload)
        if delivery.payload == "?":
            raise ValueError("the pigeon does not understand")
        return Outcome(sent=True)

    courier = Courier(store.outbox, "pigeon", patience=Patience(tries=1))
    with capture_logs() as logs:
        await courier.round({box: by_pigeon})
        await courier.idle()
    assert sorted(sent) == ["?", "Dear Ada"]
    assert [log["event"] for log in logs] == ["delivery.failed", "delivery.dead"]
    assert (await store.outbox.counts([box])) == [(0, 1)]
    await store.outbox.drop(box)


def test_patience_is_what_is_promised() -> None:
    pauses = [Patience().pause(tries, None) for tries in range(1, 12)]
    assert 0.8 <= pauses[0] <= 1.2
    assert all(2880 <= pause <= 4320 for pause in pauses[-3:])
    assert 3 * 3600 < sum(pauses) < 5 * 3600
    assert Patience().pause(1, 90) == 90
    assert Patience().pause(1, 1e9) == 3600


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
