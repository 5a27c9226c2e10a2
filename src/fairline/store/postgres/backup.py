"""Backup and restore on PostgreSQL. A backup is one transaction that sees the database as it was at one moment, and
holds up nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby

import msgspec
from psycopg import errors
from psycopg.sql import SQL, Identifier

from fairline.errors import BackupRefused
from fairline.store.backup_file import BackupReader, BackupWriter, Record
from fairline.store.constants import GONE_MS
from fairline.store.postgres.client import connect, mapped_errors
from fairline.store.postgres.disk import Connection
from fairline.store.postgres.migrate import status, upgrade
from fairline.store.postgres.settings_columns import add_settings_columns, settings_column_names
from fairline.store.postgres.statements import SCHEMA, migrations

#: What belongs to the schema or to running processes, and the counts of limits, which begin again after a restore.
_NOT_KEPT = ("migrations", "grantees", "transitions", "alive", "workers", "limits")
#: A store that has rows in one of these is in use. The others hold nothing without them.
_TELLING = ("queues", "admin_keys", "audit", "webhooks", "outboxes")
#: Rows are put together to about this many bytes for one record.
_BLOCK = 1 << 20

#: The ids of events must not come back: those after the backup were given to other events, and receivers of webhooks
#: drop what they have seen. A queue counts on from the microsecond of its creation, so all ids are moved up to the
#: present one, which no count has reached. The outboxes continue from the same events.
_SHIFT_EVENTS = (
    """CREATE TEMPORARY TABLE shifts ON COMMIT DROP AS
       SELECT t.queue, q.id, greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - t.event, 0) AS by
       FROM tallies t JOIN queues q ON q.key = t.queue""",
    "UPDATE events e SET id = e.id + s.by FROM shifts s WHERE s.queue = e.queue",
    "UPDATE tallies t SET event = t.event + s.by FROM shifts s WHERE s.queue = t.queue",
    "UPDATE outbox_cursors c SET event = (c.event::bigint + s.by)::text FROM shifts s WHERE s.id = c.queue",
)


async def schema_version(url: str) -> int:
    """The version of the schema; 0 if there is none."""
    async with _owner(url) as connection:
        return (await status(connection)).version


async def save(url: str, writer: BackupWriter) -> int:
    """Write all that the store keeps. Returns how many queues there are."""
    async with _owner(url) as connection, connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for table, columns in (await _tables(connection)).items():
            await _save_table(connection, writer, table, columns)
        found = await connection.execute(SQL("SELECT count(*) FROM {}").format(_of("queues")))
        row = await found.fetchone()
        return int(row[0]) if row else 0


async def load(url: str, reader: BackupReader, *, replace: bool) -> None:
    """Put all of a backup into an empty database; with `replace` into any."""
    version, newest = reader.header.schema, migrations()[-1].number
    if not 0 < version <= newest:
        raise BackupRefused(f"The backup has schema {version}, and this Fairline knows 1 to {newest}.")
    async with _owner(url) as connection:
        found = await status(connection)
        if found.version:
            await _refuse_in_use(connection)
            if not replace and await _has_data(connection):
                raise BackupRefused(
                    "The store is not empty. To remove all that Fairline has in it first, add --replace."
                )
        roles: list[str] = []
        if found.version not in (0, version) or found.newer:
            roles = await _drop(connection)
        await upgrade(connection, upto=version if version < newest else None)
        async with connection.transaction():
            await _load_tables(connection, reader)
        await upgrade(connection)
        for role in roles:
            await upgrade(connection, role=role)


@asynccontextmanager
async def _owner(url: str) -> AsyncIterator[Connection]:
    """A connection that may take as long as it needs."""
    async with mapped_errors():
        try:
            async with await connect(url) as connection:
                for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                    await connection.execute(SQL("SET {} = 0").format(Identifier(name)))
                yield connection
        except errors.InsufficientPrivilege:
            raise BackupRefused(
                "This role may not read or write the tables. Name the owner of the schema: --store postgresql://OWNER@…"
            ) from None


async def _tables(connection: Connection) -> dict[str, list[str]]:
    """The tables that are kept, with their columns. Those that refer to others come last."""
    found = await connection.execute(
        """SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
           FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
           WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' AND c.relname <> ALL (%s)
           GROUP BY c.oid, c.relname
           ORDER BY EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND contype = 'f'), c.relname""",
        [SCHEMA, list(_NOT_KEPT)],
    )
    return dict(await found.fetchall())


async def _save_table(connection: Connection, writer: BackupWriter, table: str, columns: list[str]) -> None:
    writer.add(Record("table", table, {"columns": msgspec.json.encode(columns)}))
    rows = bytearray()
    listed = SQL(", ").join(map(Identifier, columns))
    statement = SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(listed, _of(table))
    async with connection.cursor() as cursor, cursor.copy(statement) as copy:
        async for row in copy:
            rows += row
            if len(rows) >= _BLOCK:
                writer.add(Record("rows", table, {"data": bytes(rows)}))
                rows.clear()
    if rows:
        writer.add(Record("rows", table, {"data": bytes(rows)}))


async def _load_tables(connection: Connection, reader: BackupReader) -> None:
    """Replace the rows of all tables by those of the backup, in the transaction of the caller."""
    known = await _tables(connection)
    await connection.execute(SQL("SET LOCAL search_path = {}, pg_temp").format(Identifier(SCHEMA)))
    await connection.execute(SQL("TRUNCATE {}").format(SQL(", ").join(map(_of, known))))
    kept = {each.name: each for each in reader.records() if each.kind == "table"}
    columns = {name: msgspec.json.decode(each.parts["columns"], type=list[str]) for name, each in kept.items()}
    # An older schema has no columns of settings yet. It gets those of the backup: a later migration may add others.
    settings = settings_column_names() & (set(columns.get("queues", ())) - set(known["queues"]))
    if settings:
        await connection.execute(SQL(add_settings_columns(frozenset(settings))))
        known = await _tables(connection)
    unknown = [f"{table}.{name}" for table, names in columns.items() for name in set(names) - set(known.get(table, ()))]
    if unknown:
        raise BackupRefused(
            f"This Fairline does not know {', '.join(sorted(unknown))}. Restore the backup with Fairline "
            f"{reader.header.fairline}, and then upgrade."
        )
    rows = (each for each in reader.records() if each.kind == "rows")
    for table, blocks in groupby(rows, key=lambda each: each.name):
        listed = SQL(", ").join(map(Identifier, columns[table]))
        statement = SQL("COPY {} ({}) FROM STDIN").format(_of(table), listed)
        async with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for block in blocks:
                await copy.write(block.parts["data"])
    await _continue_counters(connection)
    for each in _SHIFT_EVENTS:
        await connection.execute(SQL(each))


async def _continue_counters(connection: Connection) -> None:
    """Let generated keys continue after the highest one."""
    found = await connection.execute(
        """SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
           WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' AND a.attidentity <> ''""",
        [SCHEMA],
    )
    for table, column in await found.fetchall():
        await connection.execute(
            SQL("SELECT setval(pg_get_serial_sequence(%s, %s), coalesce(max({}), 0) + 1, false) FROM {}").format(
                Identifier(column), _of(table)
            ),
            [f"{SCHEMA}.{table}", column],
        )


async def _refuse_in_use(connection: Connection) -> None:
    found = await connection.execute(
        SQL("SELECT EXISTS (SELECT FROM {} WHERE at > extract(epoch FROM clock_timestamp()) * 1000 - %s)").format(
            _of("workers")
        ),
        [GONE_MS // 4],
    )
    row = await found.fetchone()
    if row and row[0]:
        raise BackupRefused("A Fairline runs on this store. Stop all of them, wait 15 s, and try again.")


async def _has_data(connection: Connection) -> bool:
    for table in _TELLING:
        found = await connection.execute(SQL("SELECT EXISTS (SELECT FROM {})").format(_of(table)))
        row = await found.fetchone()
        if row and row[0]:
            return True
    return False


async def _drop(connection: Connection) -> list[str]:
    """Remove a schema of another version. Returns the roles that may run the operations."""
    found = await connection.execute(SQL("SELECT role::text FROM {}").format(_of("grantees")))
    roles = [role for (role,) in await found.fetchall()]
    await connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(SCHEMA)))
    return roles


def _of(table: str) -> SQL:
    return SQL(Identifier(SCHEMA, table).as_string())
