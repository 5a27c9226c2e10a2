"""Who may read answers from a page of another origin, and what a cache in between has to know of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairline.web.server.cors import Cors
from fairline.web.server.head import Head
from fairline.web.server.http import Request
from tests.web.inside import ORIGIN, Inside, open_queue, serving
from tests.web.raw import asked, request

ELSEWHERE = "https://elsewhere.test"


@pytest.fixture(params=[True, False], ids=["fast", "full"])
async def inside(valkey_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Inside]:
    async with serving(valkey_url, fast=request.param) as served:
        yield served


async def told(inside: Inside, path: str, **headers: str) -> dict[str, str]:
    answer = await asked(inside.port, request("GET", path, None, **headers))
    return answer.headers


async def test_a_file_that_a_cache_keeps_is_another_for_other_origins(inside: Inside) -> None:
    path = "/static/fairline.js"
    for headers in ({}, {"origin": ELSEWHERE}):
        answer = await told(inside, path, **headers)
        assert answer["vary"] == "Accept-Encoding, Origin"
        assert "access-control-allow-origin" not in answer
    ours = await told(inside, path, origin=ORIGIN)
    assert (ours["vary"], ours["access-control-allow-origin"]) == ("Accept-Encoding, Origin", ORIGIN)


async def test_so_is_the_state_of_a_queue(inside: Inside) -> None:
    path = f"/api/v1/queues/{await open_queue(inside.service)}"
    for headers in ({}, {"origin": ELSEWHERE}):
        answer = await told(inside, path, **headers)
        assert (answer["vary"], answer.get("access-control-allow-origin")) == ("Origin", None)
    ours = await told(inside, path, origin=ORIGIN)
    assert (ours["vary"], ours["access-control-allow-origin"]) == ("Origin", ORIGIN)


async def test_what_is_not_there_may_be_kept_too(inside: Inside) -> None:
    assert (await told(inside, "/nowhere"))["vary"] == "Origin"


def said(origins: list[str], origin: str | None, method: str = "GET") -> dict[str, str]:
    headers = [] if origin is None else [(b"origin", origin.encode())]
    asking = Request(Head(method, "/", headers=headers), None)
    cors = Cors(origins)
    found = cors.preflight(asking).headers if method == "OPTIONS" else cors.headers(asking)
    assert len(dict(found)) == len(found)
    return {name.decode().removeprefix("access-control-"): value.decode() for name, value in found}


def test_without_origins_nothing_is_said() -> None:
    assert said([], None) == said([], ELSEWHERE) == said([], ELSEWHERE, "OPTIONS") == {}


@pytest.mark.parametrize("origin", [None, ELSEWHERE])
def test_any_origin_is_allowed_in_the_same_words(origin: str | None) -> None:
    assert said(["*"], origin) == said(["*"], ORIGIN)
    assert said(["*"], origin)["allow-origin"] == "*"
    assert not {"vary", "allow-credentials"} & said(["*"], origin).keys()
    assert said([ORIGIN, "*"], origin) == said(["*"], origin) | {"vary": "Origin"}


def test_an_origin_that_is_named_may_send_cookies() -> None:
    for origins in ([ORIGIN], [ORIGIN, "*"]):
        ours = said(origins, ORIGIN)
        assert (ours["allow-origin"], ours["allow-credentials"], ours["vary"]) == (ORIGIN, "true", "Origin")


def test_a_browser_that_asks_first_is_told_what_it_may_do() -> None:
    assert said([ORIGIN], ORIGIN, "OPTIONS").keys() > {"allow-origin", "allow-methods", "allow-headers", "max-age"}
    assert said(["*"], ELSEWHERE, "OPTIONS").keys() > {"allow-origin", "allow-methods", "allow-headers", "max-age"}
    assert said([ORIGIN], ELSEWHERE, "OPTIONS") == {"vary": "Origin"}
    assert said([ORIGIN], None, "OPTIONS") == {"vary": "Origin"}
