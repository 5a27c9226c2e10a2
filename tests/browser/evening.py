"""An evening that was: a queue with a past, made by the simulation in virtual time up to now, and a server on it.

The past is in the folder of the server's store before the server starts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairline.domain.queue import QueueId
from fairline.simulation.evening import Simulation, VirtualClock
from fairline.simulation.people import Scenario, scenario
from fairline.store import open_store
from fairline.store.valkey.embedded import EmbeddedValkey
from tests.web.running import RunningServer

SALE = QueueId("winter-sale")
ENVIRON = {
    "FAIRLINE_SWEEP_SECONDS": "0.5",
    "FAIRLINE_TICK_SECONDS": "0.2",
    "FAIRLINE_LOG_FORMAT": "json",
    # Each browser says where it comes from, so that tries of one do not count for another.
    "FAIRLINE_TRUSTED_PROXIES": "127.0.0.1",
}
#: Nobody of the simulation is there any more once the server runs: they need no sign of life, and stay inside for long.
SETTINGS = {
    "name": "Winter Sale",
    "target_url": "https://shop.example/winter",
    "admission_rate": 2.0,
    "max_active": 320,
    "heartbeat_timeout_seconds": 0,
    "join_limit_per_ip": 0,
    "claim_seconds": 3600,
    "session_seconds": 7200,
}


class EveningClock(VirtualClock):
    """Begins this many seconds ago."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._began = round((time.time() - seconds) * 1000)

    def __call__(self) -> int:
        return self._began + self.second * 1000


def visitors(people: int, over_seconds: float, **settings: Any) -> Scenario:
    """People who come in a rush, some of whom give up or do not come when they are let in."""
    return scenario(
        SETTINGS | settings,
        people=people,
        over_seconds=over_seconds,
        stay_seconds=130,
        give_up=0.15,
        patience_seconds=240,
        no_shows=0.03,
    )


async def _pass(data: Path, wanted: Scenario, seconds: int) -> None:
    clock = EveningClock(seconds)
    server = EmbeddedValkey(data, fsync="everysec")
    store = await open_store(server.start(), clock=clock)
    try:
        evening = Simulation(wanted, store, clock, SALE)
        await evening.begin()
        await evening.run_until(seconds)
        await evening.service.close()
    finally:
        await store.close()
        server.stop()


@contextmanager
def after_an_evening(folder: Path, wanted: Scenario, seconds: int) -> Iterator[RunningServer]:
    """A server with two workers on which the evening has been."""
    with ThreadPoolExecutor(1) as pool:  # a browser has the event loop of this thread
        pool.submit(asyncio.run, _pass(folder / "data", wanted, seconds)).result()
    server = RunningServer(folder, environ=ENVIRON)
    try:
        yield server
    finally:
        server.stop()
