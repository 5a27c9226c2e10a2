"""What a store still keeps of tickets and desks that are gone."""

from __future__ import annotations

from fairline.domain.queue import QueueId
from fairline.store import Store
from fairline.store.postgres.client import connect
from fairline.store.postgres.migrate import Connection
from fairline.store.postgres.store import PostgresStore
from fairline.store.valkey.keys import key
from fairline.store.valkey.store import ValkeyStore
from tests.backends import OWNERS


async def left_over(store: Store, queue: QueueId) -> dict[str, int]:
    """How much of each part of a queue that holds tickets there is."""
    if isinstance(store, ValkeyStore):
        parts = ("line", "on_hold", "due", "tickets", "holders", "admitted", "active", "ended", "revoked", "passes")
        found: dict[str, int] = {part: await store._client.exists(key(queue, part)) for part in parts}
    else:
        assert isinstance(store, PostgresStore)
        tables = ("line", "blocks", "tickets", "holders", "join_keys", "call_keys", "revoked", "passes")
        async with await connect(OWNERS[store._client.url]) as connection:
            found = {table: await _rows(connection, table, queue) for table in tables}
    return {part: there for part, there in found.items() if there}


async def desks_kept(store: Store, queue: QueueId) -> set[str]:
    """The desks by whose name something is kept, apart from the tallies."""
    if isinstance(store, ValkeyStore):
        fields = await store._client.hkeys(key(queue, "queue"))
        called = {field.removeprefix(b"called:") for field in fields if field.startswith(b"called:")}
        return {name.decode() for name in called | {*await store._client.zrange(key(queue, "desks"), 0, -1)}}
    return {desk.name for desk in await store.desks(queue)}  # each is one row


async def _rows(connection: Connection, table: str, queue: QueueId) -> int:
    counted = await connection.execute(
        f"SELECT count(*) FROM fairline.{table} t JOIN fairline.queues q ON q.key = t.queue WHERE q.id = %s", [queue]
    )
    row = await counted.fetchone()
    assert row
    return int(row[0])
