"""Transfers that broke off: whoever is on the way from one queue to another gets there.

A transfer is three steps on two queues (see `Counter.transfer`). Where the worker dies between them, someone is left
put aside in the queue they were sent to. Every keeper looks, and goes on from where it broke off; a step that is done
twice changes nothing the second time.
"""

from __future__ import annotations

import structlog

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Came, Ticket, Went, goes_to
from fairline.errors import QueueNotFound, TicketNotFound, TransitionRefused
from fairline.service.answers import printed_label
from fairline.store import Arriving, Store

log = structlog.get_logger()

#: A transfer that takes longer than so many ms has broken off.
BROKEN_OFF_MS = 15_000
#: How many one round looks at.
STEP = 100


class Transfers:
    """Finishes what broke off. It remembers nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, queue: QueueId) -> bool:
        """Finish the transfers to a queue that have been under way for too long. Answers whether any were under way."""
        found = await self._store.arriving(queue, STEP)
        if not found:
            return False
        now = await self._store.time()
        for each in found:
            if now - each.ticket.joined > BROKEN_OFF_MS:
                await self._finish(queue, each)
        return True

    async def _finish(self, queue: QueueId, arriving: Arriving) -> None:
        number = arriving.ticket.number
        try:
            action = await self._end_there(queue, arriving)
        except (TransitionRefused, TicketNotFound, QueueNotFound):
            return  # it changed at this moment: the next round knows how
        await self._store.act(queue, action, [number])
        how = "finished" if action is Action.RELEASE else "undone"
        log.warning("queue.transfer_mended", queue=queue, ticket=number, came=arriving.came.queue, how=how)

    async def _end_there(self, queue: QueueId, arriving: Arriving) -> Action:
        """See that they are out of the queue they come from; answers what is to be done here. Where nothing is known of
        their ticket any more they stay: someone in line who does not come is better than someone who is lost."""
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
