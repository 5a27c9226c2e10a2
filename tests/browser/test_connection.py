"""While the connection is cut, or the server or its store hangs, what the page says is what the server does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Status, TicketStatus
from tests.backends import wait_until
from tests.browser.venue import shows
from tests.web.inside import Inside, open_queue, serving_on_uvloop

STEP_SECONDS = 10
#: Seconds between sweeps that are no outage, in which the queue's clock would stand still.
NO_OUTAGE = 3600.0
#: How much longer than it says a place may be kept: a heartbeat of an open stream, and what page and store take.
BETWEEN_HEARTBEATS = timedelta(seconds=15)


class PushedClock:
    """The time of this machine, and what it was pushed on."""

    def __init__(self) -> None:
        self.pushed = 0.0

    def __call__(self) -> int:
        return round((time.time() + self.pushed) * 1000)


class Cable:
    """The way from the browser to the server, which can be cut."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._ends: set[asyncio.StreamWriter] = set()
        self.is_cut = False
        self.port = 0

    async def lay(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def take_up(self) -> None:
        """End."""
        self._server.close()
        await self.cut()

    async def cut(self) -> None:
        """End every connection, and let none through any more."""
        self.is_cut = True
        for end in self._ends:
            end.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._ends |= {writer, back}
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        self._ends -= {writer, back}

    @staticmethod
    async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while part := await reader.read(65_536):
                writer.write(part)
                await writer.drain()
        finally:
            writer.transport.abort()


class House:
    """A server in a thread, with a store whose clock can be pushed."""

    def __init__(self, inside: Inside, clock: PushedClock) -> None:
        assert inside.context.hub is not None
        self.hub = inside.context.hub
        self.inside = inside
        self.clock = clock
        self.cable = Cable(inside.port)
        self.run(self.cable.lay())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.hub.loop).result(60)

    def queue(self) -> tuple[QueueId, str]:
        """A queue with the usual settings, and the address of its page."""
        self.cable.is_cut = False
        self.clock.pushed = 0.0
        name = self.run(open_queue(self.inside.service))
        return name, f"http://127.0.0.1:{self.cable.port}/q/{name}?lang=en"

    def ticket(self, queue: QueueId) -> TicketStatus:
        """The first ticket."""

        async def status() -> TicketStatus:
            return (await self.inside.service.status(queue, 1)).ticket_status

        found: TicketStatus = self.run(status())
        return found

    def settle(self, queue: QueueId) -> None:
        """Write the last heartbeats now. Otherwise it is done within a second, in which tests push the clock far on."""
        self.run(self.inside.service._batches._heartbeats.write(queue))

    def push(self, queue: QueueId, page: Page) -> None:
        """Some seconds pass: first for the page, then for the store, which ends what is over."""
        page.clock.fast_forward(STEP_SECONDS * 1000)
        self.clock.pushed += STEP_SECONDS
        self.run(self.inside.service.store.sweep(queue, 100, every=NO_OUTAGE))


@pytest.fixture(scope="module")
def house(module_valkey_url: str) -> Iterator[House]:
    clock = PushedClock()
    with serving_on_uvloop(module_valkey_url, clock=clock) as inside:
        house = House(inside, clock)
        yield house
        house.run(house.cable.take_up())


def in_line(browser: Browser, url: str) -> Page:
    """Someone who waits; close the page's context after use."""
    page = browser.new_context(locale="en-GB", timezone_id="UTC").new_page()
    page.clock.install()
    page.goto(url)
    shows(page, "position").to_have_text("1")
    shows(page, "heard").to_have_text("Up to date")
    return page


def said_by(page: Page) -> str:
    """What the page says about its connection, with plain spaces."""
    return page.locator("[data-show=heard]").inner_text().replace("\u202f", " ")


