"""The board of a queue on the running server: what it shows, once and live, and what it never shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest

from fairline.web.pages.languages import catalogue
from fairline.web.streams.board_streams import PER_ADDRESS
from tests.backends import PATIENCE_SECONDS
from tests.web.crowd import join, make_queue, operator
from tests.web.running import RunningServer


class BoardStream:
    """A board that is open: what each queue shows, and the frames that said so."""

    def __init__(self) -> None:
        self.boards: dict[str, dict[str, Any]] = {}
        self.frames: list[dict[str, Any]] = []
        self.version = ""
        self._changed = asyncio.Condition()

    async def read(self, answer: httpx.Response) -> None:
        """Read on until the stream ends."""
        kind = ""
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                await self._told(kind, msgspec.json.decode(line.removeprefix("data: ")))

    async def _told(self, kind: str, data: dict[str, Any]) -> None:
        async with self._changed:
            if kind == "hello":
                self.version = data["version"]
            elif kind == "board":
                self.boards[data["queue"]] = data
                self.frames.append(data)
            self._changed.notify_all()

    async def until(self, shows: Any, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until `shows(boards)` holds."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: shows(self.boards))


@asynccontextmanager
async def screen(client: httpx.AsyncClient, *queues: str) -> AsyncIterator[BoardStream]:
    """A board that has received all its queues."""
    shown = BoardStream()
    async with client.stream("GET", f"/api/v1/queues/{','.join(queues)}/board/stream") as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        reading = asyncio.create_task(shown.read(answer))
        try:
            await shown.until(lambda boards: set(boards) == set(queues))
            yield shown
        finally:
            reading.cancel()
            await asyncio.wait([reading])


class WalkIn:
    """The staff of one queue."""

    def __init__(self, client: httpx.AsyncClient, queue: str) -> None:
        self.client = client
        self.queue = queue
        self._path = f"/api/v1/admin/queues/{queue}"

    async def call(self, desk: str = "", count: int = 1) -> list[int]:
        answer = await self.client.post(f"{self._path}/call-next", json={"count": count, "desk": desk})
        assert answer.status_code == 200, answer.text
        return [ticket["ticket"] for ticket in answer.json()["tickets"]]

    async def act(self, ticket: int, *actions: str) -> None:
        for action in actions:
            answer = await self.client.post(f"{self._path}/tickets/{ticket}/{action}")
            assert answer.status_code == 200, answer.text

    async def board(self) -> dict[str, Any]:
        answer = await self.client.get(f"/api/v1/queues/{self.queue}/board")
        assert answer.status_code == 200, answer.text
        content: dict[str, Any] = answer.json()
        return content

    async def board_shows(self, **expected: Any) -> dict[str, Any]:
        """The board once it is so; it may be a second old."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                board = await self.board()
                if expected.items() <= pairs(board).items():
                    return board
                await asyncio.sleep(0.05)


async def a_walk_in_line(client: httpx.AsyncClient, name: str, people: int, **settings: Any) -> WalkIn:
    """A queue with people in it, called by hand."""
    await make_queue(client, name, admission="manual", ticket_prefix="B", heartbeat_timeout_seconds=0, **settings)
    await join(client, name, people)
    return WalkIn(client, name)


def pairs(board: dict[str, Any]) -> dict[str, Any]:
    """Who is where, by number."""

    def where(rows: list[dict[str, Any]]) -> list[tuple[int, str | None]]:
        return [(int(row["label"].removeprefix("RB-")), row["desk"]) for row in rows]

    return {"serving": where(board["serving"]), "called": where(board["called"]), "waiting": board["queue_length"]}


async def test_a_board_shows_who_is_called_where_and_how_many_wait(server: RunningServer) -> None:
    async with operator(server) as client:
        walk_in = await a_walk_in_line(client, "board-shows", 6)
        await client.patch("/api/v1/admin/queues/board-shows", json={"name": "City Hall"})
        assert (await walk_in.board())["serving"] == []
        for desk in ("Desk 1", "Desk 2", "Desk 3"):
            await walk_in.call(desk)
        await walk_in.act(1, "start", "complete")
        await walk_in.act(2, "recall", "start")
        board = await walk_in.board_shows(
            serving=[(2, "Desk 2"), (3, "Desk 3")], called=[(2, "Desk 2"), (3, "Desk 3"), (1, "Desk 1")], waiting=3
        )
        assert board["queue"] == "board-shows"
        assert board["name"] == "City Hall"
        assert (board["status"], board["open"]) == ("active", True)
        assert [each["status"] for each in board["serving"]] == ["serving", "called"]
        assert {each["label"]: each["times_called"] for each in board["called"]} == {
            "RB-000003": 1,
            "RB-000002": 2,
            "RB-000001": 1,
        }


