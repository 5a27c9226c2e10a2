"""A queue that was deleted and recreated: its numbers begin again, and the holder of a number in the old queue has
nothing to do with the holder of that number now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.web.crowd import make_queue, operator
from tests.web.running import RunningServer
from tests.web.sse import EventSource

BY_USER = {"admission": "manual", "one_per": "user", "target_url": "https://shop.test/"}


class Recreated:
    """Someone's ticket of a queue that is no more, and somebody else's of the same number."""

    def __init__(self, operator: httpx.AsyncClient, queue: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        self.operator = operator
        self.queue = queue
        self.old = old
        self.new = new

    async def ask(self, method: str, path: str, token: str, **more: Any) -> httpx.Response:
        return await self.operator.request(method, path, headers={"authorization": f"Bearer {token}"}, **more)

    async def ticket(self) -> dict[str, Any]:
        """The ticket of the person who has the number now, as the desk sees it."""
        answer = await self.operator.get(f"/api/v1/admin/queues/{self.queue}/tickets/{self.new['ticket']}")
        found: dict[str, Any] = answer.json()
        return found


async def _join(client: httpx.AsyncClient, queue: str, who: str) -> dict[str, Any]:
    body = {"client_id": f"client-of-{who}", "user_id": who}
    async with httpx.AsyncClient(base_url=client.base_url, timeout=20) as browser:
        answer = await browser.post(f"/api/v1/queues/{queue}/join", json=body)
    assert answer.status_code == 201, answer.text
    joined: dict[str, Any] = answer.json()
    return joined


async def _called(client: httpx.AsyncClient, queue: str, token: str) -> str:
    """The session token of the person called."""
    await client.post(f"/api/v1/admin/queues/{queue}/call-next")
    answer = await client.get("/api/v1/status", headers={"authorization": f"Bearer {token}"})
    return str(answer.json()["session_token"])


@asynccontextmanager
async def recreated_queue(server: RunningServer, name: str) -> AsyncIterator[Recreated]:
    async with operator(server) as client:
        queue = await make_queue(client, name, **BY_USER)
        old = await _join(client, queue, "ann")
        old["session_token"] = await _called(client, queue, old["token"])
        assert (await client.delete(f"/api/v1/admin/queues/{queue}")).status_code == 204
        await make_queue(client, name, **BY_USER)
        new = await _join(client, queue, "ben")
        assert new["ticket"] == old["ticket"]
        yield Recreated(client, queue, old, new)


@pytest.mark.parametrize("call", ["start", "activity", "complete", "leave"])
async def test_an_old_session_token_does_nothing_to_the_session_of_somebody_else(
    server: RunningServer, call: str
) -> None:
    async with recreated_queue(server, f"recreated-{call}") as recreated:
        theirs = await _called(recreated.operator, recreated.queue, recreated.new["token"])
        before = await recreated.ticket()
        assert before["status"] == "admitted"
        answer = await recreated.ask("POST", f"/api/v1/session/{call}", recreated.old["session_token"])
        assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")
        assert await recreated.ticket() == before
        answer = await recreated.ask("POST", "/api/v1/session/start", theirs)
        assert (answer.status_code, answer.json()["status"]) == (200, "active")
        if call in ("complete", "leave"):
            assert (
                await recreated.ask("POST", f"/api/v1/session/{call}", recreated.old["session_token"])
            ).status_code == 401
            assert (await recreated.ticket())["status"] == "active"


@pytest.mark.parametrize("arrives", [False, True], ids=["in a header", "in the address"])
async def test_a_gate_does_not_let_an_old_session_token_in(server: RunningServer, arrives: bool) -> None:
    async with recreated_queue(server, f"recreated-gate-{arrives}".lower()) as recreated:
        await _called(recreated.operator, recreated.queue, recreated.new["token"])
        old = recreated.old["session_token"]
        headers = {"x-original-uri": f"/?fairline_session={old}"} if arrives else {"authorization": f"Bearer {old}"}
        async with httpx.AsyncClient(base_url=server.base_url) as proxy:
            answer = await proxy.get("/api/v1/session/verify", params={"queue": recreated.queue}, headers=headers)
        assert answer.status_code == 401
        assert f"/q/{recreated.queue}" in answer.headers["x-fairline-redirect"]
        assert "set-cookie" not in answer.headers
        assert (await recreated.ticket())["status"] == "admitted"


async def test_an_old_token_neither_keeps_nor_ends_the_place_of_somebody_else(server: RunningServer) -> None:
    async with recreated_queue(server, "recreated-token") as recreated:
        before = await recreated.ticket()
        for method, path in (("POST", "heartbeat"), ("GET", "status"), ("POST", "leave"), ("GET", "stream")):
            body = {"final": True} if path == "leave" else None
            answer = await recreated.ask(method, f"/api/v1/{path}", recreated.old["token"], json=body)
            assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid"), path
        assert await recreated.ticket() == before


async def test_an_old_cookie_does_not_open_the_place_of_somebody_else(server: RunningServer) -> None:
    async with recreated_queue(server, "recreated-cookie") as recreated:
        cookies = {f"fairline_ticket_{recreated.queue}": recreated.old["token"]}
        async with httpx.AsyncClient(base_url=server.base_url, cookies=cookies) as thief:
            answer = await thief.post(f"/api/v1/queues/{recreated.queue}/join", json={"user_id": "ben"})
        assert (answer.status_code, answer.json()["code"]) == (409, "already_in_line")
        assert recreated.new["token"] not in answer.text


async def test_a_stream_of_the_old_queue_never_receives_somebody_elses_state(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "recreated-stream", **BY_USER)
        old = await _join(client, queue, "ann")
        watched = EventSource(server.host, server.port, old["token"])
        try:
            await watched.until(lambda stream: bool(stream.events))
            assert (await client.delete(f"/api/v1/admin/queues/{queue}")).status_code == 204
            await make_queue(client, queue, **BY_USER)
            new = await _join(client, queue, "ben")
            await _called(client, queue, new["token"])
            await watched.until(lambda stream: 401 in stream.statuses or 410 in stream.statuses)
            assert not watched.of("admitted")
        finally:
            await watched.close()


#: A queue that is deleted and recreated so often has each worker ask at every moment of what it remembers.
TURNS = 12


@asynccontextmanager
async def each_worker(server: RunningServer) -> AsyncIterator[list[httpx.AsyncClient]]:
    """An operator's connection to each worker: ids of requests begin with the process that answered."""
    headers = {"authorization": f"Bearer {server.admin_key}"}
    async with AsyncExitStack() as stack:
        found: dict[int, httpx.AsyncClient] = {}
        async with asyncio.timeout(30):
            while found.keys() != set(server.worker_pids()):
                client = httpx.AsyncClient(base_url=server.base_url, headers=headers, timeout=20)
                await stack.enter_async_context(client)
                answer = await client.get("/healthz")
                found[int(answer.headers["x-request-id"].partition("-")[0], 16)] = client
        yield list(found.values())


