"""What pages say of a start over HTTP: when they look again, the file for calendars, the state of the queue, live."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from fairline.domain.next_start import NextStart
from fairline.domain.opening import Opening
from fairline.web.pages.calendar_file import calendar
from fairline.web.pages.languages import Language
from fairline.web.pages.start import Start
from tests.backends import PATIENCE_SECONDS
from tests.web.crowd import make_queue, operator
from tests.web.running import RunningServer

NOON = 1_795_000_000_000
HTML = {"Accept": "text/html"}
MINUTE = 60_000


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def start_in(seconds: float, *, prequeue: float | None = None, draw: bool = False) -> Start:
    at = NOON + round(1000 * seconds)
    joins = at if prequeue is None else NOON + round(1000 * prequeue)
    return Start("sale", Language("en"), NextStart(joins_at=joins, starts_at=at, draws_at=at if draw else None), NOON)


def test_without_scripts_a_page_in_line_refreshes_itself_at_the_start() -> None:
    assert start_in(3600, prequeue=-60).refresh_after(10) == 10
    assert 5 <= start_in(4, prequeue=-60).refresh_after(10) <= 7
    assert start_in(0.2, prequeue=-60).refresh_after(10) <= 4
    assert start_in(-3, prequeue=-60).refresh_after(10) >= 2


def test_a_page_looks_again_when_people_can_join() -> None:
    assert start_in(3600, prequeue=100).check_after(300) == 100
    assert start_in(3600).check_after(300) == 300
    assert start_in(-5).check_after(300) == 1


async def test_a_page_says_when_one_can_join_and_how_the_order_is_decided(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "says", status="maintenance")
        path = f"/api/v1/admin/queues/{queue}/openings"
        times = {"prequeue_at": in_seconds(1800), "starts_at": in_seconds(3600), "ends_at": in_seconds(4000)}
        opening = (await client.post(path, json={**times, "draw": "random"})).json()
        for draw, says in (
            ("random", "The order of all who join before the start is drawn"),
            ("none", "in the order in which they join"),
        ):
            await client.patch(f"{path}/{opening['id']}", json={"draw": draw})
            page = await client.get(f"/q/{queue}?lang=en", headers=HTML)
            assert (page.status_code, page.headers["x-fairline-state"]) == (503, "not_open")
            assert says in page.text
            assert "You can join from <time" in page.text
            assert f'href="/q/{queue}/opening.ics?lang=en"' in page.text
            assert 200 < int(page.headers["retry-after"]) <= 300
        await client.delete(f"{path}/{opening['id']}")
        page = await client.get(f"/q/{queue}?lang=en", headers=HTML)
        assert page.headers["x-fairline-state"] == "maintenance", "nothing is promised any more"
        assert (await client.get(f"/q/{queue}/opening.ics")).status_code == 404


async def test_a_start_that_is_overdue_is_not_promised_for_ever(server: RunningServer) -> None:
    from fairline.domain.settings_checks import checked
    from fairline.web.pages.page_access import LATE_START_MS, _closed_state

    settings = checked({"status": "maintenance", "opens_at": "2027-01-15T09:00:00Z"})
    opens = round(datetime(2027, 1, 15, 9, tzinfo=UTC).timestamp() * 1000)
    assert _closed_state(settings, opens - MINUTE) == "not_open"
    assert _closed_state(settings, opens + LATE_START_MS - 1) == "not_open"
    assert _closed_state(settings, opens + LATE_START_MS) == "maintenance"


def test_the_calendar_file_is_what_calendars_read() -> None:
    opening = Opening(
        id="night",
        name="x",
        starts_at=datetime.fromtimestamp((NOON + 60 * MINUTE) / 1000, UTC),
        ends_at=datetime.fromtimestamp((NOON + 90 * MINUTE) / 1000, UTC),
    )
    begins = NOON + 55 * MINUTE
    start = NextStart(joins_at=begins, starts_at=opening.starts_ms, draws_at=opening.starts_ms, opening=opening)
    name = "Löwen; Bären, \\ and\nBEGIN:VALARM " + "ÄÖÜ" * 30
    file = calendar("sale", name, "https://line.example/q/sale?lang=de", start, NOON)
    lines = file.split("\r\n")
    assert lines.pop() == ""
    assert all(len(line.encode()) <= 75 for line in lines)
    assert "\n" not in "".join(lines)
    whole = re.sub("\r\n[ ]", "", file).split("\r\n")
    fields = dict(line.split(":", 1) for line in whole if ":" in line)
    assert fields["SUMMARY"] == "Löwen\\; Bären\\, \\\\ and BEGIN:VALARM " + "ÄÖÜ" * 30
    assert fields["UID"] == "sale.night@fairline"
    assert datetime.strptime(fields["DTSTART"], "%Y%m%dT%H%M%S%z") == opening.starts_at
    assert datetime.strptime(fields["DTEND"], "%Y%m%dT%H%M%S%z") == opening.ends_at
    alarm = datetime.strptime(fields["TRIGGER;VALUE=DATE-TIME"], "%Y%m%dT%H%M%S%z")
    assert alarm.timestamp() * 1000 == begins, "not before people can join"
    assert 0 < int(fields["SEQUENCE"]) < 2**31
    assert whole.count("BEGIN:VALARM") == 1


async def test_the_state_of_a_queue_is_sent_when_it_changes_and_not_when_people_join(server: RunningServer) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, "live", status="paused", opens_at=in_seconds(3600))
        async with client.stream("GET", f"/api/v1/queues/{queue}/stream", timeout=PATIENCE_SECONDS) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            states = _states(stream)
            first = await anext(states)
            now = datetime.fromisoformat(first["now"])
            assert abs(datetime.now(UTC) - now) < timedelta(seconds=5)
            assert first["status"] == "paused"
            for number in range(3):
                await client.post(f"/api/v1/queues/{queue}/join", json={"client_id": f"client-{number}"})
            began = asyncio.get_running_loop().time()
            await client.patch(f"/api/v1/admin/queues/{queue}", json={"status": "maintenance"})
            second = await anext(states)
            assert asyncio.get_running_loop().time() - began < 5
            assert (second["status"], second["queue_length"]) == ("maintenance", 3)
            assert datetime.fromisoformat(second["opens_at"]) > datetime.now(UTC)
        missing = await client.get("/api/v1/queues/nowhere/stream")
        assert (missing.status_code, missing.json()["code"]) == (404, "queue_not_found")


async def _states(stream: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in stream.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


@pytest.mark.parametrize("scripts", ["start", "server"])
async def test_a_page_that_waits_names_the_scripts_that_it_needs(server: RunningServer, scripts: str) -> None:
    async with operator(server) as client:
        queue = await make_queue(client, f"names-{scripts}", status="maintenance")
        page = (await client.get(f"/q/{queue}", headers=HTML)).text
        data = json.loads(re.findall(r'id="fairline">(.*?)</script>', page)[0])
        assert data["follows"] is True
        assert (await client.get(data[scripts])).status_code == 200
