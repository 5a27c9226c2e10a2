"""Takes the steps of openings (see domain/opening_steps.py) when they are due, by the store's clock.

Every keeper knows when the next step of each queue is due. A step is a change of the settings from the version that it
was worked out from, so the store takes it once, and a keeper that is late does nothing. After an outage the steps that
were missed are taken one after the other.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog
from msgspec import Struct

from fairline.domain import opening_steps as steps
from fairline.domain.events import EventType
from fairline.domain.opening import Opening, OpeningState
from fairline.domain.opening_steps import DueStep, Step, due_step
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Action, Status
from fairline.errors import QueueNotFound, SettingsChanged, StoreError
from fairline.keeper.drawing import Drawing
from fairline.store import Configured, Store

log = structlog.get_logger()

#: How long a keeper leaves a draw to the one that closed the pre-queue. Two at once would do no harm, but double work.
DRAW_PATIENCE_MS = 10_000
#: The longest pause of the timer: a step that was scheduled meanwhile is noticed by the next tick at the latest.
LONGEST_PAUSE = 1.0
#: The pause after a step that failed for another reason than the store.
FAILED_PAUSE = 10.0
#: How many sessions one step ends.
STEP = 200


class _Plan(Struct):
    """What is next in a queue, at a version of its settings."""

    version: int
    due: DueStep | None


class OpeningKeeper:
    """Takes the steps of all queues of a store."""

    def __init__(self, store: Store, drawing: Drawing) -> None:
        self._store = store
        self._drawing = drawing
        self._plans: dict[QueueId, _Plan] = {}
        self._ahead = 0.0
        """The store's clock less that of the event loop, in milliseconds."""
        self._under_way: set[QueueId] = set()
        self._draws_here: set[str] = set()
        """The openings whose pre-queue this keeper has closed."""
        self._changed = asyncio.Event()

    async def note(self, queue: QueueId, snapshot: QueueSnapshot) -> None:
        """A tick has read this of a queue."""
        self._note_time(snapshot.now)
        plan = self._plans.get(queue)
        if plan is None or plan.version != snapshot.version:
            configured = await self._store.settings(queue)
            self._plan(queue, configured)
            current = steps.current_opening(configured.settings)
            if current is not None and current.drawn and current.state is OpeningState.PREQUEUE:
                await self._drawing.seal(queue, current)  # its start may have been moved

    def knows(self, queue: QueueId) -> bool:
        """Whether it knows what is next in a queue."""
        return queue in self._plans

    def prequeue_is_due(self, queue: QueueId) -> bool:
        """Whether a pre-queue should have opened by now, and has not yet."""
        plan = self._plans.get(queue)
        due = plan.due if plan else None
        if due is None or due.step is not Step.BEGIN or due.at > self._now():
            return False
        return due.opening is not None and due.opening.prequeue_at is not None

    def keep_only(self, queues: set[QueueId]) -> None:
        """Forget the queues that are gone."""
        for queue in self._plans.keys() - queues:
            del self._plans[queue]

    def _plan(self, queue: QueueId, configured: Configured) -> None:
        self._plans[queue] = _Plan(configured.version, due_step(configured.settings))
        self._changed.set()

    async def run(self) -> None:
        """Take each step when it is due, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                now = self._now()
                due = {
                    queue: plan.due.at
                    for queue, plan in self._plans.items()
                    if plan.due is not None and queue not in self._under_way
                }
                for queue, at in due.items():
                    if at <= now:
                        self._under_way.add(queue)
                        tasks.create_task(self._try(queue))
                pause = min([(at - now) / 1000 for at in due.values() if at > now], default=LONGEST_PAUSE)
                try:
                    async with asyncio.timeout(min(max(pause, 0.0), LONGEST_PAUSE)):
                        await self._changed.wait()
                except TimeoutError:
                    pass

    def _note_time(self, now: int) -> None:
        self._ahead = now - 1000 * asyncio.get_running_loop().time()

    def _now(self) -> float:
        return 1000 * asyncio.get_running_loop().time() + self._ahead

    async def _try(self, queue: QueueId) -> None:
        """Take all steps of a queue that are due. An outage of the store is waited out."""
        try:
            while await self.take(queue):
                pass
        except QueueNotFound:
            self._plans.pop(queue, None)
        except StoreError as error:
            log.warning("opening.store_away", queue=queue, error=error.message)
            await asyncio.sleep(LONGEST_PAUSE)
        except Exception:  # what is wrong with one queue must not stop the keeping of the others
            log.exception("opening.failed", queue=queue)
            await asyncio.sleep(FAILED_PAUSE)
        finally:
            self._under_way.discard(queue)
            self._changed.set()  # the timer looks at this queue again

    async def take(self, queue: QueueId) -> bool:
        """Take the next step of a queue if it is due. Returns whether another one may be."""
        configured, now = await self._store.settings(queue), await self._store.time()
        self._note_time(now)
        self._plan(queue, configured)
        due = due_step(configured.settings)
        if due is None or due.at > now:
            return False
        if due.step is Step.DRAW and now < (patient := due.at + DRAW_PATIENCE_MS) and not self._draws(due.opening):
            # Another keeper draws. Its result, or the end of the patience, is noticed here.
            self._plans[queue].due = DueStep(patient, due.step, due.opening)
            return False
        with suppress(SettingsChanged):  # another keeper was faster, or somebody changed the settings: look again
            await self._take(queue, configured, due, now)
        return True

    def _draws(self, opening: Opening | None) -> bool:
        return opening is not None and opening.id in self._draws_here

    async def _take(self, queue: QueueId, configured: Configured, due: DueStep, now: int) -> None:
        settings, opening = configured.settings, due.opening
        if opening is None:
            await self._change(queue, configured, steps.activated(settings))
            log.info("queue.opened", queue=queue, late_ms=now - due.at)
            return
        match due.step:
            case Step.BEGIN:
                begun = steps.begun(settings, opening, now)
                missed = steps.current_opening(begun) is None
                if opening.drawn and not missed:
                    await self._drawing.seal(queue, opening)
                event = EventType.PREQUEUE_OPENED if opening.prequeue_at and not missed else None
                await self._change(queue, configured, begun, event, opening)
            case Step.CLOSE:
                await self._lapse(queue)
                closed = steps.closed(settings, opening)
                await self._change(queue, configured, closed, EventType.PREQUEUE_CLOSED, opening)
                self._draws_here.add(opening.id)
                await self._draw_and_open(queue, opening.id)
            case Step.DRAW:
                await self._draw_and_open(queue, opening.id)
            case Step.OPEN:
                await self._open(queue, configured, opening)
            case Step.END:
                await self._change(queue, configured, steps.ended(settings, opening), EventType.OPENING_ENDED, opening)
        log.info("opening.step", queue=queue, opening=opening.id, step=due.step.value, late_ms=now - due.at)

    async def _change(
        self,
        queue: QueueId,
        configured: Configured,
        settings: QueueSettings,
        event: EventType | None = None,
        opening: Opening | None = None,
    ) -> None:
        written = (event, opening.id) if event and opening else None
        changed = await self._store.configure(queue, settings, configured.version, event=written)
        self._plan(queue, changed)
        await self._store.forget_draws(queue, steps.removed(configured.settings, settings))

    async def _lapse(self, queue: QueueId) -> None:
        """End the tickets that are past their deadline: those who are gone are in no draw."""
        while (await self._store.sweep(queue, 500)).more:
            pass

    async def _draw_and_open(self, queue: QueueId, opening_id: str) -> None:
        """Draw the order, and let people in by it. Meanwhile somebody may change the settings, which changes nothing of
        the draw, or delete the opening, which ends it."""
        while True:
            configured = await self._store.settings(queue)
            opening = steps.current_opening(configured.settings)
            if opening is None or opening.id != opening_id or opening.state is not OpeningState.DRAWING:
                return
            count = await self._drawing.draw(queue, opening, configured.settings)
            try:
                await self._open(queue, await self._store.settings(queue), opening, count)
                return
            except SettingsChanged:
                continue

    async def _open(self, queue: QueueId, configured: Configured, opening: Opening, count: int = 0) -> None:
        current = steps.current_opening(configured.settings)
        if current is None or current.id != opening.id or current.state is not opening.state:
            return  # another keeper, which drew at the same time, has opened it
        if current.recheck_inside:
            await self._end_sessions(queue, current.closes_ms)
        opened = steps.opened(configured.settings, current, count)
        await self._change(queue, configured, opened, EventType.OPENING_STARTED, current)
        self._draws_here.discard(opening.id)

    async def _end_sessions(self, queue: QueueId, before: int) -> None:
        """End the sessions of all who were let in before a moment. Another keeper may open meanwhile, and let others
        in, who stay."""
        for status in (Status.ADMITTED, Status.ACTIVE):
            cursor: str | None = None
            while True:
                page = await self._store.tickets(queue, status, cursor, STEP)
                if inside := [each.number for each in page.tickets if each.admitted < before]:
                    await self._store.act(queue, Action.TERMINATE, inside)
                cursor = page.cursor
                if cursor is None:
                    break
