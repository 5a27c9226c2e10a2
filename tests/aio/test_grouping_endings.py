"""Grouping: who is answered with what, where something fails, gives up or ends."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections.abc import Sequence

import pytest

from fairline.errors import FairlineError, QueueFull, StoreUnavailable
from tests.aio.fake_store import FakeStore, answered, group, outcomes

# Errors


async def test_an_error_of_one_call_reaches_its_caller_alone(store: FakeStore) -> None:
    async def refuse_odd(key: str, items: list[int]) -> Sequence[str | FairlineError]:
        return [QueueFull("a", item) if item % 2 else f"a{item}" for item in items]

    store.answer = refuse_odd
    calls = group(store)
    asked = [calls.call("a", n) for n in range(4)]
    store.let()
    zero, one, two, three = await outcomes(asked)
    assert (zero, two) == ("a0", "a2")
    assert isinstance(one, QueueFull)
    assert "1 waiting" in one.message
    assert isinstance(three, QueueFull)
    assert "3 waiting" in three.message


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), RuntimeError("an internal mistake"), TimeoutError()])
async def test_a_call_that_fails_as_a_whole_reaches_everyone_in_it_and_the_next_works(
    store: FakeStore, error: Exception
) -> None:
    async def fail_once(key: str, items: list[int]) -> Sequence[str | FairlineError]:
        store.answer = answered
        raise error

    store.answer = fail_once
    calls = group(store)
    failing = [calls.call("a", n) for n in range(3)]
    await store.has(1)
    next_ones = [calls.call("a", n) for n in range(3, 6)]
    store.let(2)
    assert await outcomes(failing) == [error] * 3
    assert await outcomes(next_ones) == ["a3", "a4", "a5"]
    store.let()
    assert await outcomes([calls.call("a", 6)]) == ["a6"]


@pytest.mark.parametrize("too_many", [-3, -1, 1])
async def test_nobody_is_left_waiting_by_an_answer_of_the_wrong_length(store: FakeStore, too_many: int) -> None:
    async def miscount(key: str, items: list[int]) -> Sequence[str | FairlineError]:
        store.answer = answered
        return [f"{key}{item}" for item in range(len(items) + too_many)]

    store.answer = miscount
    calls = group(store)
    asked = [calls.call("a", n) for n in range(3)]
    store.let()
    assert [type(error) for error in await outcomes(asked)] == [ValueError] * 3
    store.let()
    assert await outcomes([calls.call("a", 9)]) == ["a9"]


# Callers who give up


async def test_a_call_cancelled_before_it_is_sent_is_never_sent(store: FakeStore) -> None:
    calls = group(store)
    at_once = calls.call("a", 0)
    at_once.cancel()
    first = calls.call("a", 1)
    await store.has(1)
    waiting = [calls.call("a", n) for n in (2, 3, 4)]
    waiting[1].cancel()
    store.let(2)
    assert await first == "a1"
    assert await outcomes([waiting[0], waiting[2]]) == ["a2", "a4"]
    assert store.sent == [("a", [1]), ("a", [2, 4])]


async def test_where_all_were_cancelled_nothing_is_sent(store: FakeStore) -> None:
    calls = group(store)
    for n in range(5):
        calls.call("a", n).cancel()
    await store.has(0)
    store.let()
    assert await calls.call("a", 9) == "a9"
    assert store.items == [9]


async def test_a_call_cancelled_after_it_was_sent_is_done_once_and_the_others_are_answered(store: FakeStore) -> None:
    calls = group(store)
    asked = [calls.call("a", n) for n in range(3)]
    await store.has(1)
    asked[1].cancel()
    waiting = calls.call("a", 3)
    store.let(2)
    assert await outcomes([asked[0], asked[2], waiting]) == ["a0", "a2", "a3"]
    assert asked[1].cancelled()
    assert store.sent == [("a", [0, 1, 2]), ("a", [3])]


async def test_the_caller_that_started_the_sending_can_give_up_without_stopping_it(store: FakeStore) -> None:
    calls = group(store)

    async def someone(n: int) -> str:
        return await calls.call("a", n)

    first, second = (asyncio.create_task(someone(n)) for n in range(2))
    await store.has(1)
    first.cancel()
    await asyncio.wait([first])
    store.let()
    assert await second == "a1"


async def test_in_any_mix_of_calls_and_cancellations_each_is_sent_at_most_once(store: FakeStore) -> None:
    chance = random.Random(1)
    calls = group(store, batch=7)
    asked: dict[int, asyncio.Future[str]] = {}
    for n in range(2000):
        asked[n] = calls.call(chance.choice("ab"), n)
        if chance.random() < 0.3:
            asked[chance.randrange(n + 1)].cancel()
        if chance.random() < 0.3:
            store.let(1, chance.choice("ab"))
        if chance.random() < 0.2:
            await asyncio.sleep(0)
    for key in "ab":
        store.let(2000, key)
    got = await outcomes(asked.values())
    assert len(store.items) == len(set(store.items))
    for n, result in enumerate(got):
        assert isinstance(result, asyncio.CancelledError) or result in (f"a{n}", f"b{n}")
        assert isinstance(result, asyncio.CancelledError) or n in store.items


# What is left behind


class Name(str):
    """A key whose end can be noticed."""

    __slots__ = ("__weakref__",)


async def test_nothing_is_kept_for_a_key_that_nobody_asks_for(store: FakeStore) -> None:
    calls = group(store)

    async def fail(key: str, items: list[int]) -> Sequence[str | FairlineError]:
        if items == [1]:
            raise StoreUnavailable("gone")
        return await answered(key, items)

    store.answer = fail
    seen: list[weakref.ref[Name]] = []
    for n in range(3):
        name = Name(f"made up {n}")
        seen.append(weakref.ref(name))
        call = calls.call(name, n)
        if n == 2:
            call.cancel()
        store.let(key=name)
        await outcomes([call])
        del name, call
    await calls.close()
    store.sent.clear()
    store.gates.clear()
    gc.collect()
    assert [name() for name in seen] == [None, None, None]


async def test_close_waits_for_what_is_on_its_way_and_for_what_waits_behind_it(store: FakeStore) -> None:
    calls = group(store, batch=2)
    asked = [calls.call("a", n) for n in range(4)] + [calls.call("b", 4)]
    closing = asyncio.create_task(calls.close())
    await store.has(2)
    assert not closing.done()
    store.let(1, "a")
    store.let(1, "b")
    await store.has(3)
    assert not closing.done()
    store.let(1, "a")
    async with asyncio.timeout(30):
        await closing
    assert [call.result() for call in asked] == ["a0", "a1", "a2", "a3", "b4"]


async def test_close_has_nothing_to_wait_for_where_nothing_is_under_way(store: FakeStore) -> None:
    async with asyncio.timeout(30):
        await group(store).close()


async def test_nobody_is_left_waiting_when_the_loop_ends(store: FakeStore) -> None:
    others = asyncio.all_tasks()  # the loop is that of all tests, and so are the connections to their stores
    calls = group(store, batch=2, bound=5)
    asked = [calls.call("a", n) for n in range(5)]
    await store.has(1)
    for task in asyncio.all_tasks() - others:
        task.cancel()
    assert [type(error) for error in await outcomes(asked)] == [FairlineError] * 5
    assert store.items == [0, 1]
    store.let(3)
    assert await outcomes(calls.call("a", n) for n in range(5)) == ["a0", "a1", "a2", "a3", "a4"]
