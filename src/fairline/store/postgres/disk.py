"""Waits until committed changes are on disk, for many callers at once.

A step commits without waiting for the disk, so the lock of its queue is free for the next step at once. After that its
caller waits here, together with all others: nobody gets an answer before their changes are on disk.

A witness is a connection to the same server that was open before the step. If it can still commit after the step, there
was no crash in between, and its commit brings everything that was committed before to the disk. A connection that was
opened later proves nothing: it might have been opened after a crash that lost the step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from fairline.aio.grouping import Grouping

Connection = AsyncConnection[TupleRow]
Ask = Callable[[Connection, str], Awaitable[TupleRow]]

#: Identifies one start of one server.
SERVER = "pg_postmaster_start_time()::text"
#: A commit that wrote nothing does not wait, so it writes a message that nobody reads.
REACH_DISK = "SELECT pg_logical_emit_message(true, 'fairline', '')"


class Witness(NamedTuple):
    """A connection that commits as the database is configured: if that waits for standbys, all callers do."""

    connection: Connection
    server: str


class Disk:
    """The disk of one database. `connect` makes a connection, `ask` runs a statement on one within a bounded time."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], ask: Ask) -> None:
        self._connect = connect
        self._ask = ask
        self._witness: Witness | None = None
        self._connecting: asyncio.Task[Witness] | None = None
        self._settling = Grouping[Witness, None, None](self._settle, batch=20_000)

    async def close(self) -> None:
        """Close the witness."""
        await self._settling.close()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._witness is not None:
            await self._witness.connection.close()

    async def witness(self) -> Witness:
        """A witness for a step that begins after this call."""
        if self._witness is not None and not self._witness.connection.closed:
            return self._witness
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._new_witness())
        return await asyncio.shield(self._connecting)  # other callers still get it if this one gives up

    async def reached(self, witness: Witness, server: str) -> None:
        """Wait until everything committed on `server` since the witness was opened is on disk; raise if that is
        unknown."""
        if witness.server != server:  # one of the two is no longer the primary
            await witness.connection.close()
            raise psycopg.OperationalError("the database has moved to another server")
        await self._settling.call(witness, None)

    async def _new_witness(self) -> Witness:
        connection = await self._connect()
        try:
            (server,) = await self._ask(connection, f"SELECT {SERVER}")
        except BaseException:
            await connection.close()
            raise
        self._witness = Witness(connection, server)
        return self._witness

    async def _settle(self, witness: Witness, callers: list[None]) -> list[None]:
        """One commit for all these callers. A commit that had already begun may have missed their changes."""
        await self._ask(witness.connection, REACH_DISK)
        return callers
