"""Rehearsals of openings: simulated people go through one in a queue of its own, on this server.

The result is kept with what is kept of the draw of the opening, so that every worker can tell how a rehearsal goes.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

import msgspec
import structlog
from msgspec.structs import replace

from fairline.domain.opening import Opening, OpeningState
from fairline.domain.opening_steps import before, in_force
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.rehearsal import (
    LONGEST_SECONDS,
    PEOPLE,
    Rehearsal,
    RehearsalState,
    RehearsalStep,
    StepName,
    plan_of,
    rehearsal_queue,
    rehearsed_at,
)
from fairline.errors import FairlineError, InvalidRequest, QueueNotFound, RehearsalRunning, StoreError
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings
from fairline.service.rehearsal_play import Play

log = structlog.get_logger()

_PART = "rehearsal"
_decode = msgspec.json.Decoder(Rehearsal).decode


class Rehearsals:
    """The rehearsals of all openings. Those that this process runs end with it."""

    def __init__(self, service: Fairline) -> None:
        self._service = service
        self._store = service.store
        self._openings = Openings(service)
        self._running: set[asyncio.Task[None]] = set()

    async def last(self, queue: QueueId, opening: str) -> Rehearsal | None:
        """Return the last rehearsal of an opening, or the one that is running; None if there was none."""
        found = await self._openings.one(queue, opening)
        return await self.kept(queue, found.opening.id)

    async def kept(self, queue: QueueId, opening: str) -> Rehearsal | None:
        """The same, of an opening that is known to be there."""
        parts = await self._store.draw_parts(queue, opening, [_PART])
        if _PART not in parts:
            return None
        rehearsal = _decode(parts[_PART])
        if rehearsal.state is RehearsalState.RUNNING and await self._store.time() - rehearsal.began > _LONGEST_MS:
            broken = RehearsalStep(StepName.WIPED, passed=False, found="broken_off")
            return replace(rehearsal, state=RehearsalState.FAILED, steps=(*rehearsal.steps, broken))
        return rehearsal

    async def start(self, queue: QueueId, opening: str) -> Rehearsal:
        """Begin the rehearsal of an opening that is still to come. One is run at a time."""
        found = await self._openings.one(queue, opening)
        if found.opening.state is not OpeningState.SCHEDULED:
            raise InvalidRequest("opening", "can be rehearsed before it begins, and not any more")
        now = await self._store.time()
        begun = [at for each in await self._store.queues() if (at := rehearsed_at(each)) is not None]
        if self._running or any(now - at < _LONGEST_MS for at in begun):
            raise RehearsalRunning
        present = before(found.configured.settings, found.opening)
        settings = in_force(present, found.opening)
        stage = rehearsal_queue(now, secrets.token_hex(8))
        people = min(PEOPLE, settings.max_queue_size)
        rehearsal = Rehearsal(id=stage, began=now, people=people, plan=plan_of(settings, found.opening))
        play = Play(self._service, stage, present, found.opening, people)
        await play.prepare()
        keep = _Keep(self._service, queue, opening, rehearsal)
        await keep.write()
        task = asyncio.create_task(_run(play, keep))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return rehearsal

    def is_current(self, rehearsal: Rehearsal, settings: QueueSettings, opening: Opening) -> bool:
        """Whether an opening is still what was rehearsed. `settings` are those in force during it."""
        return rehearsal.plan == plan_of(settings, opening)


_LONGEST_MS = 1000 * (LONGEST_SECONDS + 15)


class _Keep:
    """Keeps the state of a rehearsal in the store."""

    def __init__(self, service: Fairline, queue: QueueId, opening: str, rehearsal: Rehearsal) -> None:
        self._store = service.store
        self._queue = queue
        self._opening = opening
        self.rehearsal = rehearsal

    async def note(self, *steps: RehearsalStep) -> None:
        """Something was looked at."""
        self.rehearsal = replace(self.rehearsal, steps=(*self.rehearsal.steps, *steps))
        await self.write()

    async def end(self) -> None:
        """It is over."""
        passed = all(step.passed for step in self.rehearsal.steps)
        state = RehearsalState.PASSED if passed else RehearsalState.FAILED
        self.rehearsal = replace(self.rehearsal, state=state, ended=await self._store.time())
        await self.write()

    async def write(self) -> None:
        """Keep the present state."""
        await self._store.keep_draw(self._queue, self._opening, {_PART: msgspec.json.encode(self.rehearsal)})


async def _run(play: Play, keep: _Keep) -> None:
    """Play through it, and wipe it, whatever happens."""
    try:
        failed: Sequence[RehearsalStep] = ()
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                await play.run(keep.note)
        except TimeoutError:
            failed = [RehearsalStep(play.at, passed=False, found="too_slow", values={"n": LONGEST_SECONDS})]
        except FairlineError as error:
            failed = [RehearsalStep(play.at, passed=False, found="refused", values={"why": error.message})]
        finally:
            await play.wipe()
        wiped = await play.is_gone()
        await keep.note(*failed, RehearsalStep(StepName.WIPED, passed=wiped, found="wiped" if wiped else "not_wiped"))
        await keep.end()
        took = round(((keep.rehearsal.ended or 0) - keep.rehearsal.began) / 1000, 1)
        log.info("rehearsal.done", queue=keep.rehearsal.id, state=keep.rehearsal.state.value, seconds=took)
    except QueueNotFound:
        pass  # its queue was deleted meanwhile
    except StoreError as error:
        log.warning("rehearsal.store_away", queue=keep.rehearsal.id, error=error.message)
