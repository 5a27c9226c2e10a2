"""Grouping: who goes out with whom, and how many may."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from fairline.aio import grouping
from fairline.aio.grouping import GroupedCall, Grouping
from fairline.errors import FairlineError, StoreOverloaded, StoreUnavailable
from tests.grouping.fake_store import FakeStore, answered, group, outcomes

# Who goes out together


async def test_calls_that_arrive_while_one_is_under_way_form_the_next(store: FakeStore) -> None:
    calls = group(store)
    first = calls.call("a", 1)
    await store.has(1)
    later = [calls.call("a", n) for n in (2, 3)]
    await store.has(1)
    later.append(calls.call("a", 4))
    store.let(1)
    await store.has(2)
    assert first.result() == "a1"
    assert not any(call.done() for call in later)
    store.let(1)
    assert await outcomes(later) == ["a2", "a3", "a4"]
    assert store.sent == [("a", [1]), ("a", [2, 3, 4])]


async def test_calls_of_one_turn_of_the_loop_go_out_together(store: FakeStore) -> None:
    calls = group(store)
    store.let()

    async def someone(n: int) -> str:
        return await calls.call("a", n)

    assert await asyncio.gather(*(someone(n) for n in range(50))) == [f"a{n}" for n in range(50)]
    assert store.sent == [("a", list(range(50)))]


async def test_whoever_asks_again_as_soon_as_they_are_answered_goes_with_those_who_wait(store: FakeStore) -> None:
    calls = group(store)

    async def twice(n: int) -> None:
        await calls.call("a", n)
        await calls.call("a", n + 10)

    asking = [asyncio.ensure_future(twice(n)) for n in (1, 2)]
    await store.has(1)
    waiting = calls.call("a", 3)
    store.let(2)
    await asyncio.gather(*asking, waiting)
    assert store.sent == [("a", [1, 2]), ("a", [3, 11, 12])]


async def one_under_way_and_one_waiting(
    calls: Grouping[str, int, str], store: FakeStore
) -> tuple[asyncio.Future[str], list[asyncio.Future[str]]]:
    first = calls.call("a", 0)
    await store.has(1)
    return first, [calls.call("a", 1)]


async def test_the_next_call_waits_for_as_long_as_more_come_one_after_the_other(store: FakeStore) -> None:
    calls = group(store)
    first, coming = await one_under_way_and_one_waiting(calls, store)
    store.let(2)
    await first
    for n in (2, 3, 4):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        coming.append(calls.call("a", n))
    await asyncio.gather(*coming)
    assert store.sent == [("a", [0]), ("a", [1, 2, 3, 4])]


async def test_nobody_is_kept_waiting_without_end_by_those_who_come_after_them(store: FakeStore) -> None:
    calls = group(store)
    first, coming = await one_under_way_and_one_waiting(calls, store)
    store.let(1)
    await first
    while len(store.sent) < 2:
        await asyncio.sleep(0)
        coming.append(calls.call("a", 2))
        assert len(coming) < 50
    store.let(50)
    await asyncio.gather(*coming)


async def test_a_batch_that_is_full_waits_for_nobody(store: FakeStore) -> None:
    calls = group(store, batch=3)
    first = calls.call("a", 0)
    await store.has(1)
    waiting = [calls.call("a", n) for n in (1, 2, 3, 4)]
    store.let(3)
    await first
    await asyncio.sleep(0)
    assert store.sent[1] == ("a", [1, 2, 3])
    await asyncio.gather(*waiting)


async def test_a_call_by_itself_waits_for_nobody(store: FakeStore) -> None:
    calls = group(store)
    call = calls.call("a", 1)
    await asyncio.sleep(0)
    assert store.sent == [("a", [1])]
    store.let()
    assert await call == "a1"


async def test_a_batch_has_its_limit_and_keeps_the_order(store: FakeStore) -> None:
    calls = group(store, batch=3)
    asked = [calls.call("a", n) for n in range(8)]
    store.let(3)
    assert await outcomes(asked) == [f"a{n}" for n in range(8)]
    assert [items for _, items in store.sent] == [[0, 1, 2], [3, 4, 5], [6, 7]]


async def test_different_keys_do_not_wait_for_each_other(store: FakeStore) -> None:
    calls = group(store)
    on_hold = calls.call("a", 1)
    await store.has(1)
    store.let(2, "b")
    assert await outcomes([calls.call("b", 1)]) == ["b1"]
    assert await outcomes([calls.call("b", 2)]) == ["b2"]
    assert not on_hold.done()
    store.let()
    assert await on_hold == "a1"


# The bound


async def test_over_the_bound_a_call_is_refused_and_never_sent(store: FakeStore) -> None:
    calls = group(store, bound=3)
    under_way = calls.call("a", 0)
    await store.has(1)
    waiting = [calls.call(key, n) for n, key in enumerate("aaa", 1)]
    for key in "ab":
        with pytest.raises(StoreOverloaded, match=r"3 calls are waiting .* was not sent") as refused:
            await calls.call(key, 99)
        assert refused.value.retry_after
    store.let(2)
    assert await outcomes([under_way, *waiting]) == ["a0", "a1", "a2", "a3"]
    assert 99 not in store.items

    store.let(2)
    assert await outcomes(calls.call("a", n) for n in (4, 5, 6)) == ["a4", "a5", "a6"], "there is room again"


async def test_calls_that_were_given_up_or_failed_leave_room_for_others(store: FakeStore) -> None:
    calls = group(store, bound=4)

    async def fail(key: str, items: list[int]) -> Sequence[str | FairlineError]:
        raise StoreUnavailable("gone")

    store.answer = fail
    for _ in range(20):
        asked = [calls.call("a", n) for n in range(4)]
        asked[0].cancel()
        store.let()
        await outcomes(asked)
    store.answer = answered
    store.let()
    assert await outcomes(calls.call("a", n) for n in range(4)) == ["a0", "a1", "a2", "a3"]


async def test_a_call_that_waited_too_long_is_answered_instead_of_sent(
    store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(grouping, "monotonic", lambda: now)
    calls = Grouping(store.send, batch=2, patience=10)
    first = [calls.call("a", n) for n in range(2)]
    await store.has(1)
    early = [calls.call("a", n) for n in range(2, 9)]
    now += 6
    late = [calls.call("a", n) for n in range(9, 11)]
    now += 6
    store.let(2)
    assert await outcomes(first) == ["a0", "a1"]
    refused = await outcomes(early)
    assert all(isinstance(error, StoreOverloaded) for error in refused)
    assert await outcomes(late) == ["a9", "a10"]
    assert store.sent == [("a", [0, 1]), ("a", [9, 10])]


# Being told instead of waiting


async def test_whoever_asks_with_a_function_is_told_in_the_turn_of_the_batch(store: FakeStore) -> None:
    calls = group(store)
    told: list[str | Exception] = []
    for n in range(3):
        calls.ask("a", n, told.append)
    store.let()
    await calls.close()
    assert told == ["a0", "a1", "a2"]


async def test_one_that_fails_to_take_its_answer_does_not_stop_the_others(store: FakeStore) -> None:
    calls = group(store)
    told: list[str | Exception] = []
    heard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["exception"]))

    def fail(outcome: str | Exception) -> None:
        raise ValueError("I cannot take it.")

    for done in (told.append, fail, told.append):
        calls.ask("a", len(told), done)
    store.let()
    await calls.close()
    assert told == ["a0", "a0"]
    assert [str(error) for error in heard] == ["I cannot take it."]


async def test_nothing_is_asked_before_someone_wants_the_answer(store: FakeStore) -> None:
    calls = group(store)
    asked = GroupedCall(calls, "a", 1)
    await store.has(0)
    store.let()
    assert await asked == "a1"
