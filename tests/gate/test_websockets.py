"""WebSockets are guarded as pages are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.gate.sites import Fairline, Site, awaited, running

SOURCE = """
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from fairline.gate.asgi import FairlineMiddleware

async def echo(socket):
    await socket.accept()
    async for text in socket.iter_text():
        await socket.send_text(f"{socket.scope['fairline'].ticket} {text}")

async def page(request):
    return PlainTextResponse("ok")

app = Starlette(routes=[WebSocketRoute("/live", echo), Route("/healthz", page), Route("/seats", page)])
app.add_middleware(FairlineMiddleware, server="http://127.0.0.1:8080", queue="demo", bypass=["/healthz"])
"""


@pytest.fixture(scope="module")
def live(fairline: Fairline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    found = Site(tmp_path_factory.mktemp("live"), "starlette", fairline, fairline.queue(), SOURCE)
    with running(found):
        yield found


def opened(site: Site, token: str = "", **cookies: str) -> ClientConnection:
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
    query = f"?fairline_session={token}" if token else ""
    return connect(f"ws://127.0.0.1:{site.port}/live{query}", additional_headers=headers, proxy=None)


def test_nobody_without_a_session_token_gets_one(live: Site) -> None:
    for cookies in ({}, {"fairline_session": "x.y.z"}):
        with pytest.raises(InvalidStatus) as refused, opened(live, **cookies):
            pass
        assert refused.value.response.status_code == 403


def test_people_with_a_session_token_do(live: Site) -> None:
    token, number = live.fairline.admitted(live.queue)
    with live.arrive(token) as visitor, opened(live, **dict(visitor.cookies)) as socket:
        socket.send("hello")
        assert socket.recv(30) == f"{number} hello"


def test_a_program_may_bring_the_session_token_in_the_address(live: Site) -> None:
    token, number = live.fairline.admitted(live.queue)
    with opened(live, token) as socket:
        socket.send("hello")
        assert socket.recv(30) == f"{number} hello"
    assert live.fairline.ticket(live.queue, number)["status"] == "active"


def test_what_is_sent_is_activity_and_a_revoked_session_token_ends_it(live: Site) -> None:
    token, number = live.fairline.admitted(live.queue)
    with opened(live, token) as socket:

        def noted() -> bool:
            socket.send("hello")
            socket.recv(30)
            return bool(live.fairline.ticket(live.queue, number)["page_views"] >= 1)

        awaited(noted)
        live.fairline.revoke(live.queue, number)

        def ended() -> bool:
            try:
                socket.send("hello")
                socket.recv(30)
            except ConnectionClosed:
                return True
            return False

        awaited(ended)