async def test_the_board_shows_the_label_of_people_and_nothing_else(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "board-private", admission="manual")
        answer = await client.post(f"/api/v1/queues/{queue}/join", json={"name": "Ada", "phone": "+41446681800"})
        assert answer.status_code == 201
        walk_in = WalkIn(client, queue)
        await walk_in.call("Desk 1")
        answer = await client.get(f"/api/v1/queues/{queue}/board")
        assert answer.headers["cache-control"] == "public, max-age=1"
        assert "Ada" not in answer.text
        assert "4466" not in answer.text
        (called,) = answer.json()["called"]
        assert called.keys() == {"label", "desk", "at", "times_called"}
        (serving,) = answer.json()["serving"]
        assert serving.keys() == {"label", "desk", "since", "status"}


async def test_every_step_at_the_desk_is_on_all_boards(server: RunningServer) -> None:
    async with operator(server) as client:
        walk_in = await a_walk_in_line(client, "board-live", 5)
        # Two workers share the streams: what one of them does is on the boards of both.
        async with (
            screen(client, "board-live") as one,
            screen(client, "board-live") as two,
            screen(client, "board-live") as three,
        ):

            async def all_show(what: str, expected: Any) -> None:
                for shown in (one, two, three):
                    await shown.until(lambda boards: pairs(boards["board-live"])[what] == expected)

            await walk_in.call("Desk 1")
            await all_show("serving", [(1, "Desk 1")])
            await walk_in.call("Desk 2")
            await all_show("called", [(2, "Desk 2"), (1, "Desk 1")])
            await walk_in.act(1, "recall")
            await all_show("called", [(1, "Desk 1"), (2, "Desk 2")])
            assert one.boards["board-live"]["called"][0]["times_called"] == 2
            await walk_in.act(1, "return")
            await all_show("called", [(2, "Desk 2")])
            await all_show("waiting", 4)
            await walk_in.act(2, "no-show")
            await all_show("called", [])
            await walk_in.call("Desk 3")
            await all_show("serving", [(1, "Desk 3")])
            assert one.boards["board-live"]["called"][0]["times_called"] == 1
            await walk_in.act(1, "start")
            await one.until(lambda boards: boards["board-live"]["serving"][0]["status"] == "serving")
            await walk_in.act(1, "complete")
            await all_show("serving", [])
            await all_show("called", [(1, "Desk 3")])
            assert one.version
            assert one.version == two.version


async def test_only_the_last_eight_calls_are_shown_and_everyone_in_a_walk_in_line(server: RunningServer) -> None:
    async with operator(server) as client:
        walk_in = await a_walk_in_line(client, "board-many", 90)
        await walk_in.call("Desk 1")
        await walk_in.act(1, "start")  # and stays for long
        await walk_in.call("Hall", 80)
        board = await walk_in.board_shows(waiting=9)
        assert [called["label"] for called in board["called"]] == [f"RB-{n:06d}" for n in range(81, 73, -1)]
        assert len(board["serving"]) == 50
        for number in range(2, 82):
            await walk_in.act(number, "no-show")
        await walk_in.board_shows(serving=[(1, "Desk 1")])


