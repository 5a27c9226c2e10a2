"""Operations on letting people in: by the rate, or by hand at a desk."""

from __future__ import annotations

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Ticket
from fairline.errors import IdempotencyConflict, QueueHeldBack, QueuePaused, TicketNotFound, TransitionRefused
from fairline.store.checks import call_fingerprint, milliseconds
from fairline.store.desks import DeskState, desk_states
from fairline.store.postgres.answers import snapshot_of, ticket_of
from fairline.store.postgres.queues import QueueOperations
from fairline.store.refusals import not_a_desk, too_many_desks
from fairline.store.values import Reply


class AdmissionOperations(QueueOperations):
    """See `contract.Store`."""

    async def admit(self, queue: QueueId, at_most: int, *, every: float = 1.0, lease: float = 0.0) -> Reply[int]:
        snapshot, numbers = await self._call("admit", queue, at_most, milliseconds(every), milliseconds(lease))
        return Reply(snapshot_of(snapshot), numbers)

    async def call_next(
        self, queue: QueueId, count: int, *, desk: str = "", key: bytes = b"", number: int | None = None
    ) -> list[Ticket]:
        fingerprint = call_fingerprint(count, number, desk)
        _, (outcome, rows) = await self._call("call_next", queue, count, number, desk, key, fingerprint)
        match outcome:
            case "conflict":
                raise IdempotencyConflict
            case "paused":
                raise QueuePaused(queue, (await self.settings(queue)).settings.status)
            case "held_back":
                raise QueueHeldBack(queue)
            case "missing":
                raise TicketNotFound(queue, number or 0)
            case "desk":
                raise not_a_desk(rows)
            case "refused":
                found = ticket_of(rows[0])
                raise TransitionRefused(Action.CALL, found.found, found.reason)
        return [ticket_of(row) for row in rows if row]

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> None:
        outcome, names = await self._call("set_desk", queue, name, is_open)
        if outcome == "desk":
            raise not_a_desk(names, "name")
        if outcome == "full":
            raise too_many_desks()

    async def desks(self, queue: QueueId) -> list[DeskState]:
        settings = (await self.settings(queue)).settings
        now, found = await self._call("all_desks", queue)
        return desk_states(settings, now, dict(found))
