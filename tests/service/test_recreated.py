"""A queue that is deleted and recreated: what a worker noted of the old one never reaches the new one."""

from __future__ import annotations

from fairline.domain.queue_settings import QueueSettings
from fairline.service.fairline import Fairline
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.service.people import OpenService, admit, join


async def test_page_views_of_the_queue_before_are_counted_for_nobody(
    open_service: OpenService, make_queue: MakeQueue, clock: FakeClock
) -> None:
    noting, other = await open_service(), await open_service()

    async def goes_in(service: Fairline) -> None:
        await join(service, queue, client_id="client-ann")
        assert await admit(service, queue) == [1]
        await service.start(queue, 1, "a browser")

    queue = await make_queue(admission_rate=100)
    await goes_in(noting)
    for _ in range(3):
        await noting.visit(queue, 1, "a browser")
    await other.delete(queue)
    clock.advance(1)
    await other.store.create(queue, QueueSettings(admission_rate=100))
    await goes_in(other)
    await noting.visit(queue, 1, "a browser")
    await noting.close()
    assert (await other.ticket(queue, 1)).page_views == 1