async def test_several_queues_are_on_one_stream(server: RunningServer) -> None:
    async with operator(server) as client:
        left, right = await a_walk_in_line(client, "board-left", 2), await a_walk_in_line(client, "board-right", 2)
        async with screen(client, "board-left", "board-right") as shown:
            await left.call("Desk 1")
            await right.call("Desk 7")
            await shown.until(lambda boards: pairs(boards["board-left"])["serving"] == [(1, "Desk 1")])
            await shown.until(lambda boards: pairs(boards["board-right"])["serving"] == [(1, "Desk 7")])
            quiet = len(shown.frames)
            assert quiet <= 8, "nothing is told twice"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/v1/queues/nowhere/board", 404, "queue_not_found"),
        ("/api/v1/queues/nowhere/board/stream", 404, "queue_not_found"),
        ("/api/v1/queues/demo,nowhere/board/stream", 404, "queue_not_found"),
        ("/api/v1/queues/demo,no where/board/stream", 404, "queue_not_found"),
        ("/api/v1/queues/,/board/stream", 422, "invalid_request"),
        ("/api/v1/queues/a,b,c,d,e,f,g,h,i/board/stream", 422, "invalid_request"),
        ("/board/nowhere", 404, "queue_not_found"),
        ("/board/demo,nowhere", 404, "queue_not_found"),
        ("/board/,", 422, "invalid_request"),
    ],
)
async def test_what_cannot_be_shown_is_refused_with_the_reason(
    server: RunningServer, path: str, status: int, code: str
) -> None:
    async with httpx.AsyncClient(base_url=server.base_url) as client:
        answer = await client.get(path, headers={"accept": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_the_page_keeps_to_its_policy_and_its_address(server: RunningServer) -> None:
    async with operator(server) as client:
        await make_queue(client, "board-page")
        await client.patch("/api/v1/admin/queues/board-page", json={"name": "<b>Hall</b>"})
        for address in ("/board/board-page,demo", "/board/board-page%2Cdemo"):
            page = await client.get(f"{address}?lang=ar&theme=dark")
            assert page.status_code == 200
            assert '<html lang="ar" dir="rtl" data-theme="dark">' in page.text
            assert "<b>Hall</b>" not in page.text
            assert "script-src 'self'" in page.headers["content-security-policy"]
            assert page.headers["cache-control"] == "no-store"
        plain = await client.get("/board/demo?lang=xx&theme=pink")
        assert '<html lang="en" dir="ltr">' in plain.text
        lost = await client.get("/board/nowhere?lang=de")
        assert lost.status_code == 404
        assert str(catalogue("de")["unknown_title"]) in lost.text


async def test_one_address_cannot_open_streams_without_end(server: RunningServer) -> None:
    async with operator(server) as client:
        await make_queue(client, "board-bound")
    request = b"GET /api/v1/queues/board-bound/board/stream HTTP/1.1\r\nhost: board\r\n\r\n"
    statuses: list[int] = []
    writers: list[asyncio.StreamWriter] = []
    try:
        for _ in range(2 * PER_ADDRESS + 1):  # more than two workers allow
            reader, writer = await asyncio.open_connection(server.host, server.port)
            writers.append(writer)
            writer.write(request)
            statuses.append(int((await reader.readuntil(b"\r\n\r\n"))[9:12]))
            if statuses[-1] == 429:
                break
        assert statuses[-1] == 429
        assert len(statuses) > PER_ADDRESS
    finally:
        for writer in writers:
            writer.close()

    async def opens_again() -> None:
        async with httpx.AsyncClient(base_url=server.base_url) as anyone:
            while True:
                async with anyone.stream("GET", "/api/v1/queues/board-bound/board/stream") as answer:
                    if answer.status_code == 200:
                        return
                await asyncio.sleep(0.05)

    await asyncio.wait_for(opens_again(), PATIENCE_SECONDS)


async def test_a_board_of_a_queue_that_is_deleted_ends(server: RunningServer) -> None:
    async with operator(server) as client:
        await make_queue(client, "board-gone")
        async with client.stream("GET", "/api/v1/queues/board-gone/board/stream") as answer:
            lines = answer.aiter_lines()
            await anext(lines)
            assert (await client.delete("/api/v1/admin/queues/board-gone")).status_code == 204
            async with asyncio.timeout(PATIENCE_SECONDS):
                async for _ in lines:
                    pass

        async def is_gone() -> None:  # what is sent once may be a second old
            while True:
                if (await client.get("/api/v1/queues/board-gone/board")).status_code == 404:
                    return
                await asyncio.sleep(0.05)

        await asyncio.wait_for(is_gone(), PATIENCE_SECONDS)
