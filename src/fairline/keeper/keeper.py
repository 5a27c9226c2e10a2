"""The rounds of the keeper on every queue: admit people, sweep tickets that are past their deadline, finish interrupted
transfers, and end the day. Beside the rounds, it takes the steps of openings (see openings.py).

Every worker runs a keeper. Each step is atomic in the store, so any number of keepers is safe; a short lease only saves
them needless work. After an outage the sweep notices that no keeper was running. It extends all deadlines by that time
before anything lapses.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

import structlog

from fairline.domain.queue import QueueId
from fairline.domain.rehearsal import LEFT_OVER_MS, rehearsed_at
from fairline.errors import QueueNotFound, StoreError
from fairline.keeper.drawing import Beacon, Drawing
from fairline.keeper.idle_queues import IdleQueues
from fairline.keeper.openings import OpeningKeeper
from fairline.keeper.schedules import Schedules
from fairline.keeper.transfers import Transfers
from fairline.store import Lapsed, Store

log = structlog.get_logger()

#: How many tickets one step may move, so that it does not block the store for long.
STEP = 500
#: How many queues are handled at once.
AT_ONCE = 8

TICK_SECONDS = 1.0
SWEEP_SECONDS = 5.0
#: How long an empty queue goes without a tick. It is short because the measurements of a line count from its last tick,
#: also for people who join in between.
EMPTY_SECONDS = 3.0
#: How long a queue without a closing time and without transfers goes without a check for either.
SETTLED_SECONDS = 60.0


def process_name() -> str:
    """The name of this process, unique among all machines."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Keeper:
    """Runs the rounds on all queues of a store.

    `on_admitted` and `on_lapsed` are called with what this keeper did; other keepers may do the same work.
    `follows_web` is for a keeper that runs without a web worker in its process: while there is no web worker anywhere,
    nobody who waits lapses. `on_round` is called after each successful round with its name, and in seconds how late it
    began and how long it took. `beacon` is the public randomness for draws, and `random_bytes` makes their secrets."""

    def __init__(
        self,
        store: Store,
        *,
        tick_seconds: float = TICK_SECONDS,
        sweep_seconds: float = SWEEP_SECONDS,
        follows_web: bool = False,
        on_admitted: Callable[[QueueId, list[int]], None] | None = None,
        on_lapsed: Callable[[QueueId, list[Lapsed]], None] | None = None,
        on_round: Callable[[str, float, float], None] | None = None,
        beacon: Beacon | None = None,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._store = store
        self.tick_seconds = tick_seconds
        self.sweep_seconds = sweep_seconds
        self._follows_web = follows_web
        self._stalled = False
        self._store_away = False
        self._on_admitted = on_admitted
        self._on_lapsed = on_lapsed
        self._on_round = on_round
        self._schedules = Schedules(store)
        self._transfers = Transfers(store)
        self.openings = OpeningKeeper(store, Drawing(store, beacon, random_bytes))
        self._empty = IdleQueues(int(EMPTY_SECONDS / tick_seconds))
        self._settled = IdleQueues(int(SETTLED_SECONDS / sweep_seconds))
        self.ticked_at = 0.0
        self.swept_at = 0.0

    @property
    def alive(self) -> bool:
        """Whether both rounds succeeded recently."""
        now = time.monotonic()
        return now - self.ticked_at < 5 * self.tick_seconds + 1 and now - self.swept_at < 3 * self.sweep_seconds

    async def run(self) -> None:
        """Run the rounds until cancelled. An outage of the store is waited out."""
        # At once, because no keeper may have run for a while. The sweep goes first: it notices an outage before
        # anything can lapse because of it.
        await self._round("sweep", self.sweep)
        await self._round("tick", self.tick)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._rounds("tick", self.tick, self.tick_seconds))
            tasks.create_task(self._rounds("sweep", self.sweep, self.sweep_seconds))
            tasks.create_task(self.openings.run())

    async def tick(self) -> None:
        """One round of admission over all queues."""
        if time.monotonic() - self.swept_at > 2 * self.sweep_seconds:
            # After an outage the sweep extends all deadlines; people admitted before that would get too much time.
            await self.sweep()
        newest = await self._store.newest_events()
        self.openings.keep_only(set(newest))
        await self._each(partial(self._admit, newest), self._empty.round(newest))
        self.ticked_at = time.monotonic()

    async def sweep(self) -> None:
        """One round of the sweep over all queues."""
        newest = await self._store.newest_events()
        self._stalled = self._follows_web and await self._web_is_away()
        await self._store.registry.mark_alive("keeper", process_name())
        await self._wipe_rehearsals(newest)
        await self._each(self._sweep, newest)
        await self._each(partial(self._check_day_and_transfers, newest), self._settled.round(newest))
        self.swept_at = time.monotonic()

    async def _wipe_rehearsals(self, queues: Iterable[QueueId]) -> None:
        """Delete the queues of rehearsals that nobody has ended, because their server died."""
        begun = {queue: at for queue in queues if (at := rehearsed_at(queue)) is not None}
        now = await self._store.time() if begun else 0
        for queue, at in begun.items():
            if now - at > LEFT_OVER_MS:
                with suppress(QueueNotFound):
                    await self._store.delete(queue)
                    log.info("rehearsal.wiped", queue=queue)

    async def _web_is_away(self) -> bool:
        """Whether no web worker is running anywhere, so that nobody who waits can send a heartbeat."""
        last = await self._store.registry.last_alive("web")
        return last is not None and await self._store.time() - last > 1500 * self.sweep_seconds

    async def _admit(self, newest: Mapping[QueueId, str], queue: QueueId) -> None:
        lease = self.tick_seconds / 2
        if not self.openings.knows(queue) or self.openings.prequeue_is_due(queue):
            # Nobody may have kept the queue for a while, and the step may take a moment: nobody goes in before it.
            await self.openings.note(queue, await self._store.snapshot(queue))
            if self.openings.prequeue_is_due(queue):
                return
        while True:
            reply = await self._store.admit(queue, STEP, every=self.tick_seconds, lease=lease)
            admitted, snapshot = reply.items, reply.snapshot
            await self.openings.note(queue, snapshot)
            if admitted and self._on_admitted:
                self._on_admitted(queue, admitted)
            if len(admitted) < STEP:
                if not snapshot.waiting and not snapshot.on_hold and not snapshot.inside:
                    self._empty.rest(queue, newest[queue])
                return
            lease = 0.0  # the same round continues

    async def _sweep(self, queue: QueueId) -> None:
        lease = self.sweep_seconds / 2
        while True:
            swept = await self._store.sweep(queue, STEP, every=self.sweep_seconds, lease=lease, stalled=self._stalled)
            if swept.lapsed and self._on_lapsed:
                self._on_lapsed(queue, swept.lapsed)
            if not swept.more:
                return
            lease = 0.0

    async def _check_day_and_transfers(self, newest: Mapping[QueueId, str], queue: QueueId) -> None:
        has_closing_time = await self._schedules.keep(queue)
        has_transfers = await self._transfers.keep(queue)
        if not has_closing_time and not has_transfers:
            self._settled.rest(queue, newest[queue])

    async def _each(self, step: Callable[[QueueId], Awaitable[None]], queues: Iterable[QueueId]) -> None:
        """Do one step on each queue, a few at once. A queue that fails does not stop the others."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def try_step(queue: QueueId) -> StoreError | None:
            async with slots:
                try:
                    await step(queue)
                except QueueNotFound:
                    pass  # deleted meanwhile
                except StoreError as error:
                    return error
            return None

        failed = [error for error in await asyncio.gather(*map(try_step, queues)) if error]
        if failed:
            raise failed[0]

    async def _rounds(self, name: str, do_round: Callable[[], Awaitable[None]], seconds: float) -> None:
        loop = asyncio.get_running_loop()
        # A random delay, so that keepers that started together spread out.
        due = loop.time() + random.uniform(0, seconds)
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            late = loop.time() - due
            due = max(due + seconds, loop.time())
            await self._round(name, do_round, late)

    async def _round(self, name: str, do_round: Callable[[], Awaitable[None]], late: float = 0.0) -> None:
        began = time.monotonic()
        try:
            await do_round()
        except StoreError as error:
            if not self._store_away:  # logged once, not at every round
                log.warning("keeper.store_away", round=name, error=error.message)
            self._store_away = True
            return
        if self._store_away:
            log.info("keeper.store_back", round=name)
        self._store_away = False
        if self._on_round:
            self._on_round(name, late, time.monotonic() - began)
