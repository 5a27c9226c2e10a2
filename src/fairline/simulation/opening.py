"""The opening of a simulated evening: a pre-queue from its first second on, and a draw at the start."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from fairline.domain.opening import DrawKind
from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings
from fairline.simulation.people import Person, Scenario


class OpeningOutcome(Struct, frozen=True):
    """What came of an opening. Waits are in seconds, shortest first."""

    start: int
    """The second of the start."""
    came_before: int
    """How many people joined the pre-queue."""
    drawn: int
    """How many of them were drawn; the others had gone."""
    waits: list[int]
    """How long those who came before the start waited from then on."""
    later_waits: list[int]
    """How long those who came after it waited."""


async def plan_opening(service: Fairline, queue: QueueId, wanted: Scenario, now: int) -> None:
    """Plan the opening of a scenario, whose pre-queue opens at once."""
    begins = datetime.fromtimestamp(now / 1000, UTC)
    fields = {
        "prequeue_at": begins,
        "starts_at": begins + timedelta(seconds=_start(wanted)),
        "draw": DrawKind.RANDOM if wanted.draw else DrawKind.NONE,
    }
    await Openings(service).create(queue, fields)


def opening_outcome(wanted: Scenario, people: Sequence[Person], drawn: int) -> OpeningOutcome:
    """What came of the opening of a scenario."""
    start = _start(wanted)
    before = [person for person in people if person.joined is not None and person.joined < start]
    later = [person.waited for person in people if person.joined is not None and person.joined >= start]
    return OpeningOutcome(
        start=start,
        came_before=len(before),
        drawn=drawn,
        waits=sorted(person.admitted - start for person in before if person.admitted is not None),
        later_waits=sorted(waited for waited in later if waited is not None),
    )


def _start(wanted: Scenario) -> int:
    return round(wanted.prequeue_seconds)
