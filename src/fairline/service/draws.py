"""What anyone may read of a draw, and the receipt of someone who was in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from msgspec import Struct
from msgspec.structs import replace

from fairline.domain.draw import (
    HASH_SIZE,
    SCHEME,
    Entry,
    Node,
    Side,
    commitment,
    nonce_of,
    path_nodes,
)
from fairline.domain.order import PriorityPolicy
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.ticket import TicketStatus
from fairline.errors import DrawNotFound, InvalidSettings, QueueNotFound
from fairline.service.draw_record import (
    ENTRIES_PER_PART,
    NODES_PER_PART,
    closed_of,
    drawn_at_of,
    entries_part,
    parts_count,
    randomness_of,
    sealed_of,
    tree_part,
    unpack_entries,
    unpack_nodes,
)
from fairline.store import Store

#: How many parts are read at once.
AT_ONCE = 20


class DrawState(Struct, frozen=True, kw_only=True):
    """What is published of a draw at this moment. What is not known yet is None."""

    id: str
    queue: QueueId
    opening: str
    scheme: str = SCHEME
    commitment: bytes
    """SHA-256 of the secret."""
    round: int | None
    """The round of the beacon; None where the secret decides alone."""
    chain: str | None
    root: bytes | None = None
    levels_hash: bytes | None = None
    """A hash over the levels of all members, so that none can be changed afterwards."""
    count: int | None = None
    priority_policy: PriorityPolicy | None = None
    priority_skip: tuple[float, ...] | None = None
    randomness: bytes | None = None
    signature: bytes | None = None
    """The signature of the round, whose SHA-256 is the randomness."""
    randomness_missing: str | None = None
    """Why the randomness of the round could not be had, and the secret decided alone."""
    secret: bytes | None = None
    drawn_at: int | None = None
    """When the order was drawn, in milliseconds since 1970."""


class Receipt(Struct, frozen=True, kw_only=True):
    """All that one person needs to check their own place in a draw."""

    draw: str
    label: str
    """The number of the ticket, in decimal; in a group, that of the one who was in the draw for all of them."""
    nonce: bytes
    leaf: bytes
    path: list[tuple[Side, bytes]]
    value: bytes
    level: int
    rank: int
    count: int


def draw_id(queue: QueueId, opening: str) -> str:
    """The id of the draw of an opening: it leads to its queue."""
    return f"{queue}.{opening}"


def _parts_of_id(text: str) -> tuple[QueueId, str]:
    name, _, opening = text.rpartition(".")
    try:
        return queue_id(name), opening
    except InvalidSettings:
        raise DrawNotFound from None


class Draws:
    """Reads the draws of all queues of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def state(self, draw: str) -> DrawState:
        """What is published of a draw, or DrawNotFound."""
        queue, opening = _parts_of_id(draw)
        try:
            parts = await self._store.draw_parts(queue, opening, ["sealed", "closed", "randomness", "drawn"])
        except QueueNotFound:
            raise DrawNotFound from None
        if "sealed" not in parts:
            raise DrawNotFound
        sealed = sealed_of(parts["sealed"])
        state = DrawState(
            id=draw,
            queue=queue,
            opening=opening,
            commitment=commitment(sealed.secret),
            round=sealed.round,
            chain=sealed.chain,
        )
        if "closed" not in parts:
            return state
        closed = closed_of(parts["closed"])
        state = replace(
            state,
            root=closed.root,
            levels_hash=closed.levels_hash,
            count=closed.count,
            priority_policy=closed.policy,
            priority_skip=closed.skip,
        )
        if "randomness" in parts and "drawn" in parts:
            randomness = randomness_of(parts["randomness"])
            state = replace(
                state,
                randomness=randomness.value,
                signature=randomness.signature,
                randomness_missing=randomness.why_none or None,
                secret=sealed.secret,
                drawn_at=drawn_at_of(parts["drawn"]).at,
            )
        return state

    async def entries(self, state: DrawState) -> AsyncIterator[Entry]:
        """Everyone in the order drawn; nobody before it was drawn."""
        if state.drawn_at is None or not state.count:
            return
        names = [entries_part(index) for index in range(parts_count(state.count, ENTRIES_PER_PART))]
        for first in range(0, len(names), AT_ONCE):
            wanted = names[first : first + AT_ONCE]
            found = await self._store.draw_parts(state.queue, state.opening, wanted)
            for name in wanted:
                for entry in unpack_entries(found[name]):
                    yield entry
            await asyncio.sleep(0)  # a long list must not keep others waiting

    async def receipt(self, queue: QueueId, ticket_status: TicketStatus) -> Receipt:
        """The receipt of a ticket, or DrawNotFound if it was in no draw."""
        opening, rank = ticket_status.drawn_in, ticket_status.drawn_rank
        if not rank:
            raise DrawNotFound("This ticket was in no draw: it joined after the pre-queue, or there was none.")
        state = await self.state(draw_id(queue, opening))
        if state.drawn_at is None or state.count is None:
            raise DrawNotFound("The order is still being drawn. Ask again in a moment.")
        sealed = sealed_of((await self._store.draw_parts(queue, opening, ["sealed"]))["sealed"])
        part, at = divmod(rank - 1, ENTRIES_PER_PART)
        name = entries_part(part)
        entry = list(unpack_entries((await self._store.draw_parts(queue, opening, [name]))[name]))[at]
        index = await self._index_of(state, entry.leaf, state.count)
        number = await self._entered(queue, opening, ticket_status.number)
        return Receipt(
            draw=state.id,
            label=str(number),
            nonce=nonce_of(sealed.nonce_key, number),
            leaf=entry.leaf,
            path=await self._path(state, index, state.count),
            value=entry.value,
            level=entry.level,
            rank=rank,
            count=state.count,
        )

    async def _entered(self, queue: QueueId, opening: str, number: int) -> int:
        """The ticket that was in the draw for this one: its own, or that of somebody in its group."""
        part = f"for:{number}"
        found = await self._store.draw_parts(queue, opening, [part])
        return int(found[part]) if part in found else number

    async def _index_of(self, state: DrawState, leaf: bytes, count: int) -> int:
        """Where a leaf is among all, in ascending order. Leaves are spread evenly, so a guess is near."""
        part = (int.from_bytes(leaf[:8], "big") * count >> 64) // NODES_PER_PART
        while True:
            name = tree_part(0, part)
            nodes = unpack_nodes((await self._store.draw_parts(state.queue, state.opening, [name]))[name])
            if leaf < nodes[0]:
                part -= 1
            elif leaf > nodes[-1]:
                part += 1
            else:
                return part * NODES_PER_PART + nodes.index(leaf)

    async def _path(self, state: DrawState, index: int, count: int) -> list[tuple[Side, bytes]]:
        steps = path_nodes(index, count)
        names = {node: tree_part(node.level, node.at // NODES_PER_PART) for _, node in steps}
        found = await self._store.draw_parts(state.queue, state.opening, list(names.values()))

        def hash_at(node: Node) -> bytes:
            at = node.at % NODES_PER_PART * HASH_SIZE
            return found[names[node]][at : at + HASH_SIZE]

        return [(side, hash_at(node)) for side, node in steps]
