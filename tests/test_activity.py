"""Signs of life of people inside: written together, soon, and none of them lost in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from fairline import activity
from fairline.activity import Activity
from fairline.errors import StoreUnavailable
from fairline.queue import QueueId
from fairline.room import Room
from fairline.store import Arrival, Store, open_store
from fairline.token import Keyring
from tests.backends import Valkey
from tests.web.inside import until

QUEUE = QueueId("inside")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    backend = Valkey(tmp_path_factory.mktemp("activity"))
    yield backend.start()
    backend.stop()


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    opened = await open_store(url)
    yield opened
    await opened.delete(QUEUE)
    await opened.close()


async def inside(store: Store, people: int, **settings: object) -> Room:
    """A room with people inside, each known as `me`."""
    room = Room(store, Keyring(b"x" * 32))
    await room.create(QUEUE, {"max_active": 5000, **settings})
    await store.join(QUEUE, [Arrival()] * people)
    for _ in range(0, people, 100):
        await store.call_next(QUEUE, 100)
    for number in range(1, people + 1):
        await room.start(QUEUE, number, "me")
    return room


async def views(store: Store, number: int = 1) -> int:
    (ticket,) = (await store.look_up(QUEUE, [number])).items
    assert ticket
    return ticket.page_views


async def test_page_views_are_counted_within_about_a_second(store: Store) -> None:
    room = await inside(store, 1)
    for _ in range(5):
        await room.visit(QUEUE, 1, "me")

    async def counted() -> bool:
        return await views(store) == 5

    await until(counted)
    for _ in range(2):
        await room.visit(QUEUE, 1, "me")
    await room.close()
    assert await views(store) == 7


async def test_to_close_writes_what_is_left(store: Store) -> None:
    room = await inside(store, 1)
    await room.visit(QUEUE, 1, "me")
    await room.close()
    assert await views(store) == 1


async def test_a_session_that_is_about_to_end_is_kept_alive_at_once(store: Store) -> None:
    room = await inside(store, 1, session_seconds=3)
    (before,) = (await store.look_up(QUEUE, [1])).items
    await room.visit(QUEUE, 1, "me")
    (after,) = (await store.look_up(QUEUE, [1])).items
    assert before
    assert after
    assert before.deadline
    assert after.deadline
    assert (after.page_views, after.deadline > before.deadline) == (1, True)
    await room.close()


async def test_more_than_one_batch_is_written_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "MAX_BATCH", 2)
    room = await inside(store, 5)
    for number in (1, 2, 3, 4, 5, 5):
        await room.visit(QUEUE, number, "me")
    await room.close()
    assert [await views(store, number) for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 2]


async def test_an_outage_of_the_store_is_waited_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    room = await inside(store, 1)
    noted = Activity(store)
    by = room.identity.session("me")
    noted.note(QUEUE, 1, by)
    visit = store.visit

    async def away(*_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "visit", away)
    await noted.write()
    monkeypatch.setattr(store, "visit", visit)
    noted.note(QUEUE, 1, by)
    await noted.close()
    assert await views(store) == 2
    await room.close()
