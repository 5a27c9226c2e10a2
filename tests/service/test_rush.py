"""All at once: everyone who comes, gives up or is refused in a crowd has their own answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.errors import FairlineError
from fairline.service.answers import JoinAnswer
from fairline.service.fairline import Fairline
from tests.conftest import MakeQueue
from tests.service.people import OpenService, admit, join, joined_total


@pytest.mark.parametrize("workers", [1, 4])
async def test_in_a_rush_everyone_gets_a_number_of_their_own_and_goes_in_by_it(
    open_service: OpenService, make_queue: MakeQueue, workers: int
) -> None:
    queue = await make_queue(admission_rate=100_000, max_active=100_000)
    services = [await open_service() for _ in range(workers)]

    async def crowd(task: int) -> list[int]:
        service = services[task % workers]
        return [
            (await join(service, queue, client_id=f"client-{task}-{turn}")).ticket_status.number for turn in range(50)
        ]

    crowds = await asyncio.gather(*(crowd(task) for task in range(64)))
    numbers = [number for numbers in crowds for number in numbers]
    assert sorted(numbers) == list(range(1, 64 * 50 + 1))
    assert all(numbers == sorted(numbers) for numbers in crowds), "who was answered first is first"
    admitted: list[int] = []
    while going := await admit(services[0], queue):
        admitted += going
    assert admitted == sorted(numbers)


async def test_the_same_client_many_times_at_once_holds_one_ticket(
    open_service: OpenService, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    services = [await open_service() for _ in range(2)]
    answers = await asyncio.gather(*(join(services[n % 2], queue, client_id="client-ann") for n in range(50)))
    assert {answer.ticket_status.number for answer in answers} == {1}
    assert [answer.created for answer in answers].count(True) == 1
    assert await joined_total(services[0], queue) == 1


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
async def test_joins_cancelled_at_any_moment_and_tried_again_are_each_one_ticket(
    open_service: OpenService, make_queue: MakeQueue, seed: int
) -> None:
    chance = random.Random(seed)
    queue = await make_queue(one_per="none")
    services = [await open_service() for _ in range(2)]
    answered: dict[int, int] = {}

    async def attempt(n: int) -> None:
        answered[n] = (await join(chance.choice(services), queue, idempotency_key=f"key-{n}")).ticket_status.number

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
    assert await joined_total(services[0], queue) == 500


async def test_calls_cancelled_in_mid_answer_neither_mix_up_answers_nor_use_up_connections(
    service: Fairline, make_queue: MakeQueue
) -> None:
    chance = random.Random(4)
    queue = await make_queue()
    for _ in range(40):
        await join(service, queue)
    mixed_up = []

    async def look(number: int) -> None:
        ticket = await service.ticket(queue, number)
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


async def test_close_lets_everything_that_was_asked_for_be_done(
    open_service: OpenService, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    service = await open_service()
    answers: list[JoinAnswer | Exception] = []
    for _ in range(600):
        service.join(queue, JoinRequest(), Caller()).then(answers.append)
    await service.close()
    assert sorted(told.ticket_status.number for told in answers if isinstance(told, JoinAnswer)) == list(range(1, 601))


async def test_two_who_ask_for_the_same_are_two_calls(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    told = {"seat": [1, 2]}
    asked = [service.join(queue, JoinRequest(metadata=told), Caller()) for _ in range(3)]
    numbers = [welcome.ticket_status.number for welcome in await asyncio.gather(*asked)]
    assert sorted(numbers) == [1, 2, 3]


async def test_one_refused_call_in_a_batch_is_one_callers_alone(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(max_queue_size=5)
    outcomes = await asyncio.gather(*(join(service, queue) for _ in range(8)), return_exceptions=True)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"JoinAnswer": 5, "QueueFull": 3}
    heartbeats: list[Awaitable[object]] = [service.heartbeat(queue, n) for n in (1, 99, 2)]
    answers = await asyncio.gather(*heartbeats, return_exceptions=True)
    assert [isinstance(answer, FairlineError) for answer in answers] == [False, True, False]
