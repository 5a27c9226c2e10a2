"""Stores keep all queues and tickets. `open_store` opens one by its address; `contract` says what each can do."""

from __future__ import annotations

from pathlib import Path

from fairline.errors import StoreNotSupported
from fairline.store.arrivals import Arrival, EstimateSample, JoinCalendar, Joined
from fairline.store.constants import DAYS_KEPT
from fairline.store.contract import MAX_BATCH, MOST_STEPPED_BACK, Clock, Kind, Store
from fairline.store.desks import DeskState
from fairline.store.embedded import EmbeddedServer, check_folder
from fairline.store.outbox import BoxCounts, Delivery, DeliveryPage, DeliveryState, NewDelivery, Outbox
from fairline.store.registry import (
    AdminKey,
    AuditedAction,
    AuditEntry,
    Part,
    ProcessSeen,
    Registry,
    Role,
    ServerSeen,
    StoreWarning,
)
from fairline.store.tallies import (
    Accuracy,
    DeskHour,
    DeskTallies,
    DeskTotals,
    Estimates,
    Hour,
    Point,
    Report,
    Stats,
    Totals,
)
from fairline.store.values import (
    Arriving,
    Closed,
    Configured,
    Drawn,
    Frozen,
    Lapsed,
    Page,
    PriorityPass,
    Reply,
    Revision,
    Swept,
)
from fairline.store.visits import Visit, Visitor

__all__ = [
    "DAYS_KEPT",
    "EMBEDDED",
    "MAX_BATCH",
    "MOST_STEPPED_BACK",
    "POSTGRES",
    "Accuracy",
    "AdminKey",
    "Arrival",
    "Arriving",
    "AuditEntry",
    "AuditedAction",
    "BoxCounts",
    "Clock",
    "Closed",
    "Configured",
    "Delivery",
    "DeliveryPage",
    "DeliveryState",
    "DeskHour",
    "DeskState",
    "DeskTallies",
    "DeskTotals",
    "Drawn",
    "EmbeddedServer",
    "EstimateSample",
    "Estimates",
    "Frozen",
    "Hour",
    "JoinCalendar",
    "Joined",
    "Kind",
    "Lapsed",
    "NewDelivery",
    "Outbox",
    "Page",
    "Part",
    "Point",
    "PriorityPass",
    "ProcessSeen",
    "Registry",
    "Reply",
    "Report",
    "Revision",
    "Role",
    "ServerSeen",
    "Stats",
    "Store",
    "StoreWarning",
    "Swept",
    "Totals",
    "Visit",
    "Visitor",
    "check_folder",
    "embedded_server",
    "open_store",
    "scheme_of",
    "store_left_behind",
]

_VALKEY = {f"{name}{kind}" for name in ("valkey", "redis") for kind in ("", "s", "+unix", "+cluster", "s+cluster")}

POSTGRES = {"postgresql", "postgres"}
#: Stores whose server Fairline starts itself, and what is in the data folder once they keep something.
EMBEDDED = {"embedded": "appendonlydir", "embedded-postgres": "postgres/data"}


async def open_store(url: str, *, data: Path | None = None, clock: Clock | None = None) -> Store:
    """Open a store by its address: `embedded` (in the folder `data`), `valkey://host:port/db`, `redis://…`,
    `valkey+unix:///path`, `valkey+cluster://host:port`, `postgresql://user@host/database`, `embedded-postgres` (in the
    folder too). The store has answered when this returns."""
    if url in EMBEDDED:
        if data is None:
            raise StoreNotSupported("The embedded store needs a data folder. Name one with --data.")
        server = embedded_server(url, data)
        try:
            return await _open(server.start(), clock, server)
        except BaseException:
            server.stop()
            raise
    return await _open(url, clock, None)


def embedded_server(url: str, data: Path) -> EmbeddedServer:
    """The server of an embedded store with its data in the folder; not started yet."""
    if url == "embedded-postgres":
        from fairline.store.postgres.embedded import EmbeddedPostgres

        return EmbeddedPostgres(data / "postgres")
    from fairline.store.valkey.embedded import EmbeddedValkey

    return EmbeddedValkey(data)


def store_left_behind(url: str, data: Path) -> str | None:
    """Another embedded store that has data in the folder, while the store of this address has none there and would
    start empty; None if all is well."""
    if url not in EMBEDDED or (data / EMBEDDED[url]).exists():
        return None
    return next((other for other, kept in EMBEDDED.items() if (data / kept).exists()), None)


async def _open(url: str, clock: Clock | None, server: EmbeddedServer | None) -> Store:
    scheme = scheme_of(url)
    if scheme in _VALKEY:
        from fairline.store.valkey.store import open_valkey

        return await open_valkey(url, clock=clock, server=server)
    if scheme in POSTGRES:
        from fairline.store.postgres.store import open_postgres

        return await open_postgres(url, clock=clock, server=server)
    known = "embedded, valkey://…, redis://…, valkey+unix://…, valkey+cluster://…, postgresql://…, embedded-postgres"
    raise StoreNotSupported(f"There is no store for the address {scheme or url!r}. Use one of: {known}.")


def scheme_of(url: str) -> str:
    """The kind of store that an address names. The client reads the rest of the address, or refuses it."""
    return url.partition(":")[0].lower()
