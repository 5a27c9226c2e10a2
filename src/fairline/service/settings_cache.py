"""The settings of queues as they were last read: every answer of the store says which version holds, so they are read
again only when they changed."""

from __future__ import annotations

from fairline.domain.queue import QueueId, QueueSettings, QueueSnapshot
from fairline.errors import QueueNotFound
from fairline.store import Configured, Store


class SettingsCache:
    """Settings by queue. Nothing is remembered here that cannot be read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[QueueId, Configured] = {}

    async def latest(self, queue: QueueId) -> Configured:
        """As they were last read; whoever goes by them has the store check their version."""
        known = self._known.get(queue)
        if known is None:
            known = self._known[queue] = await self._store.settings(queue)
        return known

    async def at(self, queue: QueueId, snapshot: QueueSnapshot) -> QueueSettings:
        """At the version the store has just answered with."""
        known = self._known.get(queue)
        if known is None or known.version != snapshot.version:
            try:
                known = self._known[queue] = await self._store.settings(queue)
            except QueueNotFound:
                self.forget(queue)
                raise
        return known.settings

    def forget(self, queue: QueueId) -> None:
        """They have changed, or the queue is gone."""
        self._known.pop(queue, None)
