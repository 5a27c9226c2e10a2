"""Everything that belongs to the server and not to a queue, on Valkey."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from redis.exceptions import ResponseError

from fairline.domain.webhook import Webhook
from fairline.errors import InvalidRequest
from fairline.store.constants import AUDIT_ENTRIES_KEPT, GONE_MS
from fairline.store.registry import (
    AdminKey,
    AuditedAction,
    AuditEntry,
    Part,
    ProcessSeen,
    ServerSeen,
    StoreWarning,
    newest_of,
)
from fairline.store.valkey.client import Connection, mapped_errors, nodes_of, text_of
from fairline.store.valkey.keys import ADMIN_KEYS, ALIVE, AUDIT, GENERATION, SERVERS, WEBHOOKS, WORKERS, tries_key
from fairline.store.valkey.scripts import script

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(AdminKey).decode
_action = msgspec.json.Decoder(AuditedAction).decode
_server = msgspec.json.Decoder(ServerSeen).decode
_alive = msgspec.json.Decoder(tuple[Part, str]).decode
_webhook = msgspec.json.Decoder(Webhook).decode

_ENTRY = re.compile(r"[1-9][0-9]{0,17}-[0-9]{1,18}", re.ASCII)
#: How many entries of the audit log are read at once when searching for those of one queue.
SLICE = 1000

#: How the server should be set, and what to do if it is not.
_WANTED = {
    "maxmemory-policy": (
        "noeviction",
        "It would delete people's places when memory runs out. Set it to noeviction.",
    ),
    "appendonly": ("yes", "A restart would lose everything since the last snapshot. Set appendonly yes."),
    "appendfsync": ("always", "A crash of the server may lose the answered changes of the last second or two."),
}
#: Where a server says the same if it hides its settings, as managed ones do: the section of INFO, the field, and what
#: its values mean.
_INFO = {
    "maxmemory-policy": ("memory", "maxmemory_policy", None),
    "appendonly": ("persistence", "aof_enabled", {"0": "no", "1": "yes"}),
}
#: These policies delete only keys that expire, which are counts of limits.
_HARMLESS = "volatile-"
_LIMITS_ONLY = "It would forget counts of limits when memory runs out, but no places. noeviction is better."


class ValkeyRegistry:
    """See `registry.Registry`."""

    def __init__(self, client: Connection, time: Callable[[], Awaitable[int]]) -> None:
        self._client = client
        self._time = time

    async def admin_keys(self) -> list[AdminKey]:
        async with mapped_errors():
            found = await self._client.hvals(ADMIN_KEYS)
        return sorted(map(_decode, found), key=lambda key: (key.created, key.id))

    async def admin_key(self, key_id: str) -> AdminKey | None:
        async with mapped_errors():
            found = await self._client.hget(ADMIN_KEYS, key_id)
        return _decode(found) if found else None

    async def put_admin_key(self, key: AdminKey) -> None:
        async with mapped_errors():
            await self._client.hset(ADMIN_KEYS, key.id, _encode(key))

    async def remove_admin_key(self, key_id: str) -> bool:
        async with mapped_errors():
            return bool(await self._client.hdel(ADMIN_KEYS, key_id))

    async def generation(self) -> int:
        async with mapped_errors():
            return int(await self._client.get(GENERATION) or 0) + 1

    async def rotate(self) -> int:
        async with mapped_errors():
            return int(await self._client.incr(GENERATION)) + 1

    async def mark_alive(self, part: Part, name: str) -> None:
        now = await self._time()
        async with mapped_errors():
            await self._client.hset(ALIVE, part, now)
            await self._client.zadd(WORKERS, {_encode((part, name)): now})
            await self._client.zremrangebyscore(WORKERS, "-inf", f"({now - GONE_MS}")

    async def last_alive(self, part: Part) -> int | None:
        async with mapped_errors():
            at = await self._client.hget(ALIVE, part)
        return int(at) if at else None

    async def limit(self, who: str, action: str, limit: int, seconds: float) -> float:
        now = await self._time()
        async with mapped_errors():
            wait = await self._client.eval(
                script("try").source, 1, tries_key(who, action), now, limit, round(seconds * 1000)
            )
        return int(wait) / 1000

    async def tries(self, who: str, action: str, seconds: float) -> int:
        async with mapped_errors():
            hits = await self._client.lrange(tries_key(who, action), 0, -1)
        since = await self._time() - round(seconds * 1000) if hits else 0
        return sum(int(hit.partition(b":")[0]) > since for hit in hits)

    async def workers(self) -> list[ProcessSeen]:
        now = await self._time()
        async with mapped_errors():
            found = await self._client.zrangebyscore(WORKERS, now - GONE_MS, "+inf", withscores=True)
        return sorted(
            (ProcessSeen(*_alive(member), int(at)) for member, at in found), key=lambda each: (each.part, each.name)
        )

    async def show_server(self, server: ServerSeen) -> None:
        now = await self._time()
        async with mapped_errors():
            await self._client.zadd(SERVERS, {_encode(server): now})
            await self._client.zremrangebyscore(SERVERS, "-inf", f"({now - GONE_MS}")

    async def servers(self) -> list[ServerSeen]:
        now = await self._time()
        async with mapped_errors():
            found = await self._client.zrangebyscore(SERVERS, now - GONE_MS, "+inf")
        return newest_of(map(_server, found))

    async def record(self, audited: AuditedAction) -> None:
        fields = {"at": await self._time(), "queue": audited.queue or "", "action": _encode(audited)}
        async with mapped_errors():
            await self._client.xadd(AUDIT, fields, maxlen=AUDIT_ENTRIES_KEPT, approximate=False)

    async def audit(self, queue: str | None, before: str | None, limit: int) -> list[AuditEntry]:
        if before is not None and not _ENTRY.fullmatch(before):
            raise InvalidRequest("before", f"must be the id of an entry; got {before!r:.80}")
        wanted = None if queue is None else queue.encode()
        entries: list[AuditEntry] = []
        while len(entries) < limit:
            many = SLICE if wanted is not None else limit
            async with mapped_errors():
                found = await self._client.xrevrange(AUDIT, f"({before}" if before else "+", "-", many)
            entries += [_entry(*each) for each in found if wanted is None or each[1][b"queue"] == wanted]
            if len(found) < many:
                break
            before = found[-1][0].decode()
        return entries[:limit]

    async def webhooks(self) -> list[Webhook]:
        async with mapped_errors():
            found = await self._client.hvals(WEBHOOKS)
        return sorted(map(_webhook, found), key=lambda hook: (hook.created, hook.id))

    async def webhook(self, hook_id: str) -> Webhook | None:
        async with mapped_errors():
            found = await self._client.hget(WEBHOOKS, hook_id)
        return _webhook(found) if found else None

    async def put_webhook(self, hook: Webhook) -> None:
        async with mapped_errors():
            await self._client.hset(WEBHOOKS, hook.id, _encode(hook))

    async def remove_webhook(self, hook_id: str) -> bool:
        async with mapped_errors():
            return bool(await self._client.hdel(WEBHOOKS, hook_id))

    async def warnings(self) -> list[StoreWarning]:
        found: list[StoreWarning] = []
        async with mapped_errors():
            for node in await nodes_of(self._client):
                found += [each for name in _WANTED if (each := _warning(name, await self._setting(node, name)))]
        return list({each.found: each for each in found}.values())

    async def _setting(self, node: dict[str, Any], name: str) -> str | None:
        """A setting of a server; None if it does not say."""
        try:
            answer = await self._client.execute_command("CONFIG GET", name, **node)
            return text_of(answer, name)
        except ResponseError:
            if name not in _INFO:
                return None
        section, field, meaning = _INFO[name]
        try:
            value = text_of(await self._client.execute_command("INFO", section, **node), field)
        except ResponseError:
            return None
        return meaning.get(value, value) if meaning and value is not None else value


def _warning(name: str, value: str | None) -> StoreWarning | None:
    wanted, advice = _WANTED[name]
    if value is None or value == wanted:
        return None
    if value.startswith(_HARMLESS):
        return StoreWarning(name, f"{name} is {value}", _LIMITS_ONLY)
    return StoreWarning(name, f"{name} is {value}", advice, loses_places=name == "maxmemory-policy")


def _entry(entry_id: bytes, fields: Mapping[bytes, bytes]) -> AuditEntry:
    return AuditEntry(entry_id.decode(), int(fields[b"at"]), _action(fields[b"action"]))
