"""A rehearsal that its server could not end."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from fairline.domain.queue import QueueId
from fairline.domain.rehearsal import RehearsalState
from fairline.errors import RehearsalRunning
from fairline.service.openings import Openings
from fairline.service.rehearsal import Rehearsals
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.service.people import OpenService


async def test_a_rehearsal_whose_server_ended_is_broken_off_and_leaves_no_queue(
    open_service: OpenService, make_queue: MakeQueue, queue: QueueId, clock: FakeClock
) -> None:
    here, elsewhere = await open_service(), await open_service()
    await make_queue()
    starts = datetime.fromtimestamp(clock.now / 1000, UTC) + timedelta(days=1)
    opening = (await Openings(here).create(queue, {"starts_at": starts})).opening.id
    before = asyncio.all_tasks()
    rehearsal = await Rehearsals(here).start(queue, opening)
    (play,) = asyncio.all_tasks() - before
    other = Rehearsals(elsewhere)
    with pytest.raises(RehearsalRunning):
        await other.start(queue, opening)
    assert rehearsal.id in await here.store.queues()
    assert rehearsal.id not in await here.queues()
    play.cancel()
    await asyncio.wait([play])
    assert rehearsal.id not in await here.store.queues()
    found = await other.last(queue, opening)
    assert found is not None
    assert found.state is RehearsalState.RUNNING
    clock.advance(120)
    found = await other.last(queue, opening)
    assert found is not None
    assert (found.state, found.steps[-1].found) == (RehearsalState.FAILED, "broken_off")
