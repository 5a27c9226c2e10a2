"""A head that came before is not parsed again, and no answer differs for it."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Iterable

import pytest

from fairline.caches import BoundedCache
from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from fairline.web.server import fast_path
from fairline.web.server.fast_path import ONE_OF
from tests.backends import HOST, PATIENCE_SECONDS
from tests.web.inside import Inside, open_queue, serving, until
from tests.web.raw import Raw, connected, request
from tests.web.server.joins import STATUS, join_path

HEARTBEAT = "/api/v1/heartbeat"


@pytest.fixture
async def inside(valkey_url: str) -> AsyncIterator[Inside]:
    async with serving(valkey_url) as inside:
        yield inside


@pytest.fixture
def service(inside: Inside) -> Fairline:
    return inside.service


@pytest.fixture
async def raw(inside: Inside) -> AsyncIterator[Raw]:
    async with connected(inside.port) as raw:
        yield raw


def join(queue: QueueId, who: int) -> bytes:
    """Bodies of one length, so that the heads are alike to the byte."""
    return request("POST", join_path(queue), b'{"client_id":"someone-%06d"}' % who)


def remembered(inside: Inside) -> list[bytes]:
    return inside.connections[0].remembered.keys()


async def test_everyone_who_says_the_same_is_heard_for_themselves(raw: Raw, queue: QueueId, inside: Inside) -> None:
    tickets = []
    for who in (1, 2, 3, 2, 1):
        await raw.send(join(queue, who))
        answer = await raw.answer()
        tickets.append((answer.status, answer.json()["ticket"]))
    assert tickets == [(201, 1), (201, 2), (201, 3), (200, 2), (200, 1)]
    assert len(remembered(inside)) == 1


async def test_answers_say_what_is_so_now(raw: Raw, service: Fairline, queue: QueueId) -> None:
    await raw.send(join(queue, 1) + join(queue, 2))
    first, second = [answer.json() for answer in await raw.answers(2)]
    heartbeat, look = (request(m, p, token=second["token"]) for m, p in (("POST", HEARTBEAT), ("GET", STATUS)))
    for _ in range(3):
        await raw.send(heartbeat)
        assert (await raw.answer()).json()["position"] == 2
    await service.leave(queue, first["ticket"])
    for data in (heartbeat, look, look):
        await raw.send(data)
        assert (await raw.answer()).json()["position"] == 1
    await service.revoke(queue, second["ticket"], "sold on")
    await raw.send(heartbeat)
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.json()["reason"]) == (410, "ticket_expired", "revoked")


async def test_each_request_has_an_id_of_its_own_or_the_one_it_gave(raw: Raw) -> None:
    ids = []
    for data in [request("GET", STATUS)] * 3 + [request("GET", STATUS, x_request_id="mine")] * 2:
        await raw.send(data)
        ids.append((await raw.answer()).headers["x-request-id"])
    assert len(set(ids[:3])) == 3
    assert ids[3:] == ["mine", "mine"]


async def test_where_a_request_comes_from_is_no_matter_of_what_it_says(
    raw: Raw, service: Fairline, inside: Inside
) -> None:
    queue = await open_queue(service, join_limit_per_ip=2)
    statuses = []
    for who in range(3):
        await raw.send(join(queue, who))
        statuses.append((await raw.answer()).status)
    assert statuses == [201, 201, 429]
    elsewhere = socket.create_connection((HOST, inside.port), source_address=("127.0.0.2", 0))
    with elsewhere:
        elsewhere.sendall(join(queue, 3))
        elsewhere.settimeout(PATIENCE_SECONDS)
        assert (await asyncio.to_thread(elsewhere.recv, 4096)).startswith(b"HTTP/1.1 201 ")


async def test_a_known_head_may_come_with_its_body_in_pieces_or_more_behind_it(raw: Raw, queue: QueueId) -> None:
    for who in (1, 2):
        await raw.send(join(queue, who))
        assert (await raw.answer()).status == 201
    data = join(queue, 3)
    await raw.send(data[:-5])  # less than announced
    async with connected(raw.writer.get_extra_info("peername")[1]) as other:
        await other.send(join(queue, 4))
        assert (await other.answer()).json()["ticket"] == 3
    await raw.send(data[-5:])
    assert (await raw.answer()).json()["ticket"] == 4
    await raw.send(join(queue, 5) + join(queue, 6) + request("GET", STATUS))  # more than announced
    fifth, sixth, last = await raw.answers(3)
    assert [fifth.json()["ticket"], sixth.json()["ticket"], last.status] == [5, 6, 401]
    await raw.dribble(join(queue, 7))
    assert (await raw.answer()).json()["ticket"] == 7


async def test_only_what_is_plain_and_welcome_is_remembered(inside: Inside, queue: QueueId) -> None:
    path = join_path(queue)
    async with connected(inside.port) as watching:
        await watching.send(request("POST", path, b'{"client_id":"someone-000001"}', x_request_id="plain"))
        joined = await watching.answer()
        assert joined.status == 201
        token, body = joined.json()["token"], b'{"client_id":"someone-000002"}'
        odd = [
            b"\r\n\r\n" + request("GET", STATUS, token=token),
            request("GET", STATUS, token=token, connection="close"),
            request("GET", STATUS, token=token, version="1.0"),
            request("GET", STATUS, token=token, x_more="x" * fast_path.LONGEST_REMEMBERED),
            request("POST", path, body, expect="100-continue"),
            request("POST", path, body, transfer_encoding="chunked"),
            request("GET", "/healthz"),
            request("GET", "/nowhere"),
            request("GET", STATUS),
            request("GET", STATUS, token="made up"),
            request("POST", path, b"{not JSON}"),
            request("POST", join_path(QueueId("nowhere")), body),
            b"no request\r\n\r\n",
        ]
        for data in odd:
            async with connected(inside.port) as raw:
                await raw.send(data)
                raw.half_close()
                await raw.rest()
        (only,) = remembered(inside)
        assert b"x-request-id: plain" in only


async def test_what_comes_after_a_request_is_never_taken_for_its_head(inside: Inside, queue: QueueId) -> None:
    async with connected(inside.port) as raw:
        await raw.send(join(queue, 1))
        token = (await raw.answer()).json()["token"]
        inside.connections[0].remembered.clear()
        asked = request("GET", STATUS, token=token)
        await raw.send(asked[:20])
        await until(lambda: inside.connections[0]._in_request)
        await raw.send(asked[20:])
        assert (await raw.answer()).status == 200
        await raw.send(b"\r\n\r\n")
        await raw.send(request("GET", STATUS))
        assert (await raw.answer()).status == 401
        assert remembered(inside) == []


async def test_a_worker_remembers_no_more_bytes_than_its_limit(raw: Raw, inside: Inside, queue: QueueId) -> None:
    way = inside.connections[0]
    way.remembered, way.new_heads = BoundedCache(20_000), itertools.count()  # three of these in each half

    async def ask(numbers: Iterable[int]) -> set[int]:
        for number in numbers:
            await raw.send(request("POST", join_path(queue), b"{}", x_request_id=str(number)))
            assert (await raw.answer()).headers["x-request-id"] == str(number)
        ids = (head.partition(b"x-request-id: ")[2].partition(b"\r\n")[0] for head in remembered(inside))
        return set(map(int, ids))

    last = 0
    while not way.remembered.is_full:
        last += 1
        assert last in await ask([last])
    assert last < 10
    # Of this many new heads, only the first is remembered now. The others are answered all the same.
    new = range(last + 1, last + 1 + ONE_OF)
    assert await ask(new) & {*new} == {new[0]}
    assert new[-1] + 1 in await ask([last, new[-1] + 1])
    await ask(range(100, 100 + 8 * ONE_OF))
    assert len(remembered(inside)) < 10
