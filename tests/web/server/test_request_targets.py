"""Forms of addresses, and wishes to upgrade."""

from __future__ import annotations

from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from tests.web.inside import until
from tests.web.raw import Raw, asked, chunked, request
from tests.web.running import RunningServer
from tests.web.server.joins import BOTH_WAYS, STATUS, asked_join, join, join_path, joined

# Forms of addresses


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "http://fairline.test/healthz", 200),
        ("GET", "http://fairline.test/api/v1/status?queue=q", 401),
        ("GET", "http://fairline.test", 404),
        ("GET", "http://fairline.test?x=y", 404),
        ("GET", "//healthz", 404),
        ("GET", "//", 404),
        ("GET", "/api//v1/status", 404),
        ("GET", "/api/../healthz", 404),
        ("GET", "/he%61lthz", 200),
        ("GET", "/%68%65%61%6C%74%68%7A", 200),
        ("GET", "/api%2Fv1/status", 401),
        ("GET", "/%zz%f%", 404),
        ("GET", "/%00%ff%c0%ae", 404),
        ("GET", "/healthz#part", 200),
        ("GET", "/api/v1/status?queue=q#part", 401),
        ("OPTIONS", "*", 204),
        ("TRACE", "/api/v1/status", 405),
    ],
)
async def test_an_address_may_be_written_in_any_proper_form(raw: Raw, method: str, url: str, status: int) -> None:
    await raw.send(request(method, url) + request("GET", "/healthz"))
    answer, after = await raw.answers(2)
    assert (answer.status, after.status) == (status, 200)
    if status >= 400:
        assert answer.code


@BOTH_WAYS
async def test_a_fragment_is_no_part_of_a_query(raw: Raw, queue: QueueId, way: Any) -> None:
    token = (await asked_join(raw, queue))["token"]
    await raw.send(request("GET", f"{way(STATUS)}?token={token}#part"))
    assert (await raw.answer()).status == 200


@BOTH_WAYS
async def test_a_name_may_be_percent_encoded(raw: Raw, queue: QueueId, way: Any) -> None:
    name = "".join(f"%{ord(letter):02x}" for letter in queue)
    await raw.send(join(QueueId(name), way) + request("GET", f"/api/v1/queues/{name}"))
    first, state = await raw.answers(2)
    assert (first.status, state.status) == (201, 200)
    assert first.json()["queue"] == queue


async def test_an_absolute_address_joins_as_well(raw: Raw, service: Fairline, queue: QueueId) -> None:
    await raw.send(request("POST", f"http://fairline.test{join_path(queue)}", b"{}"))
    assert (await raw.answer()).status == 201
    assert await joined(service, queue) == 1


@pytest.mark.parametrize("url", ["shop.test:443", "/healthz"])
async def test_connect_is_refused(raw: Raw, url: str) -> None:
    await raw.send(request("CONNECT", url) + request("GET", "/healthz"))
    answer = await raw.answer()
    assert (answer.status, answer.code, answer.closes) == (405, "method_not_allowed", True)
    await raw.ends()


# Upgrades


@BOTH_WAYS
@pytest.mark.parametrize("to", ["websocket", "h2c"])
async def test_a_wish_to_upgrade_is_passed_over(raw: Raw, service: Fairline, queue: QueueId, way: Any, to: str) -> None:
    """The request is answered as it is, its body belongs to it, and the next one is a request again."""
    wish = {"connection": "Upgrade, HTTP2-Settings", "upgrade": to, "http2_settings": "AAMAAABkAAQCAAAAAAIAAAAA"}
    token = (await asked_join(raw, queue))["token"]
    smuggled = request("GET", way("/healthz"))
    head = request("POST", way(join_path(queue)), b"", transfer_encoding="chunked", **wish)
    requests = [
        request("GET", way(STATUS), None, token=token, **wish),
        join(queue, way, **wish),
        request("POST", way("/api/v1/heartbeat"), smuggled, token=token, **wish),
        head + chunked(b'{"client_id":"upgraded to"}', 5),
        request("GET", STATUS, token=token),
    ]
    await raw.send(b"".join(requests))
    answers = await raw.answers(5)
    assert [answer.status for answer in answers] == [200, 201, 422, 201, 200]
    assert await joined(service, queue) == 3
    await raw.dribble(requests[1])
    assert (await raw.answer()).status == 200
    raw.half_close()
    await raw.ends()


async def test_a_refused_connection_leaves_the_server_well(server: RunningServer) -> None:
    async def is_ready() -> bool:  # a worker that has just begun is not, for a moment
        return (await asked(server.port, request("GET", "/readyz"))).status == 200

    assert (await asked(server.port, b"no request\r\n\r\n")).status == 400
    await until(is_ready)
    assert not server.logs("http.failed")
