"""What each role needs of the other processes on the store: it is said at the start, and whenever it is missing."""

from __future__ import annotations

import asyncio
import contextlib
import time

import structlog

from fairline.errors import StoreError
from fairline.keeper.keeper import process_name
from fairline.service.fairline import Fairline
from fairline.settings import ServerRole, ServerSettings
from fairline.store import Part, ServerSeen, Store

log = structlog.get_logger()

#: Seconds between two looks at the other processes.
LOOK_SECONDS = 1.0
#: Seconds between two records of what this process says of itself.
SHOW_SECONDS = 5.0

#: What each role does, and what it needs, in words.
DOES = {
    ServerRole.ALL: "answers requests, lets people in and sends messages",
    ServerRole.WEB: "answers requests; lets nobody in by itself",
    ServerRole.KEEPER: "lets people in and sends messages; answers no requests",
}
NEEDS = {
    ServerRole.ALL: "the store",
    ServerRole.WEB: "the store, and a keeper on the same store with the same secret",
    ServerRole.KEEPER: "the store, and a web server on the same store with the same secret",
}
#: What is missing for how long, for a role that needs another part; and what follows from it.
MISSING: dict[ServerRole, tuple[Part, str]] = {
    ServerRole.WEB: ("keeper", "nobody is let in, and this server is not ready"),
    ServerRole.KEEPER: ("web", "people cannot reach Fairline, and those who wait do not lapse"),
}


async def is_there(store: Store, part: Part, sweep_seconds: float) -> bool:
    """Whether a process of a part was seen within three intervals of the sweep."""
    last = await store.registry.last_alive(part)
    return last is not None and await store.time() - last < 3000 * sweep_seconds


class Roles:
    """Says what this process is, and watches for what it needs."""

    def __init__(self, settings: ServerSettings, service: Fairline) -> None:
        self._settings = settings
        self._service = service
        self._found: bool | None = None

    async def watch(self) -> None:
        """Log what this role does and needs, then each time that it is missing or found, until cancelled."""
        role = self._settings.role
        log.info("role.started", role=role.value, does=DOES[role], needs=NEEDS[role])
        while role in MISSING:
            with contextlib.suppress(StoreError):  # an outage of the store is logged by those who work with it
                await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Look once for the part that this role needs."""
        part, effect = MISSING[self._settings.role]
        found = await is_there(self._service.store, part, self._settings.sweep_seconds)
        if found == self._found:
            return
        self._found = found
        if found:
            log.info("role.found", part=part)
        else:
            log.warning("role.waits", part=part, effect=effect)

    async def show(self) -> None:
        """Record in the store what this process is, until cancelled."""
        while True:
            with contextlib.suppress(StoreError):
                await self._service.store.registry.show_server(await self._server())
            await asyncio.sleep(SHOW_SECONDS)

    async def _server(self) -> ServerSeen:
        return ServerSeen(
            name=process_name(),
            role=self._settings.role.value,
            secret=self._service.keyring.fingerprint,
            ahead_seconds=round(await seconds_ahead(self._service.store), 1),
        )


async def seconds_ahead(store: Store) -> float:
    """How far the clock of this machine is ahead of the store's; below 0 it is behind. The time of the call does not
    count."""
    before = time.time()
    now = await store.time() / 1000
    after = time.time()
    return before - now if before > now else min(0.0, after - now)
