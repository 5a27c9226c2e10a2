"""The start of a sale: many people wait in a pre-queue, their order is drawn, and they are let in by it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import structlog
from msgspec import Struct
from msgspec.structs import replace
from rich.table import Table

from bench.common import SETTINGS, arrival, table
from fairline.domain.draw import root_of, tree_levels
from fairline.domain.events import EventType
from fairline.domain.opening import DrawKind, Opening
from fairline.domain.queue import queue_id
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Status
from fairline.keeper.keeper import Keeper
from fairline.service.draws import Draws, draw_id
from fairline.store import MAX_BATCH, Store, open_store

QUEUE = queue_id("sale")
OPENING = "night"
#: People in the pre-queue on each store, and the seconds in which they are to be drawn.
CROWDS = {"embedded": (200_000, 5.0), "embedded-postgres": (20_000, 10.0)}
RATE = 1000.0
#: The pre-queue opens and closes this long after everyone is there.
BEGINS, STARTS = 1.0, 3.0


async def measure(quick: bool) -> list[Table]:
    """A pre-queue and a draw on each store."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    result = table("From the start of an opening to the first admission, in seconds", "part", *CROWDS)
    nights = []
    for kind, (people, _) in CROWDS.items():
        with tempfile.TemporaryDirectory(prefix="fairline-bench-") as folder:
            store = await open_store(kind, data=Path(folder))
            try:
                nights.append(await _night(store, people // 10 if quick else people))
            finally:
                await store.close()
    for name in nights[0].parts:
        result.add_row(name, *(f"{night.parts[name]:.2f}" for night in nights))
    within = (f"{night.drawn:.2f} (≤ {most:g})" for night, (_, most) in zip(nights, CROWDS.values(), strict=True))
    result.add_row("[bold]all of it[/]", *within)
    result.add_row("first admission after the draw", *(f"{night.admitted:.2f}" for night in nights))
    crowds = " and ".join(f"{night.people:,}" for night in nights)
    result.caption = "\n".join(
        (
            f"{crowds} people; {RATE:,.0f} a second are let in. The secret decides alone: there is no beacon.",
            "Everyone was drawn once, stands where they were drawn and was let in by rank: nobody is lost or twice.",
        )
    )
    return [result]


class Night(Struct):
    """What was measured of one opening."""

    people: int
    parts: dict[str, float]
    drawn: float
    """Seconds from the start to the end of the draw."""
    admitted: float
    """Seconds from there to the first who was let in."""


async def _night(store: Store, people: int) -> Night:
    await store.create(QUEUE, checked({**SETTINGS, "admission_rate": RATE, "status": "paused"}))
    for first in range(0, people, MAX_BATCH):
        await store.join(QUEUE, [arrival(each) for each in range(first, min(first + MAX_BATCH, people))])
    found, now = await store.settings(QUEUE), await store.time()
    begins, starts = (datetime.fromtimestamp(now / 1000 + seconds, UTC) for seconds in (BEGINS, STARTS))
    opening = Opening(id=OPENING, prequeue_at=begins, starts_at=starts, draw=DrawKind.RANDOM)
    await store.configure(QUEUE, replace(found.settings, openings=(opening,)), found.version)
    watched = Watched(store)
    keeper = asyncio.create_task(Keeper(watched.store).run())
    try:
        closed, opened, admitted = await _told(
            store, keeper, (EventType.PREQUEUE_CLOSED, EventType.OPENING_STARTED, EventType.ADMITTED)
        )
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper
    await _check(store, people)
    at = opening.starts_ms
    return Night(people, watched.parts((closed - at) / 1000), (opened - at) / 1000, (admitted - opened) / 1000)


async def _told(store: Store, keeper: asyncio.Task[None], wanted: Sequence[EventType]) -> list[int]:
    """When the first event of each of these types happened."""
    seen: dict[EventType, int] = {}
    last = await store.last_event(QUEUE)
    while not all(kind in seen for kind in wanted):
        if keeper.done():
            raise RuntimeError(f"the keeper ended: {keeper.exception()!r}")
        for event in await store.events(QUEUE, last, 1000):
            last = event.id
            seen.setdefault(event.type, event.at)
        await asyncio.sleep(0.05)
    return [seen[kind] for kind in wanted]


async def _check(store: Store, people: int) -> None:
    """Everyone has a rank of their own, those ahead are in and the others stand in its order; the tree is whole."""
    inside = (await store.snapshot(QUEUE)).inside
    ranks = set()
    for first in range(1, people + 1, MAX_BATCH):
        numbers = range(first, min(first + MAX_BATCH, people + 1))
        for ticket in (await store.status(QUEUE, numbers)).items:
            if ticket is None:
                raise RuntimeError("somebody is lost")
            ranks.add(ticket.drawn_rank)
            let_in = ticket.status is Status.ADMITTED
            if let_in != (ticket.drawn_rank <= inside) or not (let_in or ticket.position == ticket.drawn_rank - inside):
                raise RuntimeError(f"number {ticket.number} has rank {ticket.drawn_rank} and stands elsewhere")
    if ranks != set(range(1, people + 1)):
        raise RuntimeError("somebody is twice in the draw, or not at all")
    draws = Draws(store)
    state = await draws.state(draw_id(QUEUE, OPENING))
    leaves = sorted([entry.leaf async for entry in draws.entries(state)])
    if len(leaves) != people or root_of(tree_levels(leaves)) != state.root:
        raise RuntimeError("what is published is not what was drawn")


class Watched:
    """Passes every call on to a store, and remembers when each of those that a draw makes was answered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._answered: dict[str, float] = {}
        self._closing = 0.0

    def __getattr__(self, name: str) -> Any:
        there = getattr(self._store, name)
        return self._watched(name, there) if inspect.iscoroutinefunction(there) else there

    @property
    def store(self) -> Store:
        """It, as what it stands for."""
        return cast(Store, self)

    def _watched(self, name: str, there: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            answer = await there(*args, **named)
            parts = [part.partition(":")[0] for part in args[2]] if name == "keep_draw" else [""]
            for part in parts:
                self._answered[f"{name} {part}".strip()] = time.perf_counter()
            if named.get("event", ("", ""))[0] is EventType.PREQUEUE_CLOSED:
                self._closing = time.perf_counter()
            return answer

        return call

    def parts(self, closing: float) -> dict[str, float]:
        """The seconds of each part of the draw, one after the other."""
        ends = {
            "who is in it": "keep_draw members",
            "the tree, until its root is published": "keep_draw closed",
            "values and order, with all that is published": "keep_draw entries",
            "places in the line": "place_drawn",
            "people may go in": "configure",
        }
        found, before = {"the pre-queue closes": closing}, self._closing
        for name, call in ends.items():
            found[name] = self._answered[call] - before
            before = self._answered[call]
        return found
