"""The keys on Valkey: one hash tag for a queue, nothing that stays, no expiry that decides anything."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis
from redis.crc import key_slot

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import SETTINGS, QueueSettings
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Came, Status
from fairline.store import Arrival, EstimateSample, Joined, open_store
from fairline.store.valkey import keys
from fairline.store.valkey.client import Connection, connect
from fairline.store.valkey.keys import BOX_PARTS, PARTS, key, queue_keys, rate_key
from tests.backends import FakeClock
from tests.store.test_contract_queues import OTHER
from tests.store.venue import Venue


@pytest.fixture
async def raw(valkey_url: str) -> AsyncIterator[Connection]:
    """The server itself."""
    client = connect(valkey_url, 1)
    assert isinstance(client, Redis)
    yield client
    await client.aclose()


@pytest.fixture
async def busy(valkey_url: str, queue: QueueId, clock: FakeClock) -> AsyncIterator[Venue]:
    """A queue that has written every kind of key."""
    store = await open_store(valkey_url, clock=clock)
    v = Venue(store, queue, clock)
    await store.create(queue, QueueSettings(group_size=2))
    for status in Status:
        await v.one(status, client=status.encode(), key=status.encode())
    await store.join(queue, [Arrival(address=b"home", phone=b"mine")])
    await v.act(Action.HOLD, (await v.join()).ticket.number)
    await v.join(on_hold=True, came=Came("elsewhere", 1, 1))
    first = (await v.join()).ticket
    await v.join(group=(first.number, first.joined))
    await store.set_desk(queue, "Desk 1", is_open=True)
    await store.issue_priority_pass(queue, "vip", 1, 1, 60)
    await store.revoke(queue, 1, "abuse")
    await store.record_estimates(queue, [EstimateSample(6, 1, 1, 1)])
    clock.advance(3 * 86_400)
    await store.sweep(queue, 100)  # nobody swept for so long: time stood still for all of them
    await store.limit(queue, "ip:1", "verify", 1, 60)
    yield v
    await store.close()


async def expiries(raw: Connection, queue: QueueId) -> dict[str, int]:
    """All keys of a queue on the server, with the ms until each expires; -1 is never."""
    names = [name.decode() async for name in raw.scan_iter(match=f"*{queue}*", count=10_000)]
    return {name: await raw.pttl(name) for name in names}


async def test_all_keys_of_a_queue_are_built_in_one_place_and_share_its_hash_tag(busy: Venue, raw: Connection) -> None:
    found = await expiries(raw, busy.queue)
    limits = {name for name in found if name.startswith(rate_key(busy.queue, "", "")[:-1])}
    assert set(found) == {*queue_keys(busy.queue), *limits}
    assert len(limits) == 3
    assert len({key_slot(name.encode()) for name in found}) == 1
    assert tuple(key(busy.queue, part) for part in PARTS) == queue_keys(busy.queue)


def test_every_key_of_a_queue_and_of_an_outbox_is_described() -> None:
    told = keys.__doc__ or ""
    assert [part for part in PARTS if f":{part}`" not in told] == []
    assert [part for part in BOX_PARTS if f"`fl:{{@box}}:{part}`" not in told] == []


async def test_a_queue_that_is_older_than_its_settings_has_their_defaults(
    valkey_url: str, raw: Connection, queue: QueueId, clock: FakeClock
) -> None:
    store = await open_store(valkey_url, clock=clock)
    v = Venue(store, queue, clock)
    await store.create(queue, checked(OTHER))
    await raw.hdel(key(queue, "queue"), *SETTINGS)
    try:
        assert (await store.settings(queue)).settings == QueueSettings()
        reply = await store.join(queue, [Arrival(address=b"home", client=bytes([n])) for n in range(21)])
        assert [isinstance(item, Joined) for item in reply.items] == [True] * 20 + [False]  # join_limit_per_ip
        first = await store.look_up(queue, [1])
        assert first.items[0]
        assert first.items[0].deadline == clock() + 90_000
        assert (await store.prioritise(queue, 5, 3)).position == 1  # priority_policy, priority_skip
        assert (await store.admit(queue, 100)).items == [5, *range(1, 5), *range(6, 11)]  # burst of the rate
        assert len(await store.call_next(queue, 1, desk="Any")) == 1
        await v.act(Action.COMPLETE, 5)
    finally:
        await store.close()


async def test_no_expiry_decides_anything(busy: Venue, raw: Connection) -> None:
    found = await expiries(raw, busy.queue)
    assert {name for name, expires in found.items() if expires == -1} == set(queue_keys(busy.queue))


async def test_nothing_of_a_removed_queue_stays_for_good(busy: Venue, raw: Connection) -> None:
    await busy.store.delete(busy.queue)
    left = await expiries(raw, busy.queue)
    assert not set(left) & set(queue_keys(busy.queue))
    assert all(0 < expires <= 3_600_000 for expires in left.values())  # limits, until their windows are over
