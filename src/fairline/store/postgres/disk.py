"""Waits until what was committed is on disk, for many callers at once.

A step commits without waiting for the disk, so the lock of its queue is free for the next one at once. Only then its
caller waits here, with all others that have come as far: nobody is answered before what they did is on disk.

A witness is a connection that was there before the step, to the same server. If it can still commit after it, no crash
came between, and with its own commit everything committed before is on disk. A connection made later could not tell: it
might have been made after a crash that lost the step.
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

#: Which start of which server one is connected to.
SERVER = "pg_postmaster_start_time()::text"
#: A commit that wrote nothing waits for nothing, so it writes a message that nobody reads.
REACH_DISK = "SELECT pg_logical_emit_message(true, 'fairline', '')"


class Witness(NamedTuple):
    """A connection that commits as the database is set to: where that waits for standbys, so do all callers."""

    connection: Connection
    server: str


class Disk:
    """The disk of one database. `connect` makes a connection, `ask` runs a statement on one within a bounded time."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], ask: Ask) -> None:
        self._connect = connect
        self._ask = ask
        self._witness: Witness | None = None
        self._looking: asyncio.Task[Witness] | None = None
        self._settling = Grouping[Witness, None, None](self._settle, batch=20_000)

    async def close(self) -> None:
        """Give the witness back."""
        await self._settling.close()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        if self._witness is not None:
            await self._witness.connection.close()

    async def witness(self) -> Witness:
        """Who can vouch for a step that begins after this."""
        if self._witness is not None and not self._witness.connection.closed:
            return self._witness
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)  # whoever else waits for it has it even if this caller gives up

    async def reached(self, witness: Witness, server: str) -> None:
        """Wait until what was committed on `server` since this witness came is on disk; raise where nobody can tell."""
        if witness.server != server:  # one of the two is not the primary any more
            await witness.connection.close()
            raise psycopg.OperationalError("the database has moved to another server")
        await self._settling.call(witness, None)

    async def _look(self) -> Witness:
        connection = await self._connect()
        try:
            (server,) = await self._ask(connection, f"SELECT {SERVER}")
        except BaseException:
            await connection.close()
            raise
        self._witness = Witness(connection, server)
        return self._witness

    async def _settle(self, witness: Witness, callers: list[None]) -> list[None]:
        """One commit for all these callers. One that is under way already may have missed them: this is the next."""
        await self._ask(witness.connection, REACH_DISK)
        return callers
