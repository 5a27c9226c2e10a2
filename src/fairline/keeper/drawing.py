"""Draws the order of a pre-queue (see domain/draw.py).

A keeper that dies in the middle is followed by another one that does the same again. Everything that could come out
otherwise the second time is written down once, before anything is made from it: the secret, the members, the root, the
randomness.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple, Protocol, TypeVar

import structlog
from msgspec.structs import replace

from fairline.domain.draw import (
    HASH_SIZE,
    Entry,
    Member,
    draw_key,
    drawn_order,
    leaf_of,
    levels_hash,
    nonce_of,
    root_of,
    tree_levels,
    value_of,
)
from fairline.domain.opening import Opening
from fairline.domain.order import BAND, SPAN, PriorityPolicy
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import ServiceFailed
from fairline.service.draw_record import (
    ENTRIES_PER_PART,
    MEMBERS_PER_PART,
    NODES_PER_PART,
    Closed,
    DrawnAt,
    Randomness,
    Sealed,
    closed_of,
    encode,
    entries_part,
    members_part,
    pack_entries,
    pack_members,
    parts_count,
    randomness_of,
    sealed_of,
    tree_part,
    unpack_members,
)
from fairline.store import Drawn, Store

T = TypeVar("T")

log = structlog.get_logger()

#: How many members one step reads or moves, so that it does not block the store for long.
STEP = 1000
#: How many steps are under way at once: while the store works on one, the next is on its way.
AT_ONCE = 4
#: How many parts are written at once.
PARTS_AT_ONCE = 50
#: The round of the beacon appears at least this long after the pre-queue closes, so that the root is published before.
ROOT_SECONDS = 3.0
#: How long the draw waits for the randomness after its round should have appeared. Then the secret decides alone.
BEACON_SECONDS = 10.0
BEACON_PAUSE_SECONDS = 0.5
FIRST_TRY_SECONDS = 3.0


class Beacon(Protocol):
    """A source of public randomness in rounds."""

    @property
    def chain(self) -> str:
        """Which source it is."""

    def round_after(self, ms: int) -> int:
        """The first round that appears after a moment, in milliseconds since 1970."""

    def appears_at(self, number: int) -> int:
        """When a round appears, in milliseconds since 1970."""

    async def signature(self, number: int) -> bytes:
        """The signature of a round, whose SHA-256 is its randomness, or ServiceFailed while it cannot be had."""


class Drawing:
    """Draws for the queues of one store. Without a beacon, the secret decides alone."""

    def __init__(
        self,
        store: Store,
        beacon: Beacon | None = None,
        random_bytes: Callable[[int], bytes] | None = None,
    ) -> None:
        self._store = store
        self._beacon = beacon
        self._random_bytes = random_bytes or secrets.token_bytes

    async def seal(self, queue: QueueId, opening: Opening) -> None:
        """Decide on the secret and the round, before the pre-queue opens. If the start is moved meanwhile, the round
        moves with it, as long as neither of the two rounds has appeared."""
        first = Sealed(self._random_bytes(HASH_SIZE), self._random_bytes(HASH_SIZE))
        if self._beacon is not None:
            first = replace(first, round=self._round_of(self._beacon, opening), chain=self._beacon.chain)
        kept = await self._store.keep_draw(queue, opening.id, {"sealed": encode(first)}, once=True)
        sealed = sealed_of(kept["sealed"])
        beacon = self._beacon
        if beacon is None or sealed.round is None or sealed.chain != beacon.chain or sealed.round == first.round:
            return
        if await self._store.time() < min(beacon.appears_at(sealed.round), opening.closes_ms):
            moved = encode(replace(sealed, round=first.round))
            await self._store.keep_draw(queue, opening.id, {"sealed": moved})

    @staticmethod
    def _round_of(beacon: Beacon, opening: Opening) -> int:
        return beacon.round_after(opening.closes_ms + int(1000 * ROOT_SECONDS))

    async def draw(self, queue: QueueId, opening: Opening, settings: QueueSettings) -> int:
        """Draw the order of a pre-queue that has closed, and put it in force. Returns how many were drawn."""
        began = time.monotonic()
        sealed = sealed_of((await self._store.draw_parts(queue, opening.id, ["sealed"]))["sealed"])
        members = await self._members(queue, opening.id)
        tree = await asyncio.to_thread(_tree, sealed.nonce_key, members)
        closed = await self._close(queue, opening.id, tree, len(members), settings)
        randomness = await self._randomness(queue, opening.id, sealed, closed)
        key = draw_key(sealed.secret, randomness.value or b"", closed.root)
        entries, order = await asyncio.to_thread(_order, key, tree.leaves, members, closed)
        await self._publish(queue, opening.id, tree.levels, entries)
        await self._place(queue, opening.id, members, order, closed)
        now = await self._store.time()
        await self._store.keep_draw(queue, opening.id, {"drawn": encode(DrawnAt(now))}, once=True)
        took = round(time.monotonic() - began, 3)
        log.info("draw.done", queue=queue, opening=opening.id, people=len(members), seconds=took)
        return len(members)

    async def _members(self, queue: QueueId, opening: str) -> list[Member]:
        """Who is in the draw: written down once, so that it stays the same whatever happens to their tickets."""
        frozen = await self._store.freeze_draw(queue, opening)
        names = [members_part(index) for index in range(parts_count(frozen.count, MEMBERS_PER_PART))]
        kept = await self._read(queue, opening, names)
        missing = [(index, name) for index, name in enumerate(names) if name not in kept]

        async def keep(part: tuple[int, str]) -> None:
            index, name = part
            first = index * MEMBERS_PER_PART
            found = await self._store.draw_members(queue, first, MEMBERS_PER_PART)
            kept.update(await self._store.keep_draw(queue, opening, {name: pack_members(found)}, once=True))

        await _each(missing, keep)
        return [member for name in names for member in unpack_members(kept[name])]

    async def _read(self, queue: QueueId, opening: str, names: list[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for first in range(0, len(names), PARTS_AT_ONCE):
            found |= await self._store.draw_parts(queue, opening, names[first : first + PARTS_AT_ONCE])
        return found

    async def _close(self, queue: QueueId, opening: str, tree: Tree, count: int, settings: QueueSettings) -> Closed:
        frozen = await self._store.freeze_draw(queue, opening)
        closed = Closed(
            root=root_of(tree.levels),
            levels_hash=tree.levels_hash,
            count=count,
            first_turn=frozen.first_turn,
            at=await self._store.time(),
            policy=settings.priority_policy,
            skip=settings.priority_skip,
        )
        kept = await self._store.keep_draw(queue, opening, {"closed": encode(closed)}, once=True)
        return closed_of(kept["closed"])

    async def _randomness(self, queue: QueueId, opening: str, sealed: Sealed, closed: Closed) -> Randomness:
        parts = await self._store.draw_parts(queue, opening, ["randomness"])
        if "randomness" not in parts:
            found = await self._ask_beacon(sealed, closed)
            parts = await self._store.keep_draw(queue, opening, {"randomness": encode(found)}, once=True)
        return randomness_of(parts["randomness"])

    async def _ask_beacon(self, sealed: Sealed, closed: Closed) -> Randomness:
        """The randomness of the round that was decided on, once it has appeared."""
        if sealed.round is None:
            return Randomness()
        if self._beacon is None or self._beacon.chain != sealed.chain:
            return Randomness(why_none="the server no longer uses this beacon")
        appears = self._beacon.appears_at(sealed.round)
        if closed.at >= appears:
            # The randomness could have been known before the pre-queue closed, so it must not decide.
            return Randomness(why_none="the pre-queue closed after the round had appeared")
        until = appears + int(1000 * BEACON_SECONDS)
        problem = ""
        while True:
            now = await self._store.time()
            if now < appears:  # in short pauses, since the store's clock may be set meanwhile
                await asyncio.sleep(min((appears - now) / 1000, BEACON_PAUSE_SECONDS))
                continue
            # A keeper that follows one that died asks once, however late it is.
            left = (until - now) / 1000 if problem else max((until - now) / 1000, FIRST_TRY_SECONDS)
            if left <= 0:
                break
            try:
                async with asyncio.timeout(left):
                    return Randomness(await self._beacon.signature(sealed.round))
            except ServiceFailed as error:
                problem = error.message
            except TimeoutError:
                problem = problem or f"no answer within {left:g} s"
            await asyncio.sleep(BEACON_PAUSE_SECONDS)
        log.warning("draw.beacon_away", round=sealed.round, error=problem)
        return Randomness(why_none=f"the beacon could not be asked: {problem}"[:300])

    async def _publish(self, queue: QueueId, opening: str, levels: list[list[bytes]], entries: list[Entry]) -> None:
        parts: dict[str, bytes] = {}

        async def write() -> None:
            await self._store.keep_draw(queue, opening, parts)
            parts.clear()

        for level, nodes in enumerate(levels):
            for index in range(parts_count(len(nodes), NODES_PER_PART)):
                first = index * NODES_PER_PART
                parts[tree_part(level, index)] = b"".join(nodes[first : first + NODES_PER_PART])
                await _when_full(parts, write)
        for index in range(parts_count(len(entries), ENTRIES_PER_PART)):
            first = index * ENTRIES_PER_PART
            parts[entries_part(index)] = pack_entries(entries[first : first + ENTRIES_PER_PART])
            await _when_full(parts, write)
        if parts:
            await write()

    async def _place(
        self, queue: QueueId, opening: str, members: list[Member], order: list[int], closed: Closed
    ) -> None:
        strict = closed.policy is PriorityPolicy.STRICT

        async def place(first: int) -> None:
            drawn = []
            for at, index in enumerate(order[first : first + STEP], first):
                number, level = members[index]
                turn = (closed.first_turn + at) * SPAN
                drawn.append(Drawn(number, turn - level * BAND if strict else turn, at + 1))
            await self._store.place_drawn(queue, opening, drawn)

        await _each(range(0, len(order), STEP), place)


async def _each(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do a piece of work for each item, a few at once. If one fails, the others end."""
    left = iter(items)

    async def some() -> None:
        for item in left:
            await work(item)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(some())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _when_full(parts: dict[str, bytes], write: Callable[[], Awaitable[None]]) -> None:
    if len(parts) >= PARTS_AT_ONCE:
        await write()


class Tree(NamedTuple):
    """The leaf of each member, the tree over all of them, and the hash of their priority levels."""

    leaves: list[bytes]
    levels: list[list[bytes]]
    levels_hash: bytes


def _tree(nonce_key: bytes, members: list[Member]) -> Tree:
    leaves = [leaf_of(str(number), nonce_of(nonce_key, number)) for number, _ in members]
    hashed = levels_hash(zip(leaves, (each.level for each in members), strict=True))
    return Tree(leaves, tree_levels(sorted(leaves)), hashed)


def _order(key: bytes, leaves: list[bytes], members: list[Member], closed: Closed) -> tuple[list[Entry], list[int]]:
    """The entries as they are published, and the indices of the members, in the order drawn."""
    values = [value_of(key, leaf) for leaf in leaves]
    order = drawn_order([level for _, level in members], values, closed.policy, closed.skip)
    return [Entry(leaves[index], values[index], members[index].level) for index in order], order
