"""`fairline db` on a database, as its owner types it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from fairline.store.postgres.statements import migrations
from tests.backends import OWNERS, ROLE, Servers
from tests.cli.typed import fairline

NEWEST = migrations()[-1].number


@pytest.fixture
def database(servers: Servers) -> Iterator[str]:
    """The address of an empty database."""
    owner, name = OWNERS[servers.url("postgres")], f"cli_{secrets.token_hex(4)}"
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield owner.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_database_is_looked_at_upgraded_and_handed_to_a_role(database: str) -> None:
    before = fairline("db", "status", "--store", database)
    assert before.returncode == 1
    assert f"this Fairline needs {NEWEST}" in before.stdout
    assert "to do: 0001 schema" in before.stdout

    done = fairline("db", "upgrade", "--store", database, "--role", ROLE)
    assert done.returncode == 0, done.stderr
    assert f"version {NEWEST} now (was: none)" in done.stdout
    assert f"Role {ROLE} may run Fairline" in done.stdout
    assert "Nothing to do" in fairline("db", "upgrade", FAIRLINE_STORE=database).stdout
    assert fairline("db", "status", "--store", database).returncode == 0

    looked_at = fairline("doctor", "--store", database.replace("//fairline@", f"//{ROLE}@"))
    assert "postgresql answers, 0 queues" in looked_at.stdout
    assert "fsync is off" in looked_at.stdout


def test_the_embedded_database_is_started_for_it(tmp_path: Path) -> None:
    options = ("--store", "embedded-postgres", "--data", str(tmp_path))
    assert fairline("db", "status", *options).returncode == 1
    assert fairline("db", "upgrade", *options).returncode == 0
    assert fairline("db", "status", *options).returncode == 0


def test_errors_are_one_clear_line(database: str) -> None:
    for store, says in (
        ("embedded", "no other store has a schema"),
        (database.replace("//fairline@", f"//{ROLE}@"), "permission denied"),
        (database.replace("//fairline@", "//stranger@"), "stranger"),
        (f"{database}&nonsense=1", "nonsense"),
    ):
        refused = fairline("db", "upgrade", "--store", store)
        assert refused.returncode == 1
        assert says in refused.stderr
        assert "Traceback" not in refused.stderr
