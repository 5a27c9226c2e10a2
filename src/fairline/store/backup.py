"""Backup and restore of a store, while it runs: `save` and `load` find the store by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairline.errors import BackupRefused
from fairline.store import EMBEDDED, POSTGRES, embedded_server, scheme_of
from fairline.store.backup_file import BackupReader, BackupWriter
from fairline.store.contract import Kind


def kind_of(url: str) -> Kind:
    """The kind of store behind an address. A backup can be restored into any store of its kind."""
    return "postgresql" if url == "embedded-postgres" or scheme_of(url) in POSTGRES else "valkey"


@contextmanager
def running_store(url: str, data: Path) -> Iterator[str]:
    """The address of a store to read from. An embedded one is that of the running server; if no server runs, it is
    started for the block."""
    if url not in EMBEDDED:
        yield url
        return
    server = embedded_server(url, data)
    if running := server.running_url():
        yield running
        return
    if not (data / EMBEDDED[url]).exists():
        raise BackupRefused(f"There is nothing to back up: {url} has no data in {data}.")
    with server:
        yield server.url


async def schema_version(url: str) -> int:
    """The version of the schema on PostgreSQL; 0 on all other stores, which have none."""
    if kind_of(url) == "postgresql":
        from fairline.store.postgres import backup

        return await backup.schema_version(url)
    return 0


async def save(url: str, writer: BackupWriter) -> int:
    """Write all that the store keeps. Returns how many queues there are."""
    if kind_of(url) == "postgresql":
        from fairline.store.postgres import backup

        return await backup.save(url, writer)
    from fairline.store.valkey import backup as valkey_backup

    return await valkey_backup.save(url, writer)


async def load(url: str, reader: BackupReader, *, replace: bool) -> None:
    """Put all of a backup into an empty store. With `replace`, what the store has is removed first."""
    wanted = reader.header.store
    if kind_of(url) != wanted:
        names = {"valkey": "embedded, Valkey or Redis", "postgresql": "embedded-postgres or PostgreSQL"}
        raise BackupRefused(f"This backup is of {names[wanted]}, and can be restored there only. Name it with --store.")
    if wanted == "postgresql":
        from fairline.store.postgres import backup

        await backup.load(url, reader, replace=replace)
    else:
        from fairline.store.valkey import backup as valkey_backup

        await valkey_backup.load(url, reader, replace=replace)
