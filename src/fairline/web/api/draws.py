"""The API calls about draws: what is published of one, the list of everyone in it, and the receipt of a ticket."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Literal

from msgspec import Struct

from fairline.domain.draw import Entry
from fairline.domain.order import PriorityPolicy
from fairline.domain.queue import QueueId
from fairline.errors import DrawNotFound, QueueNotFound
from fairline.service.draws import Draws, DrawState
from fairline.web.api.people import gone_with_its_queue
from fairline.web.api.wire import moment
from fairline.web.context import Context
from fairline.web.server.http import Request, Response, encode, private
from fairline.web.ticket_answers import same_ticket

#: The published list never changes, so browsers and proxies may keep it.
_FOR_GOOD = ((b"cache-control", b"public, max-age=31536000, immutable"),)
_FOR_NOW = ((b"cache-control", b"public, max-age=1"),)


class DrawAnswer(Struct, kw_only=True, frozen=True):
    """What is published of a draw. What is not known yet is null. Hashes and keys are lower-case hex."""

    id: str
    queue: str
    opening: str
    scheme: str
    """How it is drawn: `fairline-draw-1` is the one there is."""
    commitment: str
    """SHA-256 of the secret: published when the pre-queue opens."""
    root: str | None
    """The root of the Merkle tree over all members: published when the pre-queue closes."""
    levels_hash: str | None
    """SHA-256 over each leaf, followed by its level as one byte, with the leaves in ascending order: published with the
    root, so that no level can be changed afterwards."""
    count: int | None
    """How many members there are."""
    round: int | None
    """The round of public randomness that is used; null where the secret decides alone."""
    chain: str | None
    """The chain of that round."""
    randomness: str | None
    """The randomness of the round: SHA-256 of its signature."""
    signature: str | None
    """The signature of the round, by which anyone can check that the chain has published it."""
    randomness_missing: str | None
    """Why the randomness could not be had, so that the secret decided alone."""
    secret: str | None
    """The secret: published once the order is drawn."""
    priority_policy: PriorityPolicy | None
    """How higher levels go ahead: `strict`, or `skip` by the shares of `priority_skip`."""
    priority_skip: tuple[float, ...] | None
    drawn_at: datetime | None
    """When the order was drawn."""
    entries_url: str | None
    """Where the list of all members is, once the order is drawn."""


class ReceiptAnswer(Struct, kw_only=True, frozen=True):
    """All that one person needs to check their own place in a draw."""

    draw: str
    label: str
    """The number of the ticket, in decimal."""
    nonce: str
    """Known to its holder alone: without it, nobody can find their leaf in the list."""
    leaf: str
    path: list[tuple[Literal["left", "right"], str]]
    """The hashes that lead from the leaf to the root, and on which side each of them stands."""
    value: str
    level: int
    rank: int
    count: int


class DrawCalls:
    """The calls about draws."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._service = context.service
        self._draws = Draws(context.service.store)
        self._one_list = asyncio.Semaphore(1)

    async def draw(self, request: Request) -> Response:
        """What is published of a draw."""
        state = await self._draws.state(request.params["draw"])
        return Response(200, encode(draw_answer(state, self._context.settings.public_url)), headers=_FOR_NOW)

    async def entries(self, request: Request) -> Response:
        """Everyone in the order drawn. A list may have 28 MB, so a worker writes one at a time."""
        state = await self._draws.state(request.params["draw"])
        if state.drawn_at is None:
            return Response(200, b"[]", headers=_FOR_NOW)
        async with self._one_list:
            rows = [_row(entry) async for entry in self._draws.entries(state)]
            return Response(200, b"[" + b",".join(rows) + b"]", headers=_FOR_GOOD)

    async def receipt(self, request: Request) -> Response:
        """The receipt of a ticket."""
        claims = self._context.ticket_claims(request)
        queue = QueueId(claims.queue)
        try:
            answer = same_ticket(claims, await self._service.status(queue, claims.number))
        except QueueNotFound as error:
            gone_with_its_queue(error)
        if not answer.ticket_status.drawn_rank and answer.settings.held_back:
            raise DrawNotFound("The opening has not started yet. If there is a draw, ask again after the start.")
        receipt = await self._draws.receipt(queue, answer.ticket_status)
        content = ReceiptAnswer(
            draw=receipt.draw,
            label=receipt.label,
            nonce=receipt.nonce.hex(),
            leaf=receipt.leaf.hex(),
            path=[(side, each.hex()) for side, each in receipt.path],
            value=receipt.value.hex(),
            level=receipt.level,
            rank=receipt.rank,
            count=receipt.count,
        )
        return private(200, content)


def draw_answer(state: DrawState, public_url: str) -> DrawAnswer:
    """What is published of a draw, as it is answered."""
    return DrawAnswer(
        id=state.id,
        queue=state.queue,
        opening=state.opening,
        scheme=state.scheme,
        commitment=state.commitment.hex(),
        root=_hex(state.root),
        levels_hash=_hex(state.levels_hash),
        count=state.count,
        round=state.round,
        chain=state.chain,
        randomness=_hex(state.randomness),
        signature=_hex(state.signature),
        randomness_missing=state.randomness_missing,
        secret=_hex(state.secret),
        priority_policy=state.priority_policy,
        priority_skip=state.priority_skip,
        drawn_at=moment(state.drawn_at) if state.drawn_at else None,
        entries_url=f"{public_url}/api/v1/draws/{state.id}/entries" if state.drawn_at else None,
    )


def _row(entry: Entry) -> bytes:
    return b'["%s","%s",%d]' % (entry.leaf.hex().encode(), entry.value.hex().encode(), entry.level)


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
