"""Openings of a queue in a store whose clock the test moves, and keepers that take the steps that are due."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from fairline.domain.draw import Entry
from fairline.domain.events import EventType
from fairline.domain.opening import DrawKind, Opening
from fairline.domain.opening_steps import current_opening
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Status
from fairline.keeper.keeper import Keeper
from fairline.service.draws import Draws, DrawState, draw_id
from fairline.store import Arrival, Joined, Store
from tests.backends import START, FakeClock
from tests.keeper.crew import all_events

STEPS = (
    EventType.PREQUEUE_OPENED,
    EventType.PREQUEUE_CLOSED,
    EventType.OPENING_STARTED,
    EventType.OPENING_ENDED,
)
#: Everyone who waits stays however long they send no heartbeat, and all who may go in go at once.
PATIENT = {"heartbeat_timeout_seconds": 0, "admission_rate": 1000.0, "burst": 1000.0, "join_limit_per_ip": 0}


def at(seconds: float) -> datetime:
    """This long after the clock of the test begins."""
    return datetime.fromtimestamp(START / 1000 + seconds, UTC)


def set_clock(clock: FakeClock, seconds: float) -> None:
    """It is this long after the clock of the test began."""
    clock.now = START + round(1000 * seconds)


def night(name: str = "op", **fields: Any) -> Opening:
    """A pre-queue after a minute, the start with a draw after two, the end after ten."""
    times = {"prequeue_at": at(60), "starts_at": at(120), "ends_at": at(600), "draw": DrawKind.RANDOM}
    return Opening(**{"id": name, **times, **fields})


async def plan(store: Store, queue: QueueId, *openings: Opening, **settings: Any) -> QueueId:
    """A queue with openings that are still to come."""
    await store.create(queue, replace(checked({**PATIENT, **settings}), openings=openings))
    return queue


async def keep(store: Store, queue: QueueId, keeper: Keeper | None = None) -> int:
    """A keeper takes all the steps that are due; how many they were."""
    keeper = keeper or Keeper(store)
    steps = 0
    while await keeper.openings.take(queue):
        steps += 1
    return steps


async def join(store: Store, queue: QueueId, count: int, **arrival: Any) -> list[int]:
    """People join, each for themselves."""
    items = (await store.join(queue, [Arrival(**arrival)] * count)).items
    numbers = [item.ticket.number for item in items if isinstance(item, Joined)]
    assert len(numbers) == count, items
    return numbers


async def settings_of(store: Store, queue: QueueId) -> QueueSettings:
    return (await store.settings(queue)).settings


async def state_of(store: Store, queue: QueueId, name: str = "op") -> str:
    settings = await settings_of(store, queue)
    found = next(each for each in settings.openings if each.id == name)
    current = current_opening(settings)
    assert settings.phase == (current.phase if current else "")
    return found.state.value


async def steps_told(store: Store, queue: QueueId) -> list[tuple[str, str | None]]:
    """The steps that were taken, and of which opening."""
    return [(each.type.value, each.detail) for each in await all_events(store, queue) if each.type in STEPS]


async def line(store: Store, queue: QueueId) -> list[int]:
    """Who waits, in order."""
    page = await store.tickets(queue, Status.WAITING, None, 10_000)
    return [each.number for each in page.tickets if not each.on_hold]


async def published(store: Store, queue: QueueId, name: str = "op") -> tuple[DrawState, list[Entry]]:
    """What anyone may read of a draw."""
    draws = Draws(store)
    state = await draws.state(draw_id(queue, name))
    return state, [entry async for entry in draws.entries(state)]


async def ranks(store: Store, queue: QueueId, numbers: Sequence[int]) -> list[int]:
    """The rank of each of these in the draw."""
    return [each.drawn_rank if each else 0 for each in (await store.status(queue, numbers)).items]
