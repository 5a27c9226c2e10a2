"""Interrupted transfers: a person on the way from one queue to another gets there.

A transfer is three steps on two queues (see `WalkIn.transfer`). If the worker dies between them, a ticket
stays on hold in the queue it was sent to. Every keeper checks for these and continues the transfer from there. A step
that is done twice changes nothing the second time.
"""

from __future__ import annotations

import structlog

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Came, Ticket, Went, goes_to
from fairline.errors import QueueNotFound, TicketNotFound, TransitionRefused
from fairline.service.answers import printed_label
from fairline.store import Arriving, Store

log = structlog.get_logger()

#: A transfer that takes longer than this many milliseconds was interrupted.
INTERRUPTED_MS = 15_000
#: How many transfers one round reads.
STEP = 100


class Transfers:
    """Finishes interrupted transfers. It keeps no state."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, queue: QueueId) -> bool:
        """Finish the transfers to a queue that have been under way for too long. Returns whether any are under way."""
        found = await self._store.arriving(queue, STEP)
        if not found:
            return False
        now = await self._store.time()
        for each in found:
            if now - each.ticket.joined > INTERRUPTED_MS:
                await self._finish(queue, each)
        return True

    async def _finish(self, queue: QueueId, arriving: Arriving) -> None:
        number = arriving.ticket.number
        try:
            action = await self._end_there(queue, arriving)
        except (TransitionRefused, TicketNotFound, QueueNotFound):
            return  # the ticket changed at this moment: the next round continues
        await self._store.act(queue, action, [number])
        how = "finished" if action is Action.RELEASE else "undone"
        log.warning("queue.transfer_mended", queue=queue, ticket=number, came=arriving.came.queue, how=how)

    async def _end_there(self, queue: QueueId, arriving: Arriving) -> Action:
        """Make sure that the ticket has left the queue it comes from. Returns the action for the ticket here. If the
        earlier ticket is gone, this one stays in line: a person who does not come is better than one who is lost."""
        came, ticket = arriving.came, arriving.ticket
        before = await self._ticket(came)
        if before is None:
            return Action.RELEASE
        if before.went is not None:
            went = before.went
            is_here = (went.queue, went.number, went.joined) == (queue, ticket.number, ticket.joined)
            return Action.RELEASE if is_here else Action.CANCEL
        if goes_to(before.status, Action.TRANSFER, on_hold=before.on_hold) is None:
            return Action.CANCEL
        settings = (await self._store.settings(queue)).settings
        went = Went(queue, ticket.number, ticket.joined, printed_label(queue, settings, ticket))
        await self._store.transfer(QueueId(came.queue), came.number, went)
        return Action.RELEASE

    async def _ticket(self, came: Came) -> Ticket | None:
        try:
            (found,) = (await self._store.look_up(QueueId(came.queue), [came.number])).items
        except QueueNotFound:
            return None
        return found if found is not None and found.joined == came.joined else None
