"""Operations on the queues themselves: settings, history, priority passes, and limits on how often someone may try."""

from __future__ import annotations

from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import stored_settings
from fairline.errors import PriorityPassNotFound, QueueExists, SettingsChanged
from fairline.store.checks import check_level, check_limit, milliseconds
from fairline.store.contract import REVISIONS_KEPT
from fairline.store.postgres.answers import decode, encode, revision_of, snapshot_of
from fairline.store.postgres.operations import Operations
from fairline.store.values import Configured, PriorityPass, Revision, StepEvent


class QueueOperations(Operations):
    """See `contract.Store`."""

    async def queues(self) -> list[QueueId]:
        return [QueueId(name) for name in decode(await self._client.call("all_queues"))]

    async def create(self, queue: QueueId, settings: QueueSettings, by: str = "") -> None:
        if not await self._call("create_queue", queue, encode(settings).decode(), by):
            raise QueueExists(queue)

    async def settings(self, queue: QueueId) -> Configured:
        version, found = decode(await self._client.call("settings", queue, queue=queue))
        return Configured(stored_settings(found), version)

    async def version(self, queue: QueueId) -> int:
        return int(await self._client.call("version_of", queue, queue=queue))

    async def configure(
        self, queue: QueueId, settings: QueueSettings, version: int, by: str = "", *, event: StepEvent | None = None
    ) -> Configured:
        kind, detail = event or (None, None)
        packed = encode(settings).decode()
        found = await self._call("configure", queue, version, packed, by, REVISIONS_KEPT, kind, detail)
        if found != version:
            raise SettingsChanged(version, found)
        return Configured(settings, version + 1)

    async def history(self, queue: QueueId, before: int | None, limit: int) -> list[Revision]:
        return [*map(revision_of, decode(await self._client.call("list_revisions", queue, before, limit, queue=queue)))]

    async def delete(self, queue: QueueId, version: int | None = None) -> None:
        found = decode(await self._client.call("remove_queue", queue, version, queue=queue))
        if version is not None and found != version:
            raise SettingsChanged(version, found)

    async def snapshot(self, queue: QueueId) -> QueueSnapshot:
        snapshot, _ = await self._call("look_up", queue, [], False)
        return snapshot_of(snapshot)

    async def issue_priority_pass(self, queue: QueueId, pass_id: str, level: int, uses: int, seconds: float) -> None:
        check_level(level)
        await self._call("issue_pass", queue, pass_id, level, uses, milliseconds(seconds))

    async def passes(self, queue: QueueId) -> list[PriorityPass]:
        return [PriorityPass(*row) for row in await self._call("all_passes", queue)]

    async def withdraw_priority_pass(self, queue: QueueId, pass_id: str) -> None:
        if not await self._call("withdraw_pass", queue, pass_id):
            raise PriorityPassNotFound(queue, pass_id)

    async def limit(self, queue: QueueId, who: str, action: str, limit: int, seconds: float) -> float:
        check_limit(limit)
        return float(await self._call("try_limit", queue, who, action, limit, milliseconds(seconds))) / 1000
