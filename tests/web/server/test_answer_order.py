"""The order of answers on a connection: whatever is slow, cut or refused, each has its turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from tests.web.raw import Raw, request, slow
from tests.web.server.joins import BOTH_WAYS, STATUS, join, join_path, joined


@BOTH_WAYS
async def test_fifty_joins_in_one_packet_are_answered_in_order_once_each(
    raw: Raw, service: Fairline, queue: QueueId, way: Any
) -> None:
    await raw.send(b"".join(join(queue, way) for _ in range(50)))
    answers = await raw.answers(50)
    assert [answer.status for answer in answers] == [201] * 50
    assert [answer.json()["ticket"] for answer in answers] == list(range(1, 51))
    assert await joined(service, queue) == 50
    raw.half_close()
    await raw.ends()


async def test_requests_of_both_ways_are_answered_in_the_order_they_came(raw: Raw, queue: QueueId) -> None:
    kinds: list[tuple[Callable[[str], bytes], int]] = [
        (lambda n: join(queue, x_request_id=n), 201),
        (lambda n: request("GET", "/healthz", x_request_id=n), 200),
        (lambda n: request("GET", STATUS, x_request_id=n), 401),
        (lambda n: join(queue, slow, x_request_id=n), 201),
        (lambda n: request("POST", "/nowhere", b"{}", x_request_id=n), 404),
        (lambda n: request("POST", join_path(queue), b'{"nonsense":1}', x_request_id=n), 422),
        (lambda n: request("GET", f"/api/v1/queues/{queue}", x_request_id=n), 200),
        (lambda n: request("OPTIONS", STATUS, x_request_id=n), 204),
        (lambda n: request("DELETE", STATUS, x_request_id=n), 405),
    ]
    order = [kinds[number * 5 % len(kinds)] for number in range(54)]
    await raw.send(b"".join(make(f"n-{number}") for number, (make, _) in enumerate(order)))
    answers = await raw.answers(len(order))
    assert [answer.headers["x-request-id"] for answer in answers] == [f"n-{n}" for n in range(len(order))]
    assert [answer.status for answer in answers] == [status for _, status in order]


@BOTH_WAYS
async def test_a_long_burst_behind_a_slow_request_is_answered_to_the_last(raw: Raw, way: Any) -> None:
    """Each answer starts the next request: fifteen hundred of them must not pile up on the stack."""
    numbers = [str(number) for number in range(1500)]
    await raw.send(
        request("GET", "/readyz", x_request_id="first")
        + b"".join(request("GET", way(STATUS), x_request_id=n) for n in numbers)
    )
    answers = await raw.answers(1501)
    assert [answer.headers["x-request-id"] for answer in answers] == ["first", *numbers]
    assert {answer.status for answer in answers[1:]} == {401}


async def test_a_burst_may_be_cut_anywhere(raw: Raw, queue: QueueId) -> None:
    """Much arrives, then the middle of a header: that is no header without end."""
    burst = b"".join(request("GET", STATUS, x_request_id=f"n-{n}", x_fill="x" * 100) for n in range(500))
    for cut in (len(burst) - 90, len(burst) - 3):
        await raw.send(burst[:cut])
        assert len(await raw.answers(499)) == 499
        await raw.send(burst[cut:])
        assert (await raw.answer()).headers["x-request-id"] == "n-499"


@BOTH_WAYS
async def test_nonsense_behind_good_requests_is_refused_in_its_turn(raw: Raw, queue: QueueId, way: Any) -> None:
    await raw.send(join(queue, way) + join(queue, way) + b"nonsense\r\n\r\n" + join(queue))
    answers = await raw.answers(3)
    assert [answer.status for answer in answers] == [201, 201, 400]
    assert answers[-1].code == "bad_request"
    assert answers[-1].closes
    await raw.ends()


@BOTH_WAYS
async def test_half_a_request_behind_another_is_refused_in_its_turn(
    raw: Raw, service: Fairline, queue: QueueId, way: Any
) -> None:
    head = request("POST", way(join_path(queue)), b"", transfer_encoding="chunked")
    await raw.send(join(queue, way) + head + b"2\r\n{}\r\nnonsense\r\n")
    first, second = await raw.answers(2)
    assert (first.status, second.status, second.code) == (201, 400, "bad_request")
    await raw.ends()
    assert await joined(service, queue) == 1


async def test_a_body_never_becomes_part_of_the_request_before(raw: Raw, service: Fairline, queue: QueueId) -> None:
    """The first has no body; the second is refused by its headers, and has one."""
    first = request("POST", slow(join_path(queue)), b"")
    second = request("POST", "/nowhere", b'{"nonsense":1}', x_fill="x" * 20_000)
    await raw.send(first + second)
    assert [answer.status for answer in await raw.answers(2)] == [201, 431]
