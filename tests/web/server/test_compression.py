"""Answers are compressed where that pays, and never where a secret and the text of a stranger share a body."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import httpx
import pytest

from fairline.web.server.compression import accepts_gzip
from fairline.web.server.head import Head
from fairline.web.server.http import Request
from tests.web.running import RunningServer

PACKED = {"Accept-Encoding": "gzip"}
PLAIN = {"Accept-Encoding": "identity"}
#: Bytes of the documentation of all calls, as it is sent.
DOCS_BYTES = 60 * 1024


class Everyone:
    """An operator, and people whose browsers read gzip."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.admin = httpx.Client(
            base_url=f"{server.base_url}/api/v1/admin",
            headers={"Authorization": f"Bearer {server.admin_key}"} | PACKED,
            timeout=60,
        )
        self.queue = f"packed-{secrets.token_hex(4)}"
        settings = {"id": self.queue, "admission": "manual", "join_limit_per_ip": 0, "target_url": "https://shop.test/"}
        assert self.admin.post("/queues", json=settings).status_code == 201

    def someone(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.server.base_url,
            headers={"Accept": "text/html", "Sec-Fetch-Site": "none"} | PACKED,
            timeout=60,
        )


@pytest.fixture(scope="module")
def everyone(server: RunningServer) -> Iterator[Everyone]:
    found = Everyone(server)
    yield found
    found.admin.close()


def test_what_has_no_secret_in_it_is_compressed(everyone: Everyone) -> None:
    queue = everyone.queue
    key = {"Authorization": f"Bearer {everyone.server.admin_key}"}
    paths = [
        *(f"/q/{queue}", f"/join/{queue}/poster", f"/join/{queue}/qr.svg", f"/board/{queue}", "/admin"),
        *("/docs", "/openapi.json", "/static/waiting.css"),
        "/api/v1/admin/queues",
        f"/api/v1/admin/queues/{queue}",
        f"/api/v1/admin/queues/{queue}/stats/series",
        f"/api/v1/admin/queues/{queue}/report?format=html",
    ]
    with everyone.someone() as someone:
        for path in paths:
            headers = key if path.startswith("/api/v1/admin/") else {}
            packed, plain = (someone.get(path, headers=headers | how) for how in (PACKED, PLAIN))
            assert packed.headers.get("content-encoding") == "gzip", path
            assert packed.num_bytes_downloaded < 0.6 * plain.num_bytes_downloaded, path
            assert "content-encoding" not in plain.headers, path
            assert all(each.headers["vary"].endswith("Accept-Encoding") for each in (packed, plain)), path
            head = someone.head(path, headers=headers | PACKED)
            assert (head.headers["content-encoding"], head.content) == ("gzip", b""), path


def test_what_is_the_same_for_everyone_is_whole_and_small(everyone: Everyone) -> None:
    with everyone.someone() as someone:
        docs = someone.get("/docs", headers=PACKED)
        assert docs.num_bytes_downloaded < DOCS_BYTES
        for path in ("/docs", "/openapi.json"):
            assert someone.get(path, headers=PACKED).content == someone.get(path, headers=PLAIN).content


def test_nothing_with_a_secret_and_the_text_of_a_stranger_is_compressed(everyone: Everyone) -> None:
    queue, long = everyone.queue, "x" * 400
    with everyone.someone() as someone:
        someone.post(f"/q/{queue}", data={"do": "join"}, headers={"Sec-Fetch-Site": "same-origin"})
        (mine,) = everyone.admin.post(f"/queues/{queue}/call-next").json()["tickets"]
        # The link into the site has the session token in it, and `return` is anything that a link says.
        page = someone.get(f"/q/{queue}", params={"return": f"/{long}"})
        assert "fairline_session=" in page.text
        assert long in page.text
        answers = [
            page,
            someone.get(f"/arrived/{queue}", params={"return": long}),
            someone.get(f"/join/{queue}", params={"user_token": long}),
            someone.get("/api/v1/status", params={"queue": queue}),
        ]
    metadata = {"note": long[:200]}
    for _ in range(8):
        body = {"client_id": secrets.token_hex(8), "name": "Ada", "metadata": metadata}
        answers.append(httpx.post(f"{everyone.server.base_url}/api/v1/queues/{queue}/join", json=body, headers=PACKED))
    answers += [
        everyone.admin.get(f"/queues/{queue}/tickets"),  # names and telephone numbers of others
        everyone.admin.get(f"/queues/{queue}/tickets/{mine['ticket']}"),
        everyone.admin.get(f"/queues/{queue}/events"),
        everyone.admin.post("/keys", json={"role": "viewer", "name": "x" * 60}),
        everyone.admin.get("/keys"),
        everyone.admin.get("/audit"),
    ]
    assert len([each for each in answers if len(each.content) > 1024]) > 3
    for each in answers:
        assert "content-encoding" not in each.headers, each.request.url


def test_streams_are_sent_as_they_are(everyone: Everyone) -> None:
    with (
        everyone.someone() as someone,
        someone.stream("GET", f"/api/v1/queues/{everyone.queue}/board/stream", headers=PACKED) as stream,
    ):
        assert stream.status_code == 200
        assert "content-encoding" not in stream.headers


def test_only_a_client_that_reads_gzip_gets_it() -> None:
    rows = {
        "gzip": True,
        "br, GZIP": True,
        "deflate, gzip;q=0.5, br": True,
        "gzip ; q=1.0": True,
        "x-gzip": True,
        "gzip;q=0": False,
        "br, gzip; q=0.000": False,
        "gzipped": False,
        "identity": False,
        "": False,
    }
    for header, accepted in rows.items():
        head = Head("GET", "/", b"", [(b"accept-encoding", header.encode())])
        assert accepts_gzip(Request(head, None)) is accepted, header
    assert not accepts_gzip(Request(Head("GET", "/", b"", []), None))
