"""Operations on letting people in: by the rate, or by hand at a desk."""

from __future__ import annotations

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Ticket
from fairline.errors import IdempotencyConflict, QueueHeldBack, QueuePaused, TicketNotFound, TransitionRefused
from fairline.store.checks import call_fingerprint, milliseconds
from fairline.store.desks import DeskState, desk_states
from fairline.store.refusals import not_a_desk, too_many_desks
from fairline.store.valkey.answers import rows_of
from fairline.store.valkey.client import mapped_errors
from fairline.store.valkey.keys import key
from fairline.store.valkey.queues import QueueOperations
from fairline.store.valkey.record import unpack_ticket
from fairline.store.values import Reply


class AdmissionOperations(QueueOperations):
    """See `contract.Store`."""

    async def admit(self, queue: QueueId, at_most: int, *, every: float = 1.0, lease: float = 0.0) -> Reply[int]:
        snapshot, items = await self._run("admit", queue, [at_most, milliseconds(every), milliseconds(lease)])
        return Reply(snapshot, [int(number) for number in items])

    async def call_next(
        self, queue: QueueId, count: int, *, desk: str = "", key: bytes = b"", number: int | None = None
    ) -> list[Ticket]:
        one = "" if number is None else str(number)
        fingerprint = call_fingerprint(count, number, desk)
        snapshot, items = await self._run("call", queue, [count, one, desk, key, fingerprint])
        outcome = items[0]
        if outcome == b"conflict":
            raise IdempotencyConflict
        if outcome == b"paused":
            raise QueuePaused(queue, (await self.settings(queue)).settings.status)
        if outcome == b"held_back":
            raise QueueHeldBack(queue)
        if outcome == b"missing":
            raise TicketNotFound(queue, int(one))
        if outcome == b"desk":
            raise not_a_desk([name.decode() for name in items[1:]])
        tickets = [unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items[1:], 4) if row[2]]
        if outcome == b"refused":
            raise TransitionRefused(Action.CALL, tickets[0].found, tickets[0].reason)
        return tickets

    async def set_desk(self, queue: QueueId, name: str, *, is_open: bool) -> None:
        _, (outcome, *names) = await self._run("desk", queue, [name, int(is_open)])
        if outcome == b"desk":
            raise not_a_desk([each.decode() for each in names], "name")
        if outcome == b"full":
            raise too_many_desks()

    async def desks(self, queue: QueueId) -> list[DeskState]:
        snapshot, settings = await self.snapshot(queue), (await self.settings(queue)).settings
        async with mapped_errors():
            found = await self._client.zrange(key(queue, "desks"), 0, -1, withscores=True)
        return desk_states(settings, snapshot.now, {name.decode(): int(score) for name, score in found})
