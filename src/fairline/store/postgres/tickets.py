"""Operations on single tickets: sessions, actions, deadlines, and lists of tickets."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from fairline.domain.queue import QueueId
from fairline.domain.ticket import REASONS, Action, Came, Reason, Status, Ticket, Went
from fairline.store.checks import check_act, check_batch, milliseconds, read_cursor
from fairline.store.contract import MISSED_LOOKED_AT
from fairline.store.postgres.answers import acted_ticket, decode, encode, outcomes, ticket_of
from fairline.store.postgres.operations import Operations
from fairline.store.values import Arriving, Closed, IssuedAt, Lapsed, Outcomes, Page, Swept
from fairline.store.visits import Visit, Visitor

_CURSOR = re.compile(r"([1-5]):(-?[0-9]{1,18})", re.ASCII)


class TicketOperations(Operations):
    """See `contract.Store`."""

    async def visit(self, queue: QueueId, what: Visit, visitors: Sequence[Visitor | tuple[int, bytes]]) -> Outcomes:
        check_batch(visitors)
        each = [Visitor(*visitor) for visitor in visitors]
        numbers = [visitor.number for visitor in each]
        by, views = [visitor.by for visitor in each], [visitor.views for visitor in each]
        answer = await self._call("visit", queue, what, numbers, by, views, [visitor.joined for visitor in each])
        return outcomes(queue, Action.TOUCH if what == "touch" else Action.START, numbers, answer)

    async def act(
        self, queue: QueueId, action: Action, numbers: Sequence[int], joined: IssuedAt = (), by: Sequence[bytes] = ()
    ) -> Outcomes:
        check_batch(numbers)
        check_act(action)
        why, many = REASONS.get(action), len(numbers)
        columns = (list(numbers), list(joined or [None] * many), list(by or [b""] * many))
        answer = await self._call("act", queue, action.value, why.value if why else None, *columns)
        return outcomes(queue, action, numbers, answer)

    async def transfer(self, queue: QueueId, number: int, went: Went) -> Ticket:
        detail = f"{went.queue} {went.number}"
        answer = await self._call("transfer", queue, number, encode(went).decode(), detail)
        return acted_ticket(queue, Action.TRANSFER, number, answer)

    async def revoke(self, queue: QueueId, number: int, reason: str) -> Ticket:
        return acted_ticket(queue, Action.REVOKE, number, await self._call("revoke", queue, number, reason))

    async def revoked(self, queue: QueueId) -> dict[int, str]:
        return dict(decode(await self._client.call("all_revoked", queue, queue=queue)))

    async def sweep(
        self, queue: QueueId, at_most: int, *, every: float = 5.0, lease: float = 0.0, stalled: bool = False
    ) -> Swept:
        answer = await self._call("sweep", queue, at_most, milliseconds(every), milliseconds(lease), stalled)
        _, (due, lapsed) = answer
        return Swept([Lapsed(number, Reason(why)) for number, why in lapsed], more=due >= at_most)

    async def close_day(self, queue: QueueId, ends: int, at_most: int, cursor: str | None = None) -> Closed:
        part, seen = map(int, cursor.split(":")) if cursor else (None, None)
        part, seen, numbers = await self._call("close_day", queue, ends, at_most, part, seen)
        return Closed(numbers, None if part is None else f"{part}:{seen}")

    async def tickets(self, queue: QueueId, status: Status | None, cursor: str | None, limit: int) -> Page:
        found = read_cursor(_CURSOR, cursor)
        part, seen = (int(found[1]), int(found[2])) if found else (None, None)
        wanted = status.value if status else None
        answer = await self._client.call("list_tickets", queue, wanted, part, seen, limit, queue=queue)
        part, seen, rows = decode(answer)
        return Page([ticket_of(row) for row in rows], None if part is None else f"{part}:{seen}")

    async def on_hold(self, queue: QueueId, limit: int) -> list[Ticket]:
        answer = await self._client.call("list_tickets", queue, Status.WAITING.value, 2, None, limit, queue=queue)
        return [ticket_of(row) for row in decode(answer)[2]]

    async def arriving(self, queue: QueueId, limit: int) -> list[Arriving]:
        rows, came = decode(await self._client.call("arriving", queue, limit, queue=queue))
        pairs = zip(rows, came, strict=True)
        return [Arriving(ticket_of(row), msgspec.convert(origin, Came)) for row, origin in pairs]

    async def missed(self, queue: QueueId, since: int, limit: int) -> list[Ticket]:
        answer = await self._client.call("missed", queue, since, limit, MISSED_LOOKED_AT, queue=queue)
        return [ticket_of(row) for row in decode(answer)]
