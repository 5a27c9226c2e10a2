"""Grouping: who goes out with whom, and who is answered with what."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import pytest

from fairline import grouping
from fairline.errors import FairlineError, QueueFull, StoreOverloaded, StoreUnavailable
from fairline.grouping import Asked, Grouping

Send: TypeAlias = Callable[[str, list[int]], Awaitable[Sequence[str | FairlineError]]]


class FakeStore:
    """Takes calls, and answers each only when the test lets it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[int]]] = []
        self.gates: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))
        self.answer: Send = answered

    async def send(self, key: str, items: list[int]) -> Sequence[str | FairlineError]:
        self.sent.append((key, items))
        await self.gates[key].acquire()
        return await self.answer(key, items)

    def let(self, calls: int = 1, key: str = "a") -> None:
        """Let so many calls be answered, those to come included."""
        for _ in range(calls):
            self.gates[key].release()

    async def has(self, calls: int) -> None:
        """Wait until so many calls have come, and nothing more could come by itself."""
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(self.sent) == calls, self.sent

    @property
    def items(self) -> list[int]:
        return [item for _, items in self.sent for item in items]


async def answered(key: str, items: list[int]) -> Sequence[str | FairlineError]:
    return [f"{key}{item}" for item in items]


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def group(store: FakeStore, batch: int = 250, bound: int = 20_000) -> Grouping[str, int, str]:
    return Grouping(store.send, batch=batch, bound=bound)


async def outcomes(calls: Iterable[asyncio.Future[str]]) -> list[str | BaseException]:
    async with asyncio.timeout(5):
        return await asyncio.gather(*calls, return_exceptions=True)


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
    held = calls.call("a", 1)
    await store.has(1)
    store.let(2, "b")
    assert await outcomes([calls.call("b", 1)]) == ["b1"]
    assert await outcomes([calls.call("b", 2)]) == ["b2"]
    assert not held.done()
    store.let()
    assert await held == "a1"


# The bound


async def test_over_the_bound_a_call_is_refused_and_never_sent(store: FakeStore) -> None:
    calls = group(store, bound=3)
    under_way = calls.call("a", 0)
    await store.has(1)
    waiting = [calls.call(key, n) for n, key in enumerate("aaa", 1)]
    for key in "ab":
        with pytest.raises(StoreOverloaded, match=r"3 calls wait .* was not made") as refused:
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


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), RuntimeError("a mistake of ours"), TimeoutError()])
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
    async with asyncio.timeout(5):
        await closing
    assert [call.result() for call in asked] == ["a0", "a1", "a2", "a3", "b4"]


async def test_close_has_nothing_to_wait_for_where_nothing_is_under_way(store: FakeStore) -> None:
    async with asyncio.timeout(1):
        await group(store).close()


async def test_nobody_is_left_waiting_when_the_loop_ends(store: FakeStore) -> None:
    calls = group(store, batch=2, bound=5)
    asked = [calls.call("a", n) for n in range(5)]
    await store.has(1)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    assert [type(error) for error in await outcomes(asked)] == [FairlineError] * 5
    assert store.items == [0, 1]
    store.let(3)
    assert await outcomes(calls.call("a", n) for n in range(5)) == ["a0", "a1", "a2", "a3", "a4"]


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
    asked = Asked(calls, "a", 1)
    await store.has(0)
    store.let()
    assert await asked == "a1"
