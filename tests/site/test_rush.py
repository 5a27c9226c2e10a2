"""A rush on the shop: three hundred people, capacity for twenty, and fifty lamps."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.site.conftest import Venue
from tests.site.visitor import Site, Visitor, waiting_page

ROOM, STOCK, PEOPLE = 20, 50, 300


@pytest.mark.timeout(120)
async def test_nobody_is_too_much_and_nothing_is_sold_twice(venue: Venue, tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    with venue.behind("nginx", tmp_path, STOCK) as site:
        venue.queue(site.url, max_active=ROOM, stock=STOCK, admission_rate=200)
        watching = asyncio.create_task(_watch(venue))
        chance = random.Random(7)
        fates = await asyncio.gather(*(_visit(site, number, chance.random() < 0.3) for number in range(PEOPLE)))
        watching.cancel()
        (watched,) = await asyncio.gather(watching, return_exceptions=True)
        assert isinstance(watched, asyncio.CancelledError), watched
        report, stats = site.report(), venue.stats()
    assert report["sold"] == report["buyers"] == STOCK == fates.count("bought")
    assert 0 < report["most_inside"] <= ROOM
    assert fates.count("left") > 0  # what they gave back was sold to others
    assert fates.count("told that all is sold") == PEOPLE - STOCK - fates.count("left")
    assert (stats["completed"], stats["active"], stats["admitted"]) == (STOCK, 0, 0)


async def _watch(venue: Venue) -> None:
    """Never more inside than the capacity, as the line sees it."""
    while True:
        stats = await asyncio.to_thread(venue.stats)
        assert stats["admitted"] + stats["active"] <= ROOM
        await asyncio.sleep(0.1)


async def _visit(site: Site, number: int, picky: bool) -> str:
    async with Visitor(site, f"visitor {number}") as visitor:
        waiting_page(await visitor.asks("/lamp"))
        await visitor.joins()
        answer = await visitor.waits(_has_news, lambda: asyncio.sleep(random.uniform(0.2, 0.5)))
        if answer["status"] != "admitted":
            return "told that all is sold"
        page = await visitor.goes_in(answer["redirect_url"])
        assert page.status_code == 200, page.text
        if picky:
            assert (await visitor.browser.post("/leave")).status_code == 200
            return "left"
        bought = await visitor.browser.post("/buy")
        assert bought.status_code == 200, bought.text
        waiting_page(await visitor.asks("/lamp"))
        return "bought"


def _has_news(answer: dict[str, Any]) -> bool:
    return bool(answer["status"] == "admitted" or answer.get("sold_out"))
