"""What is true of every answer, to any client and any request."""

from __future__ import annotations

import csv
import io
import re

import httpx
import pytest

from fairline.web.admin.spreadsheet import csv_of
from tests.attack.conftest import MakeQueue
from tests.web.inside import serving
from tests.web.raw import Raw, asked, connected, request, slow
from tests.web.running import RunningServer

#: One of each kind: pages, files, streams, the API on the fast path and by ASGI, refusals of either and of the
#: connection.
ASKED = [
    request("GET", "/q/demo"),
    request("GET", "/join/demo/qr.svg"),
    request("GET", "/admin"),
    request("GET", "/docs"),
    request("GET", "/static/fairline.js"),
    request("GET", "/healthz"),
    request("GET", "/metrics"),
    request("GET", "/api/v1/queues/demo"),
    request("GET", "/api/v1/queues/demo/board/stream"),
    request("POST", "/api/v1/queues/demo/join", b"{}"),
    request("POST", slow("/api/v1/queues/demo/join"), b"{}"),
    request("GET", "/api/v1/status"),
    request("GET", slow("/api/v1/status")),
    request("OPTIONS", "/api/v1/status"),
    request("PUT", "/nowhere"),
    request("PUT", "/q/demo"),
    request("GET", "/healthz", version="2.0"),
    request("CONNECT", "shop.test:443"),
]


async def test_no_answer_is_taken_for_what_it_looks_like(server: RunningServer) -> None:
    for data in ASKED:
        answer = await asked(server.port, data)
        assert answer.headers.get("x-content-type-options") == "nosniff", data


async def test_another_server_s_answers_say_it_too(valkey_url: str) -> None:
    async with serving(valkey_url, fast=False) as inside:
        for path in ("/healthz", "/static/fairline.js", "/nowhere", "/api/v1/status"):
            answer = await asked(inside.port, request("GET", path))
            assert answer.headers["x-content-type-options"] == "nosniff", path


async def test_a_method_that_is_not_there_is_told_which_are(server: RunningServer) -> None:
    rows = {
        request("PUT", "/q/demo"): "GET, HEAD, POST",
        request("PUT", "/%71/demo"): "GET, HEAD, POST",
        request("PUT", slow("/api/v1/queues/demo/join"), b"{}"): "POST",
        request("HEAD", "/api/v1/queues/demo/join"): "POST",
        request("CONNECT", "shop.test:443"): "DELETE, GET, HEAD, OPTIONS, PATCH, POST",
    }
    for data, allowed in rows.items():
        answer = await asked(server.port, data, head=data.startswith(b"HEAD"))
        assert (answer.status, answer.headers["allow"]) == (405, allowed), data


#: What is no request at all, or one that is refused before its method is known.
NO_REQUEST = (b"XX garbage\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GE\x00T / HTTP/1.1\r\n\r\n")


async def test_what_comes_after_a_head_is_answered_in_full(server: RunningServer) -> None:
    """What a refusal says is left out for HEAD alone: a client would wait for it, or take the next answer for it."""
    for path in ("/healthz", "/nowhere", "/api/v1/status", slow("/api/v1/status"), "/q/demo"):
        for garbage in NO_REQUEST:
            async with connected(server.port) as raw:
                await raw.send(request("HEAD", path))
                await raw.answer(head=True)
                await raw.send(garbage)
                refusal = await raw.answer()
                assert (refusal.status, refusal.code) == (400, "bad_request"), (path, garbage)


async def test_head_says_what_get_would_and_leaves_it_out(server: RunningServer) -> None:
    async def length(raw: Raw, method: str, path: str) -> tuple[int, str]:
        await raw.send(request(method, path, x_request_id="same-length"))
        answer = await raw.answer(head=method == "HEAD")
        return answer.status, answer.headers["content-length"]

    paths = ("/healthz", "/nowhere", "/api/v1/status", slow("/api/v1/status"), "/static/fairline.js", "/static/no.js")
    async with connected(server.port) as raw:
        for path in paths:  # on one connection: what is left over of one answer would be the beginning of the next
            assert await length(raw, "HEAD", path) == await length(raw, "GET", path), path


# Codes, and tables


def test_a_code_on_the_wall_leads_where_the_operator_says(
    tmp_path_factory: pytest.TempPathFactory, server: RunningServer, make_queue: MakeQueue
) -> None:
    path, elsewhere = f"/join/{make_queue()}/qr.svg", {"host": "elsewhere.test"}
    mine, theirs = (httpx.get(f"{server.base_url}{path}", headers=headers) for headers in ({}, elsewhere))
    assert mine.content != theirs.content
    for answer in (mine, theirs):
        assert answer.headers["cache-control"] == "private, max-age=300"
        assert {"Host", "X-Forwarded-Host", "X-Forwarded-Proto"} <= set(answer.headers["vary"].split(", "))
    environ = {"FAIRLINE_PUBLIC_URL": "https://wait.example"}
    named = RunningServer(tmp_path_factory.mktemp("named"), workers=1, environ=environ)
    try:
        path = "/join/demo/qr.svg"
        mine, theirs = (httpx.get(f"{named.base_url}{path}", headers=headers) for headers in ({}, elsewhere))
        assert mine.content == theirs.content
        assert mine.headers["cache-control"] == "public, max-age=300"
    finally:
        named.stop()


def test_no_cell_of_a_table_is_a_formula() -> None:
    begun = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"]
    harmless = ["", "a=b", "1", " x", "'=1"]
    (row,) = csv.reader(io.StringIO(csv_of([[*begun, *harmless, -1.5]]), newline=""))
    assert row == [*(f"'{text}" for text in begun), *harmless, "-1.5"]


def test_no_cell_of_a_table_is_a_formula_where_other_signs_part_cells() -> None:
    """A spreadsheet that is set to German takes a semicolon for the end of a cell, and no quote within one."""
    texts = ["Ada;=1+1", 'Ada;"=1+1', "Ada\t+1", "Ada\n@SUM(A1)", "Ada; -1", "Ada;\uff1d1"]
    for text in texts:
        for cell in re.split("[;\t\n]", csv_of([["1", text]]).strip()):
            assert not re.match("[\"' ]*[=+@\uff1d-]", cell.replace("'", "x")), (text, cell)
    harmless = ["a;b", "a-b; c", "1;2"]
    (row,) = csv.reader(io.StringIO(csv_of([harmless]), newline=""))
    assert row == harmless
