"""Backup and restore on Valkey and Redis, one server or a cluster.

All keys of a queue are read in one step, so each queue is as it was at one moment; so is each outbox. Queues are read
one after the other, because a step stops the server for as long as it takes. Two things go across queues:

- An outbox remembers how far it has read the events of each queue. Outboxes are read first: then some events may be
  delivered again after a restore, but none is left out.
- A transfer is a step in one queue and then one in another. If a transfer happened between the two readings, both
  queues are read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis.exceptions import ResponseError

from fairline.domain.queue import QueueId
from fairline.errors import BackupRefused, StoreError
from fairline.store.backup_file import BackupReader, BackupWriter, Record
from fairline.store.constants import GONE_MS
from fairline.store.valkey.client import Connection, PatientCluster, connect, mapped_errors, nodes_of
from fairline.store.valkey.keys import (
    ALIVE,
    PREFIX,
    QUEUES,
    SERVERS,
    TRIES,
    WORKERS,
    box_keys,
    draw_keys,
    key,
    queue_keys,
)

#: A long line takes the server longer than other calls may take.
ANSWER_SECONDS = 120.0
#: How far apart the clocks of the nodes of a cluster may be. On one server, all times are of one clock.
NODES_APART_MS = 250
#: How often queues are read again because people are transferred between them.
MOST_PASSES = 40
PASS_SECONDS = 0.1
#: What belongs to running processes, and the counts of limits, which begin again after a restore.
_NOT_KEPT = {ALIVE, WORKERS, SERVERS}

# These two are no operations on a queue: they know neither its parts nor its clock, and take any keys with one tag.
#: Returns the store's time in ms, then each key as the server serialises it; nothing for a key that does not exist.
_DUMP = """
local time = redis.call('TIME')
local reply = {tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
for i, key in ipairs(KEYS) do reply[i + 1] = redis.call('DUMP', key) end
return reply
"""
#: Replaces each key by what the script before returned for it; an empty text is a key that did not exist.
_RESTORE = """
for i, key in ipairs(KEYS) do
  redis.call('DEL', key)
  if ARGV[i] ~= '' then redis.call('RESTORE', key, 0, ARGV[i]) end
end
return #KEYS
"""


async def save(url: str, writer: BackupWriter) -> int:
    """Write all that the store keeps. Returns how many queues there are."""
    async with _client(url) as client:
        groups = await _groups(client)
        for tag in sorted(each for each in groups if each.startswith("@")):
            await _save_group(client, writer, tag, groups[tag])
        queues = {QueueId(tag): groups[tag] for tag in sorted(groups) if tag and not tag.startswith("@")}
        await _save_queues(client, writer, queues)
        for name in sorted(groups[""]):
            await _save_group(client, writer, name, {name})
        return len(queues)


async def load(url: str, reader: BackupReader, *, replace: bool) -> None:
    """Put all of a backup into an empty store; with `replace` into any."""
    async with _client(url) as client:
        await _refuse_in_use(client)
        if replace:
            await _remove_all(client)
        elif [name async for name in _names(client) if _is_kept(name)]:
            raise BackupRefused("The store is not empty. To remove all that Fairline has in it first, add --replace.")
        last: list[Record] = []
        for record in reader.records():
            if record.kind == "keys":
                # The names of the queues are restored last: until then, nobody sees an incomplete store as one in use.
                if record.name == QUEUES:
                    last.append(record)
                else:
                    await _load_group(client, record)
        for record in last:
            await _load_group(client, record)


@asynccontextmanager
async def _client(url: str) -> AsyncIterator[Connection]:
    client = connect(url, 2, answer_seconds=ANSWER_SECONDS)
    try:
        yield client
    finally:
        await client.aclose()


async def _names(client: Connection) -> AsyncIterator[str]:
    """The names of all keys of Fairline."""
    async with mapped_errors():
        nodes = await nodes_of(client)
    for where in nodes:
        cursor = 0
        while True:
            async with mapped_errors():
                answer = await client.execute_command("SCAN", cursor, "MATCH", f"{PREFIX}*", "COUNT", 1000, **where)
            next_cursor, found = answer
            for name in found:
                yield name.decode()
            # The client of a cluster answers with the cursor of each node that it asked, which is one.
            cursor = int(*next_cursor.values()) if isinstance(next_cursor, dict) else int(next_cursor)
            if cursor == 0:
                break


def _is_kept(name: str) -> bool:
    tag, part = _tag_of(name)
    return name not in _NOT_KEPT and not name.startswith(TRIES) and not (tag and part.startswith("rate:"))


def _tag_of(name: str) -> tuple[str, str]:
    """The hash tag of a key and its part; no tag for a key of the server."""
    rest = name.removeprefix(PREFIX)
    if not rest.startswith("{"):
        return "", rest
    tag, _, part = rest[1:].partition("}:")
    return tag, part


def _keys_of(tag: str) -> set[str]:
    """The keys that a queue or an outbox may get at any moment; none for the server."""
    if not tag:
        return set()
    return set(box_keys(tag[1:])) if tag.startswith("@") else {*queue_keys(QueueId(tag)), *draw_keys(QueueId(tag))}


async def _groups(client: Connection) -> dict[str, set[str]]:
    """The keys by their tags. A key that a queue or an outbox gets meanwhile is among them too."""
    groups: dict[str, set[str]] = {"": set()}
    async for name in _names(client):
        if _is_kept(name):
            tag, _ = _tag_of(name)
            groups.setdefault(tag, _keys_of(tag)).add(name)
    return groups


async def _save_queues(client: Connection, writer: BackupWriter, queues: dict[QueueId, set[str]]) -> None:
    """Write the queues, and again those between which someone was transferred meanwhile."""
    margin = NODES_APART_MS if isinstance(client, PatientCluster) else 0
    read_at: dict[QueueId, int] = {}
    wanted = set(queues)
    for _ in range(MOST_PASSES):
        for queue in sorted(wanted):
            read_at[queue] = await _save_group(client, writer, queue, queues.get(queue) or _keys_of(queue))
        wanted = await _torn(client, read_at, margin)
        if not wanted:
            return
        await asyncio.sleep(PASS_SECONDS)
    raise BackupRefused("People are transferred between queues all the time. Try again in a quieter minute.")


async def _torn(client: Connection, read_at: dict[QueueId, int], margin: int) -> set[QueueId]:
    """The queues between whose readings a transfer happened."""
    torn: set[QueueId] = set()
    if not read_at:
        return torn
    since = min(read_at.values()) - margin
    for queue, at in read_at.items():
        async with mapped_errors():
            events = await client.xrange(key(queue, "events"), since, "+")
        for event_id, fields in events:
            if fields[b"type"] != b"transferred":
                continue
            there = QueueId(fields[b"detail"].decode().partition(" ")[0])
            happened = int(event_id.partition(b"-")[0])
            begun, ended = sorted((at, read_at.get(there, happened)))
            if begun - margin <= happened <= ended + margin:
                torn |= {queue, there}
    return torn


async def _save_group(client: Connection, writer: BackupWriter, name: str, keys: Iterable[str]) -> int:
    """Write some keys as they are at one moment, and return that moment."""
    names = sorted(keys)
    at, *dumps = await _eval(client, _DUMP, names, [])
    writer.add(Record("keys", name, {each: dump or b"" for each, dump in zip(names, dumps, strict=True)}))
    return int(at)


async def _load_group(client: Connection, record: Record) -> None:
    try:
        await _eval(client, _RESTORE, list(record.parts), list(record.parts.values()))
    except StoreError as error:
        if isinstance(error.__cause__, ResponseError) and "DUMP payload" in str(error.__cause__):
            raise BackupRefused(
                "This server cannot read what the other one wrote: it is older, or of another kind. Restore into the "
                "same version of Valkey or Redis, or a later one."
            ) from None
        raise


async def _eval(client: Connection, source: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
    async with mapped_errors():
        return await client.execute_command("EVAL", source, len(keys), *keys, *args)


async def _refuse_in_use(client: Connection) -> None:
    async with mapped_errors():
        seconds, micros = await client.time()
        now = int(seconds) * 1000 + int(micros) // 1000
        seen = await client.zrangebyscore(WORKERS, now - GONE_MS // 4, "+inf")
    if seen:
        raise BackupRefused("A Fairline runs on this store. Stop all of them, wait 15 s, and try again.")


async def _remove_all(client: Connection) -> None:
    async for name in _names(client):
        async with mapped_errors():
            await client.execute_command("UNLINK", name)
