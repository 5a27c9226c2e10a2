"""Upgrades the schema of a database to the version that this code needs, and reads its version.

Each upgrade is one transaction under one lock: if several instances start at once, one does it and the others find it
done. Migrations add to each other and are never changed. Columns of new settings, the functions and the table of
transitions follow the code without one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier

from fairline.domain.ticket import Action, Status, goes_to
from fairline.errors import StoreNotSupported
from fairline.store.postgres.settings_columns import add_settings_columns
from fairline.store.postgres.statements import SCHEMA, Migration, digest, functions, migrations, operations

#: Any number that no other program uses as a lock on the same database.
LOCK = 0x6661_6972_6C69_6E65
OLDEST = 140_000

Connection = AsyncConnection[TupleRow]


class Schema(Struct, frozen=True):
    """The version of a database."""

    version: int
    """Its last migration; 0 if it has none."""
    digest: str
    """The digest of its functions and of the columns that hold settings."""

    @property
    def current(self) -> bool:
        """Whether it is the version that this code needs."""
        return self.version == migrations()[-1].number and self.digest == digest()

    @property
    def newer(self) -> bool:
        """Whether a later Fairline has upgraded it."""
        return self.version > migrations()[-1].number

    @property
    def pending(self) -> list[Migration]:
        """The migrations that an upgrade would run."""
        return [each for each in migrations() if each.number > self.version]


async def status(connection: Connection) -> Schema:
    """The version of the database."""
    there = await _one(connection, f"SELECT to_regclass('{SCHEMA}.migrations') IS NOT NULL")
    if not there:
        return Schema(0, "")
    found = await connection.execute(f"SELECT number, digest FROM {SCHEMA}.migrations ORDER BY number DESC LIMIT 1")
    row = await found.fetchone()
    return Schema(*row) if row else Schema(0, "")


async def upgrade(connection: Connection, *, role: str | None = None, upto: int | None = None) -> Schema:
    """Upgrade the database to the newest version (or to `upto`, for tests), and let `role` run the operations."""
    if connection.info.server_version < OLDEST:
        found = connection.info.server_version // 10_000
        raise StoreNotSupported(f"The store needs PostgreSQL {OLDEST // 10_000} or newer; this is {found}.")
    async with _alone(connection), connection.transaction():
        before = await status(connection)
        if before.newer:
            raise StoreNotSupported(
                f"The database is at version {before.version}, and this Fairline knows {migrations()[-1].number} at "
                "most. Run the Fairline that upgraded it, or a newer one."
            )
        if not before.current or upto is not None:
            await _prepare(connection)
            for each in before.pending:
                if upto is None or each.number <= upto:
                    await _run(connection, each.body)
                    await connection.execute(
                        "INSERT INTO migrations (number, name) VALUES (%s, %s)", [each.number, each.name]
                    )
            if upto is None:
                await _run(connection, add_settings_columns())
                await _renew_functions(connection)
                await connection.execute(
                    "UPDATE migrations SET digest = %s WHERE number = (SELECT max(number) FROM migrations)", [digest()]
                )
        if role is not None:
            await _grant(connection, role)
        return await status(connection)


@asynccontextmanager
async def _alone(connection: Connection) -> AsyncIterator[None]:
    """One upgrade at a time. The lock is taken before the transaction begins, because only a transaction that begins
    after another upgrade is sure to see its changes."""
    # An upgrade that has the lock may take longer than a statement usually may.
    await connection.execute("SET statement_timeout = 0")
    await connection.execute("SET lock_timeout = '60s'")
    await connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        if not connection.closed:
            await connection.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
            await connection.execute("RESET statement_timeout")
            await connection.execute("RESET lock_timeout")


async def _prepare(connection: Connection) -> None:
    await _run(connection, f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}; SET LOCAL search_path = {SCHEMA}, pg_temp")
    await _run(
        connection,
        """CREATE TABLE IF NOT EXISTS migrations (
             number integer PRIMARY KEY,
             name text NOT NULL,
             applied timestamptz NOT NULL DEFAULT now(),
             digest text NOT NULL DEFAULT ''
           );
           CREATE TABLE IF NOT EXISTS grantees (role name PRIMARY KEY)""",
    )


#: The statements are large, and the right plan is always by index, row by row. Planning each call again would cost more
#: than the call, and a plan made while the tables were empty must not later read a whole table, or a whole queue for a
#: hash.
PLANNING = (
    "plan_cache_mode = force_generic_plan",
    "enable_seqscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
)


async def _renew_functions(connection: Connection) -> None:
    dropped = await connection.execute(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = %s::regnamespace", [SCHEMA]
    )
    for (signature,) in await dropped.fetchall():
        await _run(connection, f"DROP FUNCTION {signature}")
    # Bodies name functions that come later in the text.
    await connection.execute("SET LOCAL check_function_bodies = off")
    await _run(connection, functions())
    for each in operations().values():
        await _run(connection, f"ALTER FUNCTION {each.signature} SECURITY DEFINER")
        await _run(connection, f"ALTER FUNCTION {each.signature} SET search_path = {SCHEMA}, pg_temp")
        for setting in PLANNING:
            await _run(connection, f"ALTER FUNCTION {each.signature} SET {setting}")
    await _run(connection, f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {SCHEMA} FROM PUBLIC")
    await _run(connection, "DELETE FROM transitions")
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO transitions (status, on_hold, action, goes_to) VALUES (%s::status, %s, %s, %s::status)",
            [
                (at.value, on_hold, action.value, to.value)
                for at, on_hold in (*((status, False) for status in Status), (Status.WAITING, True))
                for action in Action
                if (to := goes_to(at, action, on_hold=on_hold))
            ],
        )
    granted = await connection.execute("SELECT role FROM grantees JOIN pg_roles ON rolname = role")
    for (role,) in await granted.fetchall():
        await _grant(connection, role)


async def _grant(connection: Connection, role: str) -> None:
    """Let a role run the operations and nothing else: it cannot even read a table."""
    who, schema = Identifier(role), Identifier(SCHEMA)
    await connection.execute(
        SQL("INSERT INTO {}.grantees (role) VALUES (%s) ON CONFLICT DO NOTHING").format(schema), [role]
    )
    await connection.execute(SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, who))
    await connection.execute(SQL("GRANT SELECT ON {}.migrations TO {}").format(schema, who))
    for each in operations().values():
        await connection.execute(SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(_text(each.signature), who))


async def _run(connection: Connection, text: str) -> None:
    # Without parameters, so that the text may have many statements and % has no special meaning.
    await connection.execute(_text(text))


async def _one(connection: Connection, text: str) -> object:
    row = await (await connection.execute(_text(text))).fetchone()
    return row[0] if row else None


def _text(text: str) -> SQL:
    """Text from this package only, never from outside."""
    return SQL(text)
