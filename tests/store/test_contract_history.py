"""The history of a queue's settings: who left them how, and when; and a queue that is removed at a version."""

from __future__ import annotations

import asyncio

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import checked
from fairline.errors import QueueNotFound, SettingsChanged
from fairline.store import Revision, Store
from fairline.store.contract import REVISIONS_KEPT
from tests.backends import FakeClock
from tests.conftest import OpenStore
from tests.store.test_contract_queues import OTHER
from tests.store.venue import OpenVenue


async def test_every_change_is_kept_with_who_when_and_what(store: Store, queue: QueueId, clock: FakeClock) -> None:
    made = clock()
    await store.create(queue, checked({"name": "A"}), "k1")
    first = (await store.settings(queue)).version
    clock.advance(5)
    await store.configure(queue, checked(OTHER), first, "k2")
    clock.advance(5)
    await store.configure(queue, QueueSettings(), first + 1)
    assert await store.history(queue, None, 10) == [
        Revision(first + 2, made + 10_000, "", QueueSettings(), first=False),
        Revision(first + 1, made + 5_000, "k2", checked(OTHER), first=False),
        Revision(first, made, "k1", checked({"name": "A"}), first=True),
    ]


async def test_history_is_read_a_page_at_a_time(venue: OpenVenue) -> None:
    v = await venue()
    for number in range(5):
        await v.configure(max_active=number + 1)
    whole = await v.store.history(v.queue, None, 100)
    assert len(whole) == 6
    found: list[Revision] = []
    before = None
    while page := await v.store.history(v.queue, before, 2):
        assert len(page) <= 2
        found += page
        before = page[-1].version
    assert found == whole


async def test_a_change_that_is_refused_is_no_part_of_history(venue: OpenVenue, another_store: OpenStore) -> None:
    v = await venue()
    stores = [v.store, await another_store()]
    version = (await v.store.settings(v.queue)).version
    changes = (stores[n % 2].configure(v.queue, checked({"max_active": n + 1}), version, f"k{n}") for n in range(6))
    done = await asyncio.gather(*changes, return_exceptions=True)
    (number,) = (n for n, each in enumerate(done) if not isinstance(each, SettingsChanged))
    history = await v.store.history(v.queue, None, 10)
    assert [(each.version, each.by) for each in history] == [(version + 1, f"k{number}"), (version, "")]


async def test_the_last_changes_are_kept_and_no_more(venue: OpenVenue) -> None:
    v = await venue()
    first = (await v.store.settings(v.queue)).version
    for number in range(REVISIONS_KEPT + 2):
        await v.store.configure(v.queue, QueueSettings(max_active=number + 1), first + number)
    kept = await v.store.history(v.queue, None, 1000)
    newest = first + REVISIONS_KEPT + 2
    assert [each.version for each in kept] == [*range(newest, newest - REVISIONS_KEPT, -1)]
    assert not any(each.first for each in kept)


async def test_a_recreated_queue_has_a_history_of_its_own(venue: OpenVenue) -> None:
    v = await venue()
    await v.configure(max_active=5)
    await v.store.delete(v.queue)
    v.clock.advance(1)
    await v.store.create(v.queue, QueueSettings(), "k9")
    (only,) = await v.store.history(v.queue, None, 10)
    assert (only.by, only.settings, only.first) == ("k9", QueueSettings(), True)


async def test_a_queue_that_was_changed_meanwhile_is_not_removed(venue: OpenVenue) -> None:
    v = await venue()
    await v.join()
    version = (await v.store.settings(v.queue)).version
    await v.configure(max_active=5)
    before = await v.everything()
    for wrong in (version, version + 2, 0):
        with pytest.raises(SettingsChanged) as refused:
            await v.store.delete(v.queue, wrong)
        assert refused.value.found == version + 1
    assert await v.everything() == before
    assert v.queue in await v.store.queues()
    await v.store.delete(v.queue, version + 1)
    with pytest.raises(QueueNotFound):
        await v.store.snapshot(v.queue)
    assert v.queue not in await v.store.queues()
