"""Operations on single tickets: sessions, actions, deadlines, and lists of tickets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairline.domain.queue import QueueId
from fairline.domain.ticket import Action, Reason, Status, Ticket, Went
from fairline.store.checks import check_act, check_batch, milliseconds, read_cursor
from fairline.store.contract import MISSED_LOOKED_AT
from fairline.store.valkey.answers import acted_ticket, outcome, outcomes, rows_of, same_ticket
from fairline.store.valkey.client import mapped_errors
from fairline.store.valkey.keys import key
from fairline.store.valkey.queues import QueueOperations
from fairline.store.valkey.record import pack_went, unpack_came, unpack_ticket
from fairline.store.values import Arriving, Closed, IssuedAt, Lapsed, Outcomes, Page, Reply, Swept
from fairline.store.visits import Visit, Visitor

_CURSOR = re.compile(r"[1-5]:-?[0-9]{1,20}(\.[0-9]{1,20})?(e\+[0-9]{1,3})?", re.ASCII)


class TicketOperations(QueueOperations):
    """See `contract.Store`."""

    async def visit(self, queue: QueueId, what: Visit, visitors: Sequence[Visitor | tuple[int, bytes]]) -> Outcomes:
        check_batch(visitors)
        asked = [each if isinstance(each, Visitor) else Visitor(*each) for each in visitors]
        if what != "visit" or any(each.views for each in asked):
            return await self._visit(queue, what, asked)
        # Nearly always everyone is inside already, and nothing has to be written: a cheaper script can tell.
        snapshot, items = await self._run("inside", queue, [part for each in asked for part in each[:2]])
        rows = list(rows_of(items, 4))
        others = [each for each, row in zip(asked, rows, strict=True) if not row[0]]
        # Sessions that start now change the queue, so the answer has the later snapshot.
        later = await self._visit(queue, what, others) if others else Reply(snapshot, [])
        stepped = iter(later.items)
        return Reply(
            later.snapshot,
            [
                same_ticket(queue, each.joined, outcome(queue, Action.START, each.number, row, snapshot))
                if row[0]
                else next(stepped)
                for each, row in zip(asked, rows, strict=True)
            ],
        )

    async def _visit(self, queue: QueueId, what: Visit, asked: list[Visitor]) -> Outcomes:
        args = [part for each in asked for part in (each.number, each.by, each.views, each.joined or "")]
        snapshot, items = await self._run("visit", queue, [what, *args])
        action = Action.TOUCH if what == "touch" else Action.START
        return outcomes(queue, action, [each.number for each in asked], items, snapshot)

    async def act(
        self, queue: QueueId, action: Action, numbers: Sequence[int], joined: IssuedAt = (), by: Sequence[bytes] = ()
    ) -> Outcomes:
        check_batch(numbers)
        check_act(action)
        times, owners = joined or [None] * len(numbers), by or [b""] * len(numbers)
        args = [part for each in zip(numbers, (at or "" for at in times), owners, strict=True) for part in each]
        snapshot, items = await self._run("act", queue, [action.value, *args])
        return outcomes(queue, action, numbers, items, snapshot)

    async def transfer(self, queue: QueueId, number: int, went: Went) -> Ticket:
        detail = f"{went.queue} {went.number}"
        snapshot, items = await self._run("transfer", queue, [number, pack_went(went), detail])
        return acted_ticket(queue, Action.TRANSFER, number, items, snapshot)

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        snapshot, items = await self._run("revoke", queue, [number, reason])
        return acted_ticket(queue, Action.REVOKE, number, items, snapshot)

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        await self.snapshot(queue)
        async with mapped_errors():
            found = await self._client.hgetall(key(queue, "revoked"))
        return {int(number): reason.decode() for number, reason in sorted(found.items(), key=lambda item: int(item[0]))}

    async def sweep(
        self, queue: QueueId, at_most: int, *, every: float = 5.0, lease: float = 0.0, stalled: bool = False
    ) -> Swept:
        _, (due, *lapsed) = await self._run(
            "sweep", queue, [at_most, milliseconds(every), milliseconds(lease), int(stalled)]
        )
        return Swept([Lapsed(int(n), Reason(why.decode())) for n, why in rows_of(lapsed, 2)], more=due >= at_most)

    async def close_day(self, queue: QueueId, ends: int, at_most: int, cursor: str | None = None) -> Closed:
        _, (after, *numbers) = await self._run("close", queue, [ends, at_most, cursor or ""])
        return Closed([int(number) for number in numbers], after.decode() or None)

    async def tickets(self, queue: QueueId, status: Status | None, cursor: str | None, limit: int) -> Page:
        read_cursor(_CURSOR, cursor)
        snapshot, (after, *items) = await self._run("list", queue, [status or "", cursor or "", limit])
        rows = (unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items, 4))
        return Page(list(rows), after.decode() or None)

    async def on_hold(self, queue: QueueId, limit: int) -> list[Ticket]:
        snapshot, (_, *items) = await self._run("list", queue, [Status.WAITING.value, "2:-inf", limit])
        return [unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items, 4)]

    async def arriving(self, queue: QueueId, limit: int) -> list[Arriving]:
        snapshot, items = await self._run("arriving", queue, [limit])
        return [
            Arriving(unpack_ticket(int(number), row, snapshot.stopped), unpack_came(came))
            for came, number, *row in rows_of(items, 5)
        ]

    async def missed(self, queue: QueueId, since: int, limit: int) -> list[Ticket]:
        snapshot, items = await self._run("missed", queue, [since, limit, MISSED_LOOKED_AT])
        return [unpack_ticket(int(n), row, snapshot.stopped) for n, *row in rows_of(items, 4)]
