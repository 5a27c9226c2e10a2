"""Limits that count addresses: a stranger has more of them than places in line, mails to send, or streams to open."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, cast

import httpx
import pytest

from fairline.errors import KeyInvalid, RateLimited
from fairline.store import AdminKey, Role
from fairline.store.registry import Registry
from fairline.web.admin.wrong_keys import WrongKeys
from fairline.web.server.log_repeats import SECONDS
from fairline.web.streams.board_streams import PER_ADDRESS
from tests.attack.conftest import STORES, MakeQueue
from tests.backends import wait_until
from tests.web.running import RunningServer

NETWORK = "2001:db8:1:2"
#: The streams that one address may have open here.
STREAMS = 12
#: The wrong admin keys that one address may send a minute here.
WRONG_KEYS = 20


@pytest.fixture(scope="module", params=STORES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Behind a proxy, which says where people come from."""
    environ = {
        "FAIRLINE_TRUSTED_PROXIES": "127.0.0.1",
        "FAIRLINE_STREAMS_PER_ADDRESS": str(STREAMS),
        "FAIRLINE_WRONG_KEYS_PER_MINUTE": str(WRONG_KEYS),
    }
    running = RunningServer(tmp_path_factory.mktemp("limited"), store=request.param, environ=environ, workers=1)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def proxy(server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.base_url}/api/v1") as client:
        yield client


def join(proxy: httpx.Client, queue: str, address: str, **said: Any) -> httpx.Response:
    """Someone new joins from an address."""
    proxy.cookies.clear()
    said = {"client_id": secrets.token_hex(8)} | said
    return proxy.post(f"/queues/{queue}/join", json=said, headers={"x-forwarded-for": address})


