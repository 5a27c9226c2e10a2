"""Operations on the queues themselves: settings, history, priority passes, and limits on how often someone may try."""

from __future__ import annotations

from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import PriorityPassNotFound, QueueExists, QueueNotFound, SettingsChanged
from fairline.store.checks import check_level, check_limit, milliseconds
from fairline.store.contract import REVISIONS_KEPT
from fairline.store.valkey.answers import revision
from fairline.store.valkey.client import mapped_errors
from fairline.store.valkey.keys import draw_keys, key, rate_key
from fairline.store.valkey.operations import Operations
from fairline.store.valkey.settings import pack_settings, unpack_settings
from fairline.store.values import Configured, PriorityPass, Revision, StepEvent


class QueueOperations(Operations):
    """See `contract.Store`."""

    async def queues(self) -> list[QueueId]:
        return await self._names.all()

    async def create(self, queue: QueueId, settings: QueueSettings, by: str = "") -> None:
        await self._names.add(queue)
        now = self._clock() if self._clock else ""
        made = await self._runner.run("create", queue, [now, by, *pack_settings(settings)])
        await self._names.add(queue)
        if not made:
            raise QueueExists(queue)

    async def settings(self, queue: QueueId) -> Configured:
        async with mapped_errors():
            found = unpack_settings(await self._client.hgetall(key(queue, "queue")))
        if found is None:
            raise QueueNotFound(queue)
        return found

    async def version(self, queue: QueueId) -> int:
        found = await self._runner.ask("HGET", key(queue, "queue"), "version")
        if found is None:
            raise QueueNotFound(queue)
        return int(found)

    async def configure(
        self, queue: QueueId, settings: QueueSettings, version: int, by: str = "", *, event: StepEvent | None = None
    ) -> Configured:
        everything, *fields = pack_settings(settings)
        args = [version, REVISIONS_KEPT, by, everything, *(event or ("", "")), *fields]
        _, (version_found,) = await self._run("configure", queue, args)
        found = int(version_found)
        if found != version:
            raise SettingsChanged(version, found)
        return Configured(settings, version + 1)

    async def history(self, queue: QueueId, before: int | None, limit: int) -> list[Revision]:
        async with mapped_errors():
            made = await self._client.hget(key(queue, "queue"), "created_at")
            newest = "+" if before is None else f"({before}-0"
            found = await self._client.xrevrange(key(queue, "history"), newest, "-", limit)
        if made is None:
            raise QueueNotFound(queue)
        return [revision(int(made), version, fields) for version, fields in found]

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        _, (version_found,) = await self._run("delete", queue, ["" if version is None else version], draw_keys(queue))
        found = int(version_found)
        if version is not None and found != version:
            raise SettingsChanged(version, found)
        await self._names.remove(queue)

    async def snapshot(self, queue: QueueId) -> QueueSnapshot:
        snapshot, _ = await self._run("look_up", queue, [])
        return snapshot

    async def issue_priority_pass(self, queue: QueueId, pass_id: str, level: int, uses: int, seconds: float) -> None:
        check_level(level)
        await self._run("pass", queue, [pass_id, level, uses, milliseconds(seconds)])

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        now = (await self.snapshot(queue)).now
        async with mapped_errors():
            found = await self._client.hgetall(key(queue, "passes"))
        passes = (PriorityPass(pass_id.decode(), *map(int, kept.split())) for pass_id, kept in found.items())
        return sorted((each for each in passes if each.expires > now), key=lambda each: each.id)

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        _, (found,) = await self._run("pass", queue, [pass_id, "", "", ""])
        if not found:
            raise PriorityPassNotFound(queue, pass_id)

    async def limit(self, queue: QueueId, who: str, action: str, limit: int, seconds: float) -> float:
        check_limit(limit)
        _, (wait,) = await self._run("limit", queue, [limit, milliseconds(seconds)], [rate_key(queue, who, action)])
        return float(wait) / 1000
