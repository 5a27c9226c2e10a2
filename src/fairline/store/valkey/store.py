"""The store on Valkey, Redis, or a cluster of either: every operation is one script."""

from __future__ import annotations

import asyncio

from fairline.store.contract import Clock, Kind
from fairline.store.embedded import EmbeddedServer
from fairline.store.valkey.admission import AdmissionOperations
from fairline.store.valkey.client import Connection, connect, mapped_errors
from fairline.store.valkey.draws import DrawOperations
from fairline.store.valkey.events import EventOperations
from fairline.store.valkey.line import LineOperations
from fairline.store.valkey.outbox import ValkeyOutbox
from fairline.store.valkey.registry import ValkeyRegistry
from fairline.store.valkey.tallies import TallyOperations
from fairline.store.valkey.tickets import TicketOperations


async def open_valkey(
    url: str, *, clock: Clock | None = None, server: EmbeddedServer | None = None, connections: int = 16
) -> ValkeyStore:
    """Open the store at `url`; it has answered when this returns."""
    store = ValkeyStore(connect(url, connections), clock, server)
    try:
        await store.time()
    except BaseException:
        await store.close()
        raise
    return store


class ValkeyStore(
    AdmissionOperations, DrawOperations, EventOperations, LineOperations, TallyOperations, TicketOperations
):
    """See `contract.Store`."""

    kind: Kind = "valkey"

    def __init__(self, client: Connection, clock: Clock | None, server: EmbeddedServer | None) -> None:
        super().__init__(client, clock)
        self.registry = ValkeyRegistry(client, self.time)
        self.outbox = ValkeyOutbox(client, self._runner, clock)
        self._server = server

    async def close(self) -> None:
        await self._runner.close()
        await self._client.aclose()
        if self._server:
            await asyncio.to_thread(self._server.stop)

    async def time(self) -> int:
        async with mapped_errors():
            seconds, micros = await self._client.time()
        return self._clock() if self._clock else int(seconds) * 1000 + int(micros) // 1000