def test_all_addresses_of_one_ipv6_network_have_the_limit_of_one(proxy: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue()
    answers = [join(proxy, queue, f"{NETWORK}:{host:x}::1") for host in range(200)]
    assert Counter(answer.status_code for answer in answers) == {201: 20, 429: 180}
    assert answers[-1].json()["code"] == "rate_limited"
    assert join(proxy, queue, "2001:db8:1:3::1").status_code == 201


def test_ipv4_written_as_ipv6_has_the_limit_of_ipv4(proxy: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(join_limit_per_ip=1)
    addresses = ["192.0.2.7", "::ffff:192.0.2.7", "::FFFF:c000:0207", "64:ff9b::c000:207", "2002:c000:207:9::1"]
    addresses += ["::ffff:192.0.2.8"]
    assert [join(proxy, queue, each).status_code for each in addresses] == [201, 429, 429, 429, 429, 201]


def test_one_place_per_address_is_one_per_ipv6_network(proxy: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(one_per="ip")
    answers = [join(proxy, queue, f"{NETWORK}::{host:x}") for host in range(1, 6)]
    assert [answer.status_code for answer in answers] == [201, 409, 409, 409, 409]
    assert answers[1].json()["code"] == "already_in_line"


def test_a_queue_says_how_much_of_an_ipv6_address_counts(proxy: httpx.Client, make_queue: MakeQueue) -> None:
    for prefix, statuses in [(128, [201, 201, 201]), (64, [201, 429, 201]), (48, [201, 429, 429])]:
        queue = make_queue(join_limit_per_ip=1, ipv6_prefix=prefix)
        addresses = ["2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:3::1"]
        assert [join(proxy, queue, each).status_code for each in addresses] == statuses, prefix


def test_a_mailbox_is_named_three_times_an_hour_however_it_is_written(
    proxy: httpx.Client, make_queue: MakeQueue, operator: httpx.Client
) -> None:
    queue = make_queue()
    written = ["ada@example.com", "Ada@Example.com", "ada+{n}@example.com", "ADA+{n}@EXAMPLE.COM"]
    answers = [join(proxy, queue, f"192.0.2.{n}", email=written[n % 4].format(n=n)) for n in range(20)]
    assert [answer.status_code for answer in answers] == [201] * 3 + [429] * 17
    assert answers[-1].json()["detail"].startswith("Too many tries from this e-mail address.")
    assert 3500 < int(answers[-1].headers["retry-after"]) <= 3600
    assert join(proxy, queue, "192.0.2.1", email="ben@example.com").status_code == 201
    by_staff = operator.post(f"/api/v1/admin/queues/{queue}/join", json={"email": "ada@example.com"})
    assert by_staff.status_code == 201


# Streams


def stream_of(server: RunningServer, streams: ExitStack, path: str, address: str, token: str = "") -> httpx.Response:
    """Open a stream, which stays open until `streams` is closed; one that is refused is read."""
    client = streams.enter_context(httpx.Client(base_url=f"{server.base_url}/api/v1"))
    headers = {"x-forwarded-for": address} | ({"authorization": f"Bearer {token}"} if token else {})
    answer = streams.enter_context(client.stream("GET", path, headers=headers))
    if answer.status_code != 200:
        answer.read()
    return answer


def opens_again(server: RunningServer, path: str, address: str, token: str = "") -> bool:
    with ExitStack() as streams:
        return stream_of(server, streams, path, address, token).status_code == 200


def assert_one_too_many(answer: httpx.Response, who: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert answer.json()["detail"].startswith(f"This {who} has ")
    assert int(answer.headers["retry-after"]) == 30


def test_a_ticket_has_ten_open_streams_and_the_newest_is_refused(
    server: RunningServer, proxy: httpx.Client, make_queue: MakeQueue
) -> None:
    token = join(proxy, make_queue(), "192.0.2.1").json()["token"]
    with ExitStack() as streams:
        answers = [stream_of(server, streams, "/stream", f"192.0.2.{n}", token) for n in range(11)]
        assert [answer.status_code for answer in answers[:10]] == [200] * 10
        assert_one_too_many(answers[10], "ticket")
        heartbeat = proxy.post("/heartbeat", headers={"authorization": f"Bearer {token}"})
        assert heartbeat.status_code == 200
        answers[0].close()
        wait_until(lambda: opens_again(server, "/stream", "192.0.2.1", token), "a stream that was closed made no room")


def test_an_address_has_so_many_open_streams_and_ipv6_is_no_way_around(
    server: RunningServer, proxy: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(join_limit_per_ip=0)
    tokens = [join(proxy, queue, "192.0.2.1").json()["token"] for _ in range(STREAMS + 2)]
    with ExitStack() as streams:
        answers = [stream_of(server, streams, "/stream", f"{NETWORK}::{n:x}", token) for n, token in enumerate(tokens)]
        assert [answer.status_code for answer in answers] == [200] * STREAMS + [429] * 2
        assert_one_too_many(answers[-1], "address")
        assert stream_of(server, streams, "/stream", "2001:db8:1:3::1", tokens[-1]).status_code == 200


def test_a_network_has_as_many_streams_of_boards_as_one_address(server: RunningServer, make_queue: MakeQueue) -> None:
    board = f"/queues/{make_queue()}/board/stream"
    with ExitStack() as streams:
        answers = [stream_of(server, streams, board, f"{NETWORK}::{n:x}") for n in range(PER_ADDRESS + 1)]
        assert [answer.status_code for answer in answers[:-1]] == [200] * PER_ADDRESS
        assert_one_too_many(answers[-1], "address")


# Admin keys


def keyed(server: RunningServer, key: str, address: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}", "x-forwarded-for": address}
    return httpx.get(f"{server.base_url}/api/v1/admin/session", headers=headers)


def test_a_network_that_guesses_admin_keys_is_refused_before_they_are_looked_up(
    server: RunningServer, operator: httpx.Client
) -> None:
    fresh = operator.post("/api/v1/admin/keys", json={"role": "viewer"}).json()["key"]
    known = f"{NETWORK}::1"
    assert keyed(server, server.admin_key, known).status_code == 200
    guesses = [keyed(server, f"fl_{secrets.token_urlsafe(24)}", f"{NETWORK}::{n:x}") for n in range(60)]
    told = [(guess.status_code, guess.json()["code"]) for guess in guesses]
    assert told == [(401, "key_invalid")] * WRONG_KEYS + [(429, "rate_limited")] * (60 - WRONG_KEYS)
    assert 0 < int(guesses[-1].headers["retry-after"]) <= 60
    right = keyed(server, fresh, known)
    assert (right.status_code, right.json()["code"]) == (429, "rate_limited"), "a guess that is right opens nothing"
    assert keyed(server, server.admin_key, known).status_code == 200, "who was let in before is let in still"
    server.restart()
    again = [keyed(server, key, known).status_code for key in (*map(str, range(WRONG_KEYS)), fresh, server.admin_key)]
    assert again[-2:] == [429, 200], "by a worker that is new too"
    assert keyed(server, fresh, "2001:db8:1:3::1").status_code == 200, "others have nothing to do with it"


class Counting:
    """A registry in which a limit is one of all time, and which takes its time to count."""

    def __init__(self) -> None:
        self.counted = 0

    async def limit(self, _who: str, action: str, limit: int, seconds: float) -> float:
        await asyncio.sleep(0)
        if action == "right-key":
            return 0
        self.counted += 1
        return 0 if self.counted <= limit else seconds

    async def tries(self, _who: str, _action: str, _seconds: float) -> int:
        return 0


async def test_a_burst_of_guesses_is_worth_no_more_than_one_after_another() -> None:
    looked: list[str] = []
    right = AdminKey(id="r", role=Role.ADMIN, name="", digest="", created=0)
    wrong = WrongKeys(cast(Registry, Counting()), 20)

    async def told(who: str, key_id: str) -> str:
        async def look() -> AdminKey | None:
            looked.append(key_id)
            await asyncio.sleep(0)
            return right if key_id == "right" else None

        try:
            await wrong.look_up(who, key_id, look)
        except (RateLimited, KeyInvalid) as error:
            return error.code
        return "opened"

    guesses = [*(f"guess {n}" for n in range(500)), "right"]
    answers = await asyncio.gather(*(told("one", each) for each in guesses))
    assert Counter(answers) == {"key_invalid": 20, "rate_limited": 481}
    assert len(looked) == 21  # the last one told that the limit was reached
    # Where a key is right, it stays so whatever else comes from there; once it is wrong, it is one more guess.
    assert [await told("two", each) for each in ("right", "guess", "right")] == ["opened", "rate_limited", "opened"]
    assert await told("three", "right") == "opened"


# The log


def test_who_is_refused_again_and_again_does_not_fill_the_log(
    server: RunningServer, proxy: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(join_limit_per_ip=1)
    began = time.monotonic()
    assert [join(proxy, queue, "192.0.2.1").status_code for _ in range(500)] == [201] + [429] * 499
    minutes = 1 + int((time.monotonic() - began) / SECONDS)
    server.restart()  # what was counted is told at the end

    def lines(event: str) -> list[dict[str, Any]]:
        return [line for line in server.logs(event) if line.get("queue") == queue]

    written, told = lines("rate_limit.hit"), lines("log.repeated")
    assert 1 <= len(written) <= minutes
    assert len(told) <= minutes
    assert len(written) + sum(line["times"] for line in told) == 499
    assert {(line["of"], line["who"]) for line in told} == {("rate_limit.hit", "address")}
