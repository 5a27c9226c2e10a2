"""The SQL of the store: numbered migrations, the columns of settings, and functions of which each operation is one.

Everything is in `sql/*.sql`, except the shared numbers of `constants.py` and the phases of `opening.py`, which become
functions. An operation is a function that returns JSON and whose comment begins with its name. How to call it is read
from its declaration, so no statement is written twice.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from fairline.domain.opening import HELD_BACK, Phase
from fairline.domain.waits import Cause
from fairline.store.constants import PLACE_BITS, SHARED
from fairline.store.postgres.disk import SERVER
from fairline.store.postgres.settings_columns import add_settings_columns

SCHEMA = "fairline"
_MIGRATION = re.compile(r"(\d{4})_(\w+)\.sql")
_OPERATION = re.compile(
    r'^-- (?P<name>\w+): [^\n]*\n(?:--[^\n]*\n)*CREATE FUNCTION "?(?P=name)"?\((?P<takes>[^)]*)\)\s+RETURNS json\b',
    re.MULTILINE,
)


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    body: str


class Operation(NamedTuple):
    """A function that the server may run."""

    name: str
    signature: str
    call: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps, in order; the last one is the version this code needs."""
    found = []
    for file in (resources.files(__package__) / "sql" / "migrations").iterdir():
        named = _MIGRATION.fullmatch(file.name)
        if named:
            found.append(Migration(int(named[1]), named[2], file.read_text(encoding="utf-8")))
    return tuple(sorted(found))


@cache
def functions() -> str:
    """All functions; every upgrade recreates them."""
    files = (resources.files(__package__) / "sql" / "functions").iterdir()
    named = sorted((file.name, file.read_text(encoding="utf-8")) for file in files if file.name.endswith(".sql"))
    constants = [_constant(name, value) for name, value in SHARED.items()]
    constants += [_constant(f"cause_{cause}", code) for code, cause in enumerate(Cause, 1)]
    constants += [_constant("place_bits", PLACE_BITS, "integer"), _held_back()]
    return "\n".join([*constants, *(body for _, body in named)])


def _constant(name: str, value: int, kind: str = "bigint") -> str:
    """A shared number as a function: PostgreSQL puts the number itself into the statement that calls it."""
    return f"CREATE FUNCTION {name}() RETURNS {kind} LANGUAGE sql IMMUTABLE AS 'SELECT {value}::{kind}';"


def _held_back() -> str:
    """Whether nobody is let in or called in a phase."""
    phases = ", ".join(f"'{phase.value}'" for phase in Phase if phase in HELD_BACK)
    return (
        "CREATE FUNCTION held_back(_phase text) RETURNS boolean LANGUAGE sql IMMUTABLE AS "
        f"$$ SELECT _phase IN ({phases}) $$;"
    )


@cache
def operations() -> dict[str, Operation]:
    """The functions that the server may run, by name."""
    return {found["name"]: _operation(found["name"], found["takes"]) for found in _OPERATION.finditer(functions())}


def _operation(name: str, takes: str) -> Operation:
    types = [parameter.split(maxsplit=1)[1] for parameter in takes.split(",")] if takes.strip() else []
    full = f'{SCHEMA}."{name}"'
    # A call that wrote or locked something has a transaction id by then. The answer then says on which server that was.
    call = (
        f"SELECT {full}({', '.join(f'%s::{kind}' for kind in _qualified(types))})::text, "
        f"CASE WHEN pg_current_xact_id_if_assigned() IS NOT NULL THEN {SERVER} END"
    )
    return Operation(name, f"{full}({', '.join(_qualified(types))})", call)


def _qualified(types: list[str]) -> list[str]:
    """The types of the schema with its name, so that the server's role needs no search path."""
    return [f"{SCHEMA}.{kind}" if kind in {"status", "reason"} else kind for kind in types]


@cache
def digest() -> str:
    """A digest of the functions and of the columns that hold settings: if it is not that of the database, both are
    brought up to date."""
    return hashlib.sha256(f"{add_settings_columns()}\n{functions()}".encode()).hexdigest()[:16]
