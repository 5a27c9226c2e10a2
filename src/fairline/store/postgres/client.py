"""Talks to PostgreSQL: calls operations over a pool of connections, and turns the driver's errors into Fairline's."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout, TooManyRequests

from fairline.aio.cancellation import cancellation_kept
from fairline.domain.queue import QueueId
from fairline.errors import QueueNotFound, StoreError, StoreNotSupported, StoreUnavailable
from fairline.store.postgres.disk import Connection, Disk
from fairline.store.postgres.statements import operations

#: How long a call may wait for a connection, a lock and its whole answer. A step takes milliseconds: if it takes this
#: long something is wrong, and a clear error is better for the caller than a longer wait.
POOL_SECONDS = 2.0
LOCK_MS = 3000
STATEMENT_MS = 5000
ANSWER_SECONDS = 7.0
CONNECT_SECONDS = 2

NO_QUEUE = "FL001"
# The pool logs each failed try to connect. The caller gets the error too, and logs it once.
logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
_REFUSED = (
    errors.InvalidPassword,
    errors.InvalidAuthorizationSpecification,
    errors.InvalidCatalogName,
    errors.InsufficientPrivilege,
    errors.UndefinedFunction,
    errors.InvalidSchemaName,
)


def conninfo(url: str) -> str:
    """The address with the options that every connection needs; options in the address itself win."""
    try:
        given: Mapping[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise StoreNotSupported(f"The store's address cannot be read: {error}.") from None
    wanted: dict[str, str | int] = {
        "application_name": "fairline",
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        "tcp_user_timeout": STATEMENT_MS,
        "target_session_attrs": "read-write",
        "options": f"-c statement_timeout={STATEMENT_MS} -c lock_timeout={LOCK_MS} -c jit=off "
        f"-c idle_in_transaction_session_timeout={STATEMENT_MS}",
    }
    return make_conninfo(url, **{name: value for name, value in wanted.items() if name not in given})


@asynccontextmanager
async def mapped_errors(queue: QueueId | None = None) -> AsyncIterator[None]:
    """Turn the driver's errors into Fairline's."""
    with cancellation_kept():
        try:
            yield
        except (PoolTimeout, TooManyRequests) as error:
            raise StoreUnavailable(f"no connection was free within {POOL_SECONDS:g} s") from error
        except OSError as error:
            raise StoreUnavailable(str(error)) from error
        except _REFUSED as error:
            raise StoreNotSupported(f"The database refuses it: {_message(error)}. {_advice(error)}") from error
        except psycopg.Error as error:
            if queue is not None and error.sqlstate == NO_QUEUE:
                raise QueueNotFound(queue) from None
            if isinstance(error, psycopg.OperationalError | errors.ReadOnlySqlTransaction):
                raise StoreUnavailable(_message(error)) from error
            raise StoreError(f"The database refused a call: {_message(error)}.") from error


@contextmanager
def _answered_in_time(connection: Connection) -> Iterator[None]:
    """Close the connection if the answer takes too long: a database that is frozen or cut off cannot end a call by
    itself, and would not receive a request to do so, for which the driver would wait."""
    late = False

    def hang_up() -> None:
        nonlocal late
        late = True
        with suppress(OSError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, hang_up)
    try:
        yield
    except psycopg.OperationalError as error:
        if late:
            raise psycopg.OperationalError(f"no answer within {ANSWER_SECONDS:g} s") from error
        raise
    finally:
        timer.cancel()


def _message(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return " ".join(text.splitlines()[0].split()).rstrip(".")


def _advice(error: psycopg.Error) -> str:
    if isinstance(error, errors.UndefinedFunction | errors.InvalidSchemaName):
        return "Run 'fairline db upgrade' on it."
    if isinstance(error, errors.InsufficientPrivilege):
        return "Run 'fairline db upgrade --role …' as the owner of the schema."
    return "Check the name, the password and the database in its address."


async def connect(url: str) -> Connection:
    """One connection without a pool, as the owner of the schema needs it."""
    async with mapped_errors():
        return await AsyncConnection.connect(conninfo(url), autocommit=True)


class Client:
    """A pool of connections on which each call is one statement, which is one transaction."""

    def __init__(self, url: str, connections: int) -> None:
        self.url = url
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo(url),
            kwargs={"autocommit": True},
            configure=_commit_at_once,
            min_size=1,
            max_size=connections,
            timeout=POOL_SECONDS,
            # Callers ask for a connection again anyway: none waits for a pause that grew long during an outage.
            reconnect_timeout=1.0,
            open=False,
        )
        self._disk = Disk(lambda: AsyncConnection.connect(conninfo(url), autocommit=True), self._ask)
        self._checking: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect."""
        async with mapped_errors():
            await self._pool.open(wait=True, timeout=POOL_SECONDS)
            await self._disk.witness()

    async def close(self) -> None:
        """Close all connections."""
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait([self._checking])
        await self._disk.close()
        await self._pool.close()

    async def call(self, name: str, *args: Any, queue: QueueId | None = None) -> str:
        """Run an operation; returns its JSON once everything it wrote is on disk."""
        async with mapped_errors(queue):
            async with self._pool.connection() as connection:
                witness = await self._disk.witness()
                answer, server = await self._ask(connection, operations()[name].call, args)
            if server is not None:
                await self._disk.reached(witness, server)
        assert isinstance(answer, str), f"{name} answered no JSON"
        return answer

    async def setting(self, name: str) -> str | None:
        """A setting of the server; None if it does not say."""
        async with mapped_errors():
            witness = await self._disk.witness()
            (value,) = await self._ask(witness.connection, "SELECT current_setting(%s, true)", [name])
            return value if isinstance(value, str) else None

    async def _ask(self, connection: Connection, statement: str, args: Sequence[Any] = ()) -> TupleRow:
        try:
            with _answered_in_time(connection):
                row = await (await connection.execute(statement, args)).fetchone()
        except psycopg.Error as error:
            await self._check_after(connection, error)
            raise
        assert row is not None
        return row

    async def _check_after(self, connection: Connection, error: Exception) -> None:
        """After a lost connection the others may be dead too. A server that became a replica is of no use any more."""
        if isinstance(error, errors.ReadOnlySqlTransaction):
            await connection.close()
        if connection.closed and (self._checking is None or self._checking.done()):
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        with suppress(psycopg.Error, OSError, PoolTimeout):
            await self._pool.check()


async def _commit_at_once(connection: Connection) -> None:
    """A step does not wait for the disk: see disk.py."""
    await connection.execute("SET synchronous_commit = off")
