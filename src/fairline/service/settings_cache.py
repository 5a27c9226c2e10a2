"""The cache of queue settings. Every answer of the store has the version of the settings, so they are read again only
after a change. Otherwise a heartbeat takes half as many instructions again."""

from __future__ import annotations

from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import QueueNotFound
from fairline.store import Configured, Store


class SettingsCache:
    """The last read settings of each queue."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cached: dict[QueueId, Configured] = {}

    async def latest(self, queue: QueueId) -> Configured:
        """Return the last read settings. They may be outdated, so the caller must let the store check the version."""
        cached = self._cached.get(queue)
        if cached is None:
            cached = self._cached[queue] = await self._store.settings(queue)
        return cached

    async def at(self, queue: QueueId, snapshot: QueueSnapshot) -> QueueSettings:
        """Return the settings at the version of a snapshot that was just read."""
        cached = self._cached.get(queue)
        if cached is None or cached.version != snapshot.version:
            try:
                cached = self._cached[queue] = await self._store.settings(queue)
            except QueueNotFound:
                self.forget(queue)
                raise
        return cached.settings

    def forget(self, queue: QueueId) -> None:
        """Remove the settings of a queue that were changed, or whose queue was deleted."""
        self._cached.pop(queue, None)
