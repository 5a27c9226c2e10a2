"""The schema on PostgreSQL: from empty and from every earlier version to the same, with columns for new settings; by
one of many at once; and what the server's role may do with it."""

from __future__ import annotations

import ast
import asyncio
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from fairline.domain.queue import queue_id
from fairline.domain.queue_settings import SETTINGS, QueueSettings
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Action, Reason, Status, goes_to
from fairline.errors import StoreNotSupported
from fairline.store import open_store
from fairline.store.postgres import migrate
from fairline.store.postgres.client import connect
from fairline.store.postgres.migrate import Connection, status, upgrade
from fairline.store.postgres.statements import Migration, functions, migrations, operations
from tests.backends import OWNERS, ROLE, Servers
from tests.store.test_contract_queues import OTHER

VERSIONS = [each.number for each in migrations()]


@pytest.fixture(scope="module", params=["postgres", pytest.param("postgres15", marks=pytest.mark.long)])
def owner(request: pytest.FixtureRequest, servers: Servers) -> str:
    """The address of the owner of a database on each server."""
    return OWNERS[servers.url(request.param)]


@pytest.fixture
async def empty(owner: str) -> AsyncIterator[str]:
    """The address of a database with nothing in it."""
    name = f"empty_{secrets.token_hex(4)}"
    async with await connect(owner) as connection:
        await connection.execute(f"CREATE DATABASE {name}")
        yield owner.replace("/postgres?", f"/{name}?")
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def described(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    """All that makes up the schema, as the catalogue has it."""
    queries = {
        "columns": """SELECT table_name, column_name, data_type, udt_name, is_nullable, column_default, collation_name
                      FROM information_schema.columns WHERE table_schema = 'fairline' ORDER BY 1, ordinal_position""",
        "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'fairline' ORDER BY 1, 2",
        "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
                          WHERE connamespace = 'fairline'::regnamespace ORDER BY 1, 2""",
        "options": """SELECT relname, relkind, reloptions FROM pg_class
                      WHERE relnamespace = 'fairline'::regnamespace ORDER BY 1""",
        "enums": """SELECT typname, enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
                    WHERE typnamespace = 'fairline'::regnamespace ORDER BY 1, enumsortorder""",
        "functions": """SELECT oid::regprocedure::text, prosrc, prosecdef, proconfig, proacl::text FROM pg_proc
                        WHERE pronamespace = 'fairline'::regnamespace ORDER BY 1""",
        "transitions": "SELECT status::text, action, goes_to::text FROM fairline.transitions ORDER BY 1, 2",
        "versions": "SELECT number, name, digest FROM fairline.migrations ORDER BY 1",
    }
    return {name: await (await connection.execute(query)).fetchall() for name, query in queries.items()}


async def test_a_schema_upgraded_from_any_version_is_the_same_as_a_fresh_one(empty: str) -> None:
    async with await connect(empty) as connection:
        await upgrade(connection)
        fresh = await described(connection)
        for version in VERSIONS:
            await connection.execute("DROP SCHEMA fairline CASCADE")
            before = await upgrade(connection, upto=version)
            assert (before.version, before.current) == (version, False)
            assert [each.number for each in before.pending] == [each for each in VERSIONS if each > version]
            after = await upgrade(connection)
            assert after.current, version
            assert await described(connection) == fresh, version


async def test_settings_that_a_schema_was_made_without_work_afterwards_with_their_defaults(empty: str) -> None:
    old, new, other = queue_id("old"), queue_id("new"), checked(OTHER)
    store = await open_store(empty)
    await store.create(old, other)
    await store.close()
    missing = SETTINGS[1::2]
    async with await connect(empty) as connection:
        before = await described(connection)
        for name in missing:
            await connection.execute(SQL("ALTER TABLE fairline.queues DROP COLUMN {}").format(Identifier(name)))
        await connection.execute("UPDATE fairline.migrations SET digest = 'without these settings'")
    store = await open_store(empty)
    try:
        defaults = {name: getattr(QueueSettings(), name) for name in missing}
        found = await store.settings(old)
        assert found.settings == msgspec.structs.replace(other, **defaults)
        await store.configure(old, other, found.version)
        await store.create(new, other)
        assert [(await store.settings(queue)).settings for queue in (old, new)] == [other, other]
    finally:
        await store.close()
    async with await connect(empty) as connection:
        assert sorted((await described(connection))["columns"]) == sorted(before["columns"])


async def test_a_server_of_before_an_upgrade_can_still_create_and_read_queues(empty: str) -> None:
    """It does not name the new setting, and is answered with one that it does not know."""
    store = await open_store(empty)
    name = queue_id("sale")
    try:
        given = msgspec.to_builtins(QueueSettings(max_active=7))
        del given["wait_sample"]
        async with await connect(empty) as connection:
            await connection.execute("ALTER TABLE fairline.queues ADD COLUMN of_tomorrow bigint NOT NULL DEFAULT 3")
            await connection.execute("SELECT fairline.create_queue('sale', NULL, %s, '')", [Jsonb(given)])
        found = await store.settings(name)
        assert found.settings == QueueSettings(max_active=7)
        assert (await store.configure(name, QueueSettings(), found.version)).settings == QueueSettings()
    finally:
        await store.close()


async def test_a_later_migration_is_run_once_on_what_is_there(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later = Migration(VERSIONS[-1] + 1, "later", "ALTER TABLE queues ADD COLUMN number_of_names bigint DEFAULT 1")
    store = await open_store(empty)
    await store.create(queue_id("sale"), QueueSettings(max_active=7))
    await store.close()
    monkeypatch.setattr(migrate, "migrations", lambda: (*migrations(), later))
    async with await connect(empty) as connection:
        assert [each.name for each in (await status(connection)).pending] == ["later"]
        for _ in range(2):
            assert (await upgrade(connection)).version == later.number
        found = await connection.execute("SELECT id, max_active, number_of_names FROM fairline.queues")
        assert await found.fetchall() == [("sale", 7, 1)]


async def test_an_upgrade_is_done_once(empty: str) -> None:
    async with await connect(empty) as connection:
        assert await status(connection) == migrate.Schema(0, "")
        first = await upgrade(connection)
        before = await described(connection)
        assert await upgrade(connection) == first == await status(connection)
        assert await described(connection) == before


async def test_many_that_start_at_once_upgrade_once(empty: str) -> None:
    stores = await asyncio.gather(*(open_store(empty) for _ in range(8)))
    try:
        name = queue_id("first")
        await stores[0].create(name, QueueSettings())
        assert [await store.queues() for store in stores] == [[name]] * 8
        assert await stores[0].registry.last_alive("keeper") is None
    finally:
        for store in stores:
            await store.close()
    async with await connect(empty) as connection:
        found = await connection.execute("SELECT number FROM fairline.migrations ORDER BY number")
        assert [number for (number,) in await found.fetchall()] == VERSIONS


async def test_an_upgrade_that_fails_leaves_the_schema_as_it_was(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(VERSIONS[-1] + 1, "broken", "CREATE TABLE half (a int); SELECT 1 / 0")
    async with await connect(empty) as connection:
        await upgrade(connection)
        before = await described(connection)
        monkeypatch.setattr(migrate, "migrations", lambda: (*migrations(), broken))
        with pytest.raises(psycopg.errors.DivisionByZero):
            await upgrade(connection)
        assert await described(connection) == before


async def test_a_schema_of_a_newer_fairline_is_left_alone(empty: str) -> None:
    async with await connect(empty) as connection:
        await upgrade(connection)
        await connection.execute("INSERT INTO fairline.migrations (number, name) VALUES (9999, 'of tomorrow')")
        before = await described(connection)
        with pytest.raises(StoreNotSupported, match="9999"):
            await upgrade(connection)
        with pytest.raises(StoreNotSupported, match="9999"):
            await open_store(empty)
        assert await described(connection) == before


async def test_a_role_that_may_not_upgrade_is_told_who_has_to(empty: str) -> None:
    with pytest.raises(StoreNotSupported, match="fairline db upgrade --role"):
        await open_store(empty.replace("//fairline@", f"//{ROLE}@"))


async def test_what_a_role_was_given_survives_upgrades(empty: str) -> None:
    async with await connect(empty) as connection:
        await upgrade(connection, role=ROLE)
        await connection.execute("UPDATE fairline.migrations SET digest = 'old'")
        await upgrade(connection)
    store = await open_store(empty.replace("//fairline@", f"//{ROLE}@"))
    try:
        assert await store.queues() == []
    finally:
        await store.close()


async def test_the_servers_role_can_run_the_operations_and_nothing_else(owner: str) -> None:
    async with await connect(owner.replace("//fairline@", f"//{ROLE}@")) as connection:
        tables = (
            "queues",
            "tickets",
            "line",
            "holders",
            "events",
            "admin_keys",
            "desks",
            "generations",
            "revisions",
            "audit",
        )
        for statement in [
            *(f"SELECT 1 FROM fairline.{table}" for table in tables),
            *(f"DELETE FROM fairline.{table}" for table in tables),
            "UPDATE fairline.migrations SET number = 0",
            "SELECT fairline.snapshot_of(1, 1)",
            "CREATE TABLE fairline.mine (a int)",
            "CREATE TABLE public.mine (a int)",
        ]:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(statement)
        found = await connection.execute(
            """SELECT proname FROM pg_proc WHERE pronamespace = 'fairline'::regnamespace
               AND has_function_privilege(oid, 'EXECUTE')"""
        )
        assert {name for (name,) in await found.fetchall()} == set(operations())


async def test_a_role_cannot_change_what_an_operation_means_by_its_search_path(owner: str) -> None:
    async with await connect(owner.replace("//fairline@", f"//{ROLE}@")) as connection:
        await connection.execute("CREATE TEMP TABLE admin_keys AS SELECT 'mine' AS id, 'admin' AS role, 1 AS created")
        await connection.execute("SET search_path = pg_temp, public")
        found = await (await connection.execute("SELECT fairline.all_admin_keys('mine')::text")).fetchone()
        assert found == ("[]",)


def test_the_states_in_the_schema_are_those_of_the_code() -> None:
    text = migrations()[0].body
    for name, values in (("status", Status), ("reason", Reason)):
        found = re.search(rf"CREATE TYPE {name} AS ENUM \((.*?)\)", text, re.DOTALL)
        assert found
        added = [value for each in migrations() for value in re.findall(rf"TYPE {name} ADD VALUE '(\w+)'", each.body)]
        assert [*re.findall(r"'(\w+)'", found[1]), *added] == [value.value for value in values]


async def test_the_transitions_in_the_database_are_those_of_the_code(owner: str) -> None:
    async with await connect(owner) as connection:
        found = await connection.execute(
            "SELECT status::text, on_hold, action, goes_to::text FROM fairline.transitions"
        )
        rows = {(at, on_hold, action): to for at, on_hold, action, to in await found.fetchall()}
    states = [*((status, False) for status in Status), (Status.WAITING, True)]
    allowed = {
        (at, on_hold, action): goes_to(at, action, on_hold=on_hold) for at, on_hold in states for action in Action
    }
    assert rows == {key: to for key, to in allowed.items() if to}


def test_every_operation_says_what_it_is_and_the_store_calls_it() -> None:
    declared = re.findall(r'^CREATE FUNCTION "?(\w+)"?\(', functions(), re.MULTILINE)
    assert len(declared) == len(set(declared))
    assert set(operations()) <= set(declared)
    assert "SKIP LOCKED" in functions()
    assert called() == set(operations())


def called() -> set[str]:
    """The names that the store's own code calls operations by: `call("join", …)`."""
    modules = [ast.parse(file.read_text(encoding="utf-8")) for file in Path(migrate.__file__).parent.rglob("*.py")]
    return {
        str(node.args[0].value)
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"call", "_call"}
        and isinstance(node.args[0], ast.Constant)
    }
