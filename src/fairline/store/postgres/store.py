"""The store on PostgreSQL: every operation is one function, one transaction, one round trip."""

from __future__ import annotations

import asyncio

from fairline.errors import StoreNotSupported
from fairline.store.contract import Clock, Kind
from fairline.store.embedded import EmbeddedServer
from fairline.store.postgres.admission import AdmissionOperations
from fairline.store.postgres.answers import decode
from fairline.store.postgres.client import Client, connect, mapped_errors
from fairline.store.postgres.draws import DrawOperations
from fairline.store.postgres.events import EventOperations
from fairline.store.postgres.line import LineOperations
from fairline.store.postgres.migrate import status as schema_status
from fairline.store.postgres.migrate import upgrade
from fairline.store.postgres.outbox import PostgresOutbox
from fairline.store.postgres.registry import PostgresRegistry
from fairline.store.postgres.tallies import TallyOperations
from fairline.store.postgres.tickets import TicketOperations


async def open_postgres(
    url: str, *, clock: Clock | None = None, server: EmbeddedServer | None = None, connections: int = 8
) -> PostgresStore:
    """Open the store at `url`, upgraded to the version this code needs; it has answered when this returns."""
    await _upgrade_if_needed(url)
    store = PostgresStore(Client(url, connections), clock, server)
    try:
        await store.open()
        await store.time()
    except BaseException:
        await store.close()
        raise
    return store


async def _upgrade_if_needed(url: str) -> None:
    """Upgrade an older database if this role may; otherwise say what has to be done."""
    async with mapped_errors(), await connect(url) as connection:
        found = await schema_status(connection)
        if found.current:
            return
        may = await connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')")
        row = await may.fetchone()
        if not (row and row[0]) and not found.newer:
            raise StoreNotSupported(
                f"The database is at version {found.version} and has to be upgraded, which this role may not do. "
                "Run 'fairline db upgrade --role …' as its owner."
            )
        await upgrade(connection)


class PostgresStore(
    AdmissionOperations, DrawOperations, EventOperations, LineOperations, TallyOperations, TicketOperations
):
    """See `contract.Store`."""

    kind: Kind = "postgresql"

    def __init__(self, client: Client, clock: Clock | None, server: EmbeddedServer | None) -> None:
        super().__init__(client, clock)
        self.registry = PostgresRegistry(client, clock)
        self.outbox = PostgresOutbox(client, clock)
        self._server = server

    async def open(self) -> None:
        """Connect."""
        await self._client.open()

    async def close(self) -> None:
        await self._client.close()
        if self._server:
            await asyncio.to_thread(self._server.stop)

    async def time(self) -> int:
        now = int(decode(await self._client.call("store_time")))
        return self._clock() if self._clock else now
