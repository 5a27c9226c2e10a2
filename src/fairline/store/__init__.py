"""Stores: what holds the truth. `open_store` opens one by its address; `contract` says what each can do."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from fairline.errors import StoreNotSupported
from fairline.store.contract import (
    MAX_BATCH,
    AdminKey,
    Arrival,
    Caution,
    Clock,
    Configured,
    Hour,
    Joined,
    Lapsed,
    Page,
    Part,
    Pass,
    Registry,
    Reply,
    Role,
    Stats,
    Store,
    Swept,
    Totals,
    Visit,
)

__all__ = [
    "MAX_BATCH",
    "AdminKey",
    "Arrival",
    "Caution",
    "Clock",
    "Configured",
    "Hour",
    "Joined",
    "Lapsed",
    "Page",
    "Part",
    "Pass",
    "Registry",
    "Reply",
    "Role",
    "Stats",
    "Store",
    "Swept",
    "Totals",
    "Visit",
    "open_store",
]

_VALKEY = {f"{name}{kind}" for name in ("valkey", "redis") for kind in ("", "s", "+unix", "+cluster")}

_POSTGRES = {"postgresql", "postgres"}


async def open_store(url: str, *, data: Path | None = None, clock: Clock | None = None) -> Store:
    """Open a store by its address: `embedded` (kept in the folder `data`), `valkey://host:port/db`, `redis://…`,
    `valkey+unix:///path`, `valkey+cluster://host:port`, `postgresql://user@host/database`, `embedded-postgres` (in the
    folder too). The store answers when this returns."""
    if url == "embedded":
        from fairline.store.valkey.embedded import EmbeddedValkey
        from fairline.store.valkey.store import open_valkey

        if data is None:
            raise StoreNotSupported("The embedded store needs a data folder. Name one with --data.")
        server = EmbeddedValkey(data)
        try:
            return await open_valkey(server.start(), clock=clock, server=server)
        except BaseException:
            server.stop()
            raise
    scheme = urlsplit(url).scheme
    if scheme in _VALKEY:
        from fairline.store.valkey.store import open_valkey

        return await open_valkey(url, clock=clock)
    if scheme in _POSTGRES:
        from fairline.store.postgres.store import open_postgres

        return await open_postgres(url, clock=clock)
    known = (
        "embedded, valkey://…, redis://…, valkey+unix://…, valkey+cluster://…, postgresql://…, embedded-postgres"
    )
    raise StoreNotSupported(f"There is no store for the address {scheme or url!r}. Use one of: {known}.")