async def _seen_by(worker: httpx.AsyncClient, queue: str) -> dict[str, Any]:
    """All that a worker says of a queue out of what it remembers."""
    api, admin = "/api/v1", f"/api/v1/admin/queues/{queue}"
    verify = await worker.get(
        f"{api}/session/verify", params={"queue": queue}, headers={"x-original-uri": "/open/x", "authorization": ""}
    )
    answers = {
        path: await worker.get(path)
        for path in (f"{api}/queues/{queue}", f"{api}/queues/{queue}/board", f"{admin}/live", f"{admin}/stats/series")
    }
    glances = {each["id"]: each["name"] for each in (await worker.get("/api/v1/admin/live")).json()["queues"]}
    state, board, live, series = (answer.json() for answer in answers.values())
    return {
        "lets by": verify.status_code == 200,
        "state": state.get("name"),
        "board": board.get("name"),
        "called": [each["label"] for each in board.get("called", ())],
        "live": live.get("glance", {}).get("name"),
        "joined": sum(point["joined"] for point in series.get("points", ())),
        "there": {answer.status_code for answer in answers.values()} == {200},
        "gone": {answer.status_code for answer in answers.values()} == {404},
        "in the list": glances.get(queue),
    }


NOTHING: dict[str, Any] = {
    "lets by": False,
    "state": None,
    "board": None,
    "called": [],
    "live": None,
    "joined": 0,
    "there": False,
    "gone": True,
    "in the list": None,
}


async def test_no_worker_remembers_a_queue_that_was_deleted(server: RunningServer) -> None:
    queue = "recreated-rules"
    async with each_worker(server) as workers:
        one = workers[0]
        for turn in range(TURNS):
            by = turn % 3 == 0
            name = f"Turn {turn}"
            rules = {"bypass_paths": ["/open/*"] if by else [], "join_limit_per_ip": 1}
            body = {"id": queue, "name": name, "admission": "manual", **rules}
            (await one.post("/api/v1/admin/queues", json=body)).raise_for_status()
            there = NOTHING | {"lets by": by, "state": name, "board": name, "live": name, "there": True, "gone": False}
            there["in the list"] = name
            assert [await _seen_by(worker, queue) for worker in workers] == [there] * len(workers), turn
            # Each time somebody else has number 1, and the limit of joins from one address starts again.
            await _join(one, queue, f"somebody-{turn}")
            if turn % 2:
                (await one.post(f"/api/v1/admin/queues/{queue}/call-next")).raise_for_status()
            assert (await one.delete(f"/api/v1/admin/queues/{queue}")).status_code == 204
            if turn % 4 < 2:  # otherwise it is recreated at once
                assert [await _seen_by(worker, queue) for worker in workers] == [NOTHING] * len(workers), turn


async def test_every_worker_goes_by_new_settings_at_once(server: RunningServer) -> None:
    async with each_worker(server) as workers:
        queue = await make_queue(workers[0], "recreated-changed", admission="manual")
        for turn in range(TURNS):
            by, name = turn % 2 == 0, f"Turn {turn}"
            changes = {"name": name, "bypass_paths": ["/open/*"] if by else []}
            (await workers[0].patch(f"/api/v1/admin/queues/{queue}", json=changes)).raise_for_status()
            for worker in workers:
                seen = await _seen_by(worker, queue)
                assert (seen["lets by"], seen["state"], seen["board"], seen["live"]) == (by, name, name, name), turn
