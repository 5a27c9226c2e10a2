"""All at once: whoever comes, gives up or is refused in a crowd, everyone has their own answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.errors import FairlineError
from fairline.service.answers import Welcome
from fairline.service.fairline import Room
from tests.conftest import MakeQueue
from tests.room.people import OpenRoom, admit, join, joined_total


@pytest.mark.parametrize("workers", [1, 4])
async def test_in_a_rush_everyone_gets_a_number_of_their_own_and_goes_in_by_it(
    open_room: OpenRoom, make_queue: MakeQueue, workers: int
) -> None:
    queue = await make_queue(admission_rate=100_000, max_active=100_000)
    rooms = [await open_room() for _ in range(workers)]

    async def crowd(task: int) -> list[int]:
        room = rooms[task % workers]
        return [(await join(room, queue, client_id=f"client-{task}-{turn}")).standing.number for turn in range(50)]

    crowds = await asyncio.gather(*(crowd(task) for task in range(64)))
    numbers = [number for numbers in crowds for number in numbers]
    assert sorted(numbers) == list(range(1, 64 * 50 + 1))
    assert all(numbers == sorted(numbers) for numbers in crowds), "who was answered first is first"
    admitted: list[int] = []
    while going := await admit(rooms[0], queue):
        admitted += going
    assert admitted == sorted(numbers)


async def test_the_same_client_many_times_at_once_holds_one_ticket(open_room: OpenRoom, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    rooms = [await open_room() for _ in range(2)]
    answers = await asyncio.gather(*(join(rooms[n % 2], queue, client_id="client-ann") for n in range(50)))
    assert {answer.standing.number for answer in answers} == {1}
    assert [answer.created for answer in answers].count(True) == 1
    assert await joined_total(rooms[0], queue) == 1


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
async def test_joins_cancelled_at_any_moment_and_tried_again_are_each_one_ticket(
    open_room: OpenRoom, make_queue: MakeQueue, seed: int
) -> None:
    chance = random.Random(seed)
    queue = await make_queue(one_per="none")
    rooms = [await open_room() for _ in range(2)]
    answered: dict[int, int] = {}

    async def attempt(n: int) -> None:
        answered[n] = (await join(chance.choice(rooms), queue, idempotency_key=f"key-{n}")).standing.number

    attempts = []
    for n in range(500):
        attempts.append(asyncio.create_task(attempt(n)))
        if chance.random() < 0.5:
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.02), attempts[-1].cancel)
        if chance.random() < 0.1:
            await asyncio.sleep(chance.choice((0, 0, 0.001)))
    await asyncio.wait(attempts)
    assert len(answered) < 500, "some must have been cancelled for this to mean anything"
    first = dict(answered)
    await asyncio.gather(*(attempt(n) for n in range(500)))
    assert sorted(answered.values()) == list(range(1, 501))
    assert all(answered[n] == number for n, number in first.items())
    assert await joined_total(rooms[0], queue) == 500


async def test_calls_cancelled_in_mid_answer_neither_mix_up_answers_nor_use_up_connections(
    room: Room, make_queue: MakeQueue
) -> None:
    chance = random.Random(4)
    queue = await make_queue()
    for _ in range(40):
        await join(room, queue)
    mixed_up = []

    async def look(number: int) -> None:
        ticket = await room.ticket(queue, number)
        if (ticket.number, ticket.position) != (number, number):
            mixed_up.append((number, ticket))

    for _ in range(40):
        tasks = [asyncio.create_task(look(chance.randint(1, 40))) for _ in range(40)]
        for task in chance.sample(tasks, 25):
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.005), task.cancel)
        done, _ = await asyncio.wait(tasks)
        assert not [error for task in done if not task.cancelled() and (error := task.exception())]
    async with asyncio.timeout(30):
        await asyncio.gather(*(look(number) for number in range(1, 41)))
    assert mixed_up == []


async def test_close_lets_everything_that_was_asked_for_be_done(open_room: OpenRoom, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    room = await open_room()
    answers: list[Welcome | Exception] = []
    for _ in range(600):
        room.join(queue, JoinRequest(), Caller()).then(answers.append)
    await room.close()
    assert sorted(told.standing.number for told in answers if isinstance(told, Welcome)) == list(range(1, 601))


async def test_two_who_ask_for_the_same_are_two_calls(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    told = {"seat": [1, 2]}
    asked = [room.join(queue, JoinRequest(metadata=told), Caller()) for _ in range(3)]
    numbers = [welcome.standing.number for welcome in await asyncio.gather(*asked)]
    assert sorted(numbers) == [1, 2, 3]


async def test_one_refused_call_in_a_batch_is_one_callers_alone(room: Room, make_queue: MakeQueue) -> None:
    queue = await make_queue(max_queue_size=5)
    outcomes = await asyncio.gather(*(join(room, queue) for _ in range(8)), return_exceptions=True)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Welcome": 5, "QueueFull": 3}
    beats: list[Awaitable[object]] = [room.beat(queue, n) for n in (1, 99, 2)]
    answers = await asyncio.gather(*beats, return_exceptions=True)
    assert [isinstance(answer, FairlineError) for answer in answers] == [False, True, False]
