"""What was read of queues a moment ago is kept for a moment, and not for each queue that anybody ever asked about."""

from __future__ import annotations

import secrets
from weakref import WeakSet

from fairline.domain.queue import QueueId, queue_id
from fairline.domain.queue_settings import QueueSettings
from fairline.service.fairline import Fairline
from fairline.service.recent_reads import RecentReads


class Read:
    """Something that was read."""


async def test_what_is_too_old_to_be_used_again_is_not_kept(service: Fairline) -> None:
    queues = [queue_id(f"q-{secrets.token_hex(6)}") for _ in range(20)]
    for queue in queues:
        await service.store.create(queue, QueueSettings())
    for seconds, kept in ((0.0, 1), (3600.0, len(queues))):
        all_read: WeakSet[Read] = WeakSet()

        async def read(_queue: QueueId, found: WeakSet[Read] = all_read) -> Read:
            found.add(made := Read())
            return made

        recent = RecentReads(service, read, seconds)
        for queue in queues:
            await recent.get(queue)
        assert len(all_read) <= kept, seconds
        assert seconds == 0.0 or len(all_read) == kept
