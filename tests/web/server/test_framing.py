"""Where a request ends: bodies, chunks, expectations, and what is no request or is in doubt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from tests.web.raw import Raw, chunked, connected, request, slow
from tests.web.running import RunningServer
from tests.web.server.joins import BOTH_WAYS, STATUS, asked_join, join, join_path, joined

# Bodies


@BOTH_WAYS
async def test_a_request_may_come_byte_by_byte(raw: Raw, queue: QueueId, way: Any) -> None:
    for _ in range(2):
        await raw.dribble(join(queue, way))
        assert (await raw.answer()).status == 201


@BOTH_WAYS
@pytest.mark.parametrize("size", [1, 7, 4000])
async def test_a_body_may_come_in_chunks(raw: Raw, queue: QueueId, way: Any, size: int) -> None:
    body = json.dumps({"client_id": "a client of the test", "metadata": {"fill": "x" * 3000}}).encode()
    head = request("POST", way(join_path(queue)), b"", transfer_encoding="chunked")
    await raw.send(head + chunked(body, size) + join(queue))
    first, second = await raw.answers(2)
    assert (first.status, second.status) == (201, 201)
    await raw.dribble(head + chunked(body, size))
    again = await raw.answer()
    assert (again.status, again.json()["ticket"]) == (200, first.json()["ticket"])


@BOTH_WAYS
async def test_what_trails_a_body_is_not_believed(raw: Raw, queue: QueueId, way: Any) -> None:
    token = (await asked_join(raw, queue))["token"]
    head = request("POST", way("/api/v1/heartbeat"), b"", transfer_encoding="chunked")
    trailers = f"authorization: Bearer {token}\r\nx-request-id: mine\r\n".encode()
    await raw.send(head + chunked(b"{}", 1, trailers) + request("GET", STATUS, token=token))
    refused, status = await raw.answers(2)
    assert refused.code == "token_missing"
    assert refused.headers["x-request-id"] != "mine"
    assert status.status == 200


@BOTH_WAYS
async def test_who_expects_a_100_gets_it_before_the_body(raw: Raw, queue: QueueId, way: Any) -> None:
    whole = join(queue, way, expect="100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    await raw.send(head + b"\r\n\r\n")
    assert (await raw.answer()).status == 100
    await raw.send(body)
    assert (await raw.answer()).status == 201
    await raw.send(join(queue))
    assert (await raw.answer()).status == 201


@BOTH_WAYS
async def test_a_100_waits_for_its_turn(raw: Raw, queue: QueueId, way: Any) -> None:
    head, _, body = join(queue, way, expect="100-continue").partition(b"\r\n\r\n")
    await raw.send(join(queue, way) + head + b"\r\n\r\n")
    assert [answer.status for answer in await raw.answers(2)] == [201, 100]
    await raw.send(body)
    assert (await raw.answer()).status == 201


@BOTH_WAYS
async def test_a_body_too_large_is_refused_before_it_is_sent(raw: Raw, queue: QueueId, way: Any) -> None:
    path = way(join_path(queue))
    await raw.send(request("POST", path, b"", expect="100-continue").replace(b"length: 0", b"length: 20000"))
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (413, "body_too_large", True)


@BOTH_WAYS
async def test_an_expectation_nobody_knows_is_refused(raw: Raw, queue: QueueId, way: Any) -> None:
    await raw.send(join(queue, way, expect="a-miracle"))
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (417, "expectation_failed", True)


@BOTH_WAYS
async def test_a_request_that_names_no_host_is_refused(raw: Raw, queue: QueueId, way: Any) -> None:
    await raw.send(join(queue, way).replace(b"host: fairline.test\r\n", b""))
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (400, "bad_request", True)


@BOTH_WAYS
async def test_http_1_0_is_answered_and_closed(server: RunningServer, queue: QueueId, way: Any) -> None:
    for headers in ({}, {"connection": "keep-alive"}):
        body = b'{"client_id":"an old client"}'
        old = request("POST", way(join_path(queue)), body, version="1.0", expect="100-continue", **headers)
        async with connected(server.port) as raw:
            await raw.send(old)
            answer = await raw.answer()
            assert answer.status in (200, 201)
            assert answer.closes
            await raw.ends()


@BOTH_WAYS
async def test_a_client_that_says_close_is_its_last_request(
    raw: Raw, service: Fairline, queue: QueueId, way: Any
) -> None:
    await raw.send(join(queue) + join(queue, way, connection="close") + join(queue) + join(queue, slow))
    first, last = await raw.answers(2)
    assert (first.status, first.closes) == (201, False)
    assert (last.status, last.closes) == (201, True)
    await raw.ends()
    assert await joined(service, queue) == 2


async def test_nothing_is_done_after_a_refusal_that_closes(raw: Raw, service: Fairline, queue: QueueId) -> None:
    await raw.send(request("GET", STATUS, connection="close") + join(queue) + join(queue, slow))
    assert (await raw.answer()).status == 401
    await raw.ends()
    assert await joined(service, queue) == 0


async def test_head_is_get_without_its_body(raw: Raw, queue: QueueId) -> None:
    token = (await asked_join(raw, queue))["token"]
    paths = [STATUS, slow(STATUS), f"/api/v1/queues/{queue}", "/healthz", "/.well-known/jwks.json", "/nowhere"]
    for path in [*paths, "/api/v1/session/verify"]:
        both = request("GET", path, token=token) + request("HEAD", path, token=token)
        await raw.send(both + request("GET", "/healthz", x_request_id="after"))
        got, head, after = await raw.answer(), await raw.answer(head=True), await raw.answer()
        assert head.status == got.status
        assert head.headers["content-length"] == got.headers["content-length"] == str(len(got.body))
        assert head.headers["content-type"] == got.headers["content-type"]
        assert after.headers["x-request-id"] == "after"


@BOTH_WAYS
async def test_head_of_a_stream_ends_at_once(raw: Raw, queue: QueueId, way: Any) -> None:
    token = (await asked_join(raw, queue))["token"]
    await raw.send(request("HEAD", way("/api/v1/stream"), token=token, connection="close"))
    answer = await raw.answer(head=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    await raw.ends()


# What is no request

GARBAGE = {
    "nothing known": b"\x00\x01\x02\x03\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + b"\x00" * 64,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a method that is none": b"FETCH /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    "a method in small letters": b"get /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "HTTP/2.0 in words": b"GET /healthz HTTP/2.0\r\nhost: x\r\n\r\n",
    "HTTP/1.2": b"GET /healthz HTTP/1.2\r\nhost: x\r\n\r\n",
    "no colon": b"GET /healthz HTTP/1.1\r\nhost\r\n\r\n",
    "a space before the colon": b"GET /healthz HTTP/1.1\r\nhost : x\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n",
    "a space in the host": b"GET /healthz HTTP/1.1\r\nhost: x y\r\n\r\n",
    "a path in the host": b"GET /healthz HTTP/1.1\r\nhost: x/y\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: a\r\n b\r\n\r\n",
    "a NUL in a header": b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: a\x00b\r\n\r\n",
    "a bare CR": b"GET /healthz HTTP/1.1\r\nhost: x\rx: y\r\n\r\n",
    "bare LFs": b"GET /healthz HTTP/1.1\nhost: x\n\n",
    "a space in the address": b"GET /health z HTTP/1.1\r\nhost: x\r\n\r\n",
    "a control character in the address": b"GET /health\x01z HTTP/1.1\r\nhost: x\r\n\r\n",
    "an address that is not ASCII": "GET /héalthz HTTP/1.1\r\nhost: x\r\n\r\n".encode(),
    "a name that is not ASCII": "POST /api/v1/queues/é/join HTTP/1.1\r\nhost: x\r\n\r\n".encode(),
    "an address without a host": b"GET http:///healthz HTTP/1.1\r\nhost: x\r\n\r\n",
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_what_is_no_request_is_refused(raw: Raw, data: bytes) -> None:
    await raw.send(request("GET", "/healthz") + data)
    assert (await raw.answer()).status == 200
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (400, "bad_request", True)
    await raw.ends()


SMUGGLING = {
    "a length and chunks": (b"content-length: 4\r\ntransfer-encoding: chunked", b"0\r\n\r\n"),
    "chunks and a length": (b"transfer-encoding: chunked\r\ncontent-length: 4", b"0\r\n\r\n"),
    "two lengths": (b"content-length: 0\r\ncontent-length: 2", b"{}"),
    "the same length twice": (b"content-length: 2\r\ncontent-length: 2", b"{}"),
    "a list of lengths": (b"content-length: 2, 2", b"{}"),
    "a signed length": (b"content-length: +2", b"{}"),
    "a negative length": (b"content-length: -2", b"{}"),
    "a length in hex": (b"content-length: 0x2", b"{}"),
    "an empty length": (b"content-length: ", b""),
    "a length beyond 64 bits": (b"content-length: 18446744073709551618", b"{}"),
    "identity": (b"transfer-encoding: identity", b""),
    "chunked, then something else": (b"transfer-encoding: chunked, identity", b"0\r\n\r\n"),
    "something else, then chunked": (b"transfer-encoding: gzip, chunked", b"0\r\n\r\n"),
    "something else, then chunked, each on a line": (
        b"transfer-encoding: gzip\r\ntransfer-encoding: chunked",
        b"0\r\n\r\n",
    ),
    "not quite chunked": (b"transfer-encoding: xchunked", b"0\r\n\r\n"),
    "chunked twice": (b"transfer-encoding: chunked\r\ntransfer-encoding: chunked", b"0\r\n\r\n"),
    "chunked behind a control character": (b"transfer-encoding:\x0bchunked", b"0\r\n\r\n"),
    "chunked with a space before the colon": (b"transfer-encoding : chunked", b"0\r\n\r\n"),
    "chunked in a folded line": (b"transfer-encoding:\r\n chunked", b"0\r\n\r\n"),
    "a chunk beyond 64 bits": (b"transfer-encoding: chunked", b"10000000000000002\r\n{}\r\n0\r\n\r\n"),
    "a negative chunk": (b"transfer-encoding: chunked", b"-2\r\n{}\r\n0\r\n\r\n"),
    "a chunk longer than it says": (b"transfer-encoding: chunked", b"1\r\n{}\r\n0\r\n\r\n"),
    "chunks with bare LFs": (b"transfer-encoding: chunked", b"2\n{}\n0\n\n"),
}


@BOTH_WAYS
@pytest.mark.parametrize(("framing", "body"), SMUGGLING.values(), ids=SMUGGLING)
async def test_a_body_whose_end_is_in_doubt_is_refused(
    raw: Raw, service: Fairline, queue: QueueId, way: Any, framing: bytes, body: bytes
) -> None:
    """And nothing behind it is taken for a request."""
    head = request("POST", way(join_path(queue)))
    await raw.send(head.replace(b"\r\n\r\n", b"\r\n" + framing + b"\r\n\r\n") + body + join(queue) * 2)
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (400, "bad_request", True)
    await raw.ends()
    assert await joined(service, queue) == 0


async def test_http_1_0_has_no_chunks(raw: Raw, service: Fairline, queue: QueueId) -> None:
    head = request("POST", join_path(queue), b"", version="1.0", transfer_encoding="chunked")
    await raw.send(head + chunked(b"{}", 2))
    assert (await raw.answer()).code == "bad_request"
    await raw.ends()
    assert await joined(service, queue) == 0