def test_while_the_network_is_cut_the_page_says_what_the_server_does(house: House, browser: Browser) -> None:
    for seconds in (30, 120, 600):
        queue, url = house.queue()
        page = in_line(browser, url)
        page.context.set_offline(True)
        house.run(house.cable.cut())
        shows(page, "heard").to_contain_text("You are offline. We hold your place until")
        wait_until(lambda: house.hub.open_streams == 0, "the stream is over")
        house.settle(queue)
        deadline = datetime.fromtimestamp((house.ticket(queue).deadline or 0) / 1000, UTC)
        promised = [f"until {moment:%-I:%M %p}." for moment in (deadline, deadline - BETWEEN_HEARTBEATS)]
        assert any(time in said_by(page) for time in promised), (seconds, said_by(page), promised)
        held = True
        for passed in range(STEP_SECONDS, seconds + 1, STEP_SECONDS):
            house.push(queue, page)
            status = house.ticket(queue).status
            held = status is Status.WAITING
            said = said_by(page)
            assert held or "it may be gone now" in said, (passed, said)
            assert "it may be gone now" in said or "We hold your place until" in said, (passed, said)
            assert not (held and passed >= 100), (passed, status)
        house.cable.is_cut = False
        page.context.set_offline(False)
        if held:
            shows(page, "heard").to_have_text("Up to date")
            shows(page, "position").to_have_text("1")
        else:
            expect(page.get_by_role("heading", name="You lost your place")).to_be_visible()
        page.context.close()


def test_a_closed_page_keeps_its_place_for_as_long_as_it_said_and_welcomes_who_comes_back(
    house: House, browser: Browser
) -> None:
    queue, url = house.queue()
    page = in_line(browser, url)
    expect(page.get_by_text("If you close this page, we keep your place for 5 minutes.")).to_be_visible()
    page.goto("about:blank")
    wait_until(lambda: (house.ticket(queue).deadline or 0) > house.clock() + 280_000, "the page was closed")
    for _ in range(290 // STEP_SECONDS):
        house.push(queue, page)
    assert house.ticket(queue).status is Status.WAITING
    page.goto(url)
    shows(page, "note").to_have_text("Welcome back. We kept your place.")
    shows(page, "position").to_have_text("1")
    shows(page, "heard").to_have_text("Up to date")
    page.goto("about:blank")
    wait_until(lambda: (house.ticket(queue).deadline or 0) > house.clock() + 280_000, "the page was closed")
    for _ in range(310 // STEP_SECONDS):
        house.push(queue, page)
    assert house.ticket(queue).status is Status.EXPIRED
    page.context.close()


def test_a_page_does_not_say_that_it_is_up_to_date_while_the_server_or_its_store_hangs(
    house: House, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = house.queue()
    page = in_line(browser, url)
    heard = shows(page, "heard")
    release = threading.Event()
    house.hub.loop.call_soon_threadsafe(release.wait, 60)
    page.clock.run_for(5000)
    try:
        heard.to_contain_text("Reconnecting. We hold your place until")
    finally:
        release.set()
    heard.to_have_text("Up to date")

    events, over = house.inside.service.events, asyncio.Event()

    async def hangs(*args: Any) -> Any:
        await over.wait()
        return await events(*args)

    monkeypatch.setattr(house.inside.service, "events", hangs)
    heard.to_contain_text("Reconnecting. We hold your place until")  # the server says so, after its own patience
    house.hub.loop.call_soon_threadsafe(over.set)
    heard.to_have_text("Up to date")
    page.context.close()


def test_leaving_can_be_taken_back(house: House, browser: Browser) -> None:
    queue, url = house.queue()
    page = in_line(browser, url)
    other = page.context.new_page()
    other.goto(url)
    shows(other, "position").to_have_text("1")
    page.get_by_text("Leave the line").click()
    page.get_by_role("button", name="Yes, leave").click()
    expect(page.get_by_role("heading", name="You have left the line")).to_be_visible()
    expect(other.get_by_role("heading", name="You have left the line")).to_be_visible()
    assert house.ticket(queue).leaving
    page.get_by_role("button", name="Take my place back").click()
    shows(page, "position").to_have_text("1")
    wait_until(lambda: not house.ticket(queue).leaving, "back in line")
    page.context.close()
