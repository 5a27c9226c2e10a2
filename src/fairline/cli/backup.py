"""`fairline backup` and `fairline restore`: all that a store keeps, in one file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairline import __version__
from fairline.cli import show
from fairline.cli.show import console, safe
from fairline.domain.tokens import Keyring
from fairline.errors import BackupRefused
from fairline.process.secrets import ADMIN_KEY, SECRET, put_secret, secrets_in
from fairline.settings import ServerSettings, load
from fairline.store import EMBEDDED, check_folder, embedded_server, open_store

if TYPE_CHECKING:
    from fairline.store.backup_file import BackupReader

#: What every backup has of people and of the server.
CONTAINS = [
    "queues with their settings, history, events and figures",
    "tickets with names, phone numbers and e-mail addresses",
    "webhooks with their secrets and open deliveries",
    "admin keys (hashed) and the audit log",
]
IN_WORDS = {SECRET: "the secret that signs tokens", ADMIN_KEY: "the first admin key, readable"}

File = Annotated[Path, typer.Argument(help="The file.", metavar="FILE")]
Data = Annotated[Path | None, typer.Option(help="The data folder. (default: as 'fairline serve')")]
Config = Annotated[Path | None, typer.Option(help="A TOML or YAML file.")]


def backup(
    file: File,
    store: Annotated[str | None, typer.Option(help="The store to read. (default: as 'fairline serve')")] = None,
    data: Data = None,
    config: Config = None,
) -> None:
    """Write all that the store keeps to a new file, while the server runs.

    The file has personal data, and the generated secrets of the data folder. Only its owner can read it.
    """
    import asyncio  # loading it takes as long as many a command runs

    from fairline.store.backup import kind_of, running_store, save, schema_version
    from fairline.store.backup_file import Header, Record, new_backup, refuse_existing

    settings = load(file=config, flags={"store": store, "data": data})
    refuse_existing(file)
    kept = secrets_in(settings.data)
    secret = settings.secret or kept.get(SECRET)
    files = {name: text for name, text in kept.items() if not _is_set(settings, name)}
    with running_store(settings.store, settings.data) as url:
        header = Header(
            fairline=__version__,
            store=kind_of(url),
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            schema=asyncio.run(schema_version(url)),
            secret=_fingerprint(secret) if secret else "",
            contains=[*CONTAINS, *(IN_WORDS[name] for name in files)],
        )
        with new_backup(file, header) as writer:
            for name, text in files.items():
                writer.add(Record("secret", name, {"text": text.encode()}))
            queues = asyncio.run(save(url, writer))
    console.print(f"Wrote {queues} queues to {safe(str(file))} ({file.stat().st_size:,} bytes). It contains:")
    for each in header.contains:
        console.print(f"  - {each}")
    if SECRET not in files:
        console.print(
            "[yellow]The secret is not in it.[/] Keep FAIRLINE_SECRET: without it, no token is good any more."
        )


def restore(
    file: File,
    store: Annotated[str | None, typer.Option(help="The store to fill. (default: as 'fairline serve')")] = None,
    data: Data = None,
    config: Config = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove all that the store and the data folder have of Fairline first.")
    ] = False,
) -> None:
    """Put a backup into an empty store, before the server is started.

    A file that is damaged, or was written by a newer Fairline, is refused before anything is changed.
    """
    import asyncio  # loading it takes as long as many a command runs

    from fairline.store.backup import load as load_backup
    from fairline.store.backup_file import BackupReader

    settings = load(file=config, flags={"store": store, "data": data})
    reader = BackupReader(file, __version__)
    secrets = {each.name: each.parts["text"].decode() for each in reader.records() if each.kind == "secret"}
    put = _to_put(settings, secrets, replace=replace)

    async def fill(url: str) -> Table:
        await load_backup(url, reader, replace=replace)
        return await _table_of(url)

    if settings.store in EMBEDDED:
        check_folder(settings.data)
        with embedded_server(settings.store, settings.data) as server:
            table = asyncio.run(fill(server.url))
    else:
        table = asyncio.run(fill(settings.store))
    for name, text in put.items():
        put_secret(settings.data, name, text)
    console.print(f"Restored, as it was at {reader.header.taken_at} (Fairline {reader.header.fairline}):")
    console.print(table)
    _tell_secrets(settings, reader, put)


def _is_set(settings: ServerSettings, name: str) -> bool:
    """Whether the settings have a secret, so that the file of the data folder is not used."""
    return bool(settings.secret if name == SECRET else settings.admin_key)


def _fingerprint(secret: str) -> str:
    return Keyring(secret.encode()).fingerprint


def _to_put(settings: ServerSettings, secrets: dict[str, str], *, replace: bool) -> dict[str, str]:
    """The secrets of the backup that the data folder needs."""
    there = secrets_in(settings.data)
    wanted = {name: text for name, text in secrets.items() if not _is_set(settings, name) and there.get(name) != text}
    other = [name for name in wanted if name in there]
    if other and not replace:
        raise BackupRefused(
            f"{settings.data / other[0]} is another one than that of the backup. Move it away, or add --replace."
        )
    return wanted


async def _table_of(url: str) -> Table:
    """The queues of a restored store: it is opened as a server would."""
    store = await open_store(url)
    try:
        table = Table("queue", "waiting", "let in", "inside", box=None, padding=(0, 2, 0, 0))
        for queue in await store.queues():
            now = await store.snapshot(queue)
            table.add_row(safe(queue), *(f"{count:,}" for count in (now.waiting, now.admitted, now.active)))
        return table
    finally:
        await store.close()


def _tell_secrets(settings: ServerSettings, reader: BackupReader, put: dict[str, str]) -> None:
    for name in put:
        console.print(f"Put the file {name} into {safe(str(settings.data))}: {IN_WORDS[name]}.")
    secret = settings.secret or secrets_in(settings.data).get(SECRET)
    wanted = reader.header.secret
    if wanted and (secret is None or _fingerprint(secret) != wanted):
        show.warning(
            "The tokens of these tickets were signed with another secret than the one here. Start the server with the "
            "FAIRLINE_SECRET of that time, or all people have to join again."
        )
    console.print("Deadlines go on where they stopped once a server runs: nobody lapses because of the time between.")
