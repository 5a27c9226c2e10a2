"""The draw *fairline-draw-1*: leaves, the Merkle tree over them, values, the order, and how all of it is checked.

Before the pre-queue closes nobody can know the order, and afterwards anyone can check it:

- when the pre-queue opens, SHA-256 of a secret is published, and which round of public randomness will be used;
- when it closes, the root of a tree over all members is published: nobody can be added or taken out any more. So is a
  hash over their levels, which decide who goes ahead;
- then the round appears. A key is made from the secret, the randomness and the root, and from the key a value for each
  member. The values decide the order.

`nonce` keeps strangers from finding a person's leaf by trying all numbers.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple

from fairline.domain.order import LEVELS, PriorityPolicy

SCHEME = "fairline-draw-1"
HASH_SIZE = 32
_LEVEL_BYTES = [bytes([level]) for level in LEVELS]
NONCE_SIZE = 16

Side = Literal["left", "right"]


class Member(NamedTuple):
    """Someone in a draw: the number of the ticket, and its priority level."""

    number: int
    level: int


class Entry(NamedTuple):
    """Someone in the order that was drawn, as it is published."""

    leaf: bytes
    value: bytes
    level: int


class Node(NamedTuple):
    """A node of the tree: its level, from the leaves at 0, and which one it is there, from 0."""

    level: int
    at: int


def commitment(secret: bytes) -> bytes:
    """What is published of the secret before the draw."""
    return sha256(secret).digest()


def nonce_of(nonce_key: bytes, number: int) -> bytes:
    """The nonce of a ticket."""
    return hmac.digest(nonce_key, b"%d" % number, "sha256")[:NONCE_SIZE]


def leaf_of(label: str, nonce: bytes) -> bytes:
    """The leaf of a member."""
    return sha256(b"\x00" + label.encode() + b"\x00" + nonce).digest()


def tree_levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """The levels of the tree over leaves in ascending order, from these to the root: each node is made from two of the
    level below, and a last one without a neighbour goes up as it is. This is the tree of RFC 6962."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        pairs = zip(below[::2], below[1::2], strict=False)
        above = [sha256(b"\x01" + left + right).digest() for left, right in pairs]
        if len(below) % 2:
            above.append(below[-1])
        levels.append(above)
    return levels


def root_of(levels: Sequence[Sequence[bytes]]) -> bytes:
    """The root of a tree. The root over nobody is the hash of nothing, as in RFC 6962."""
    return levels[-1][0] if levels[0] else sha256(b"").digest()


def levels_hash(levels: Iterable[tuple[bytes, int]]) -> bytes:
    """What is published with the root, so that no level can be changed afterwards: SHA-256 over each leaf followed by
    its level as one byte, with the leaves in ascending order."""
    return sha256(b"".join(sorted(leaf + _LEVEL_BYTES[level] for leaf, level in levels))).digest()


def path_nodes(index: int, count: int) -> list[tuple[Side, Node]]:
    """The nodes that lead from a leaf to the root, and on which side each of them is."""
    nodes: list[tuple[Side, Node]] = []
    level = 0
    while count > 1:
        sibling = index ^ 1
        if sibling < count:
            nodes.append(("left" if sibling < index else "right", Node(level, sibling)))
        index, count, level = index // 2, (count + 1) // 2, level + 1
    return nodes


def root_by_path(leaf: bytes, path: Sequence[tuple[str, bytes]]) -> bytes:
    """The root to which a path leads from a leaf."""
    found = leaf
    for side, sibling in path:
        found = sha256(b"\x01" + (sibling + found if side == "left" else found + sibling)).digest()
    return found


def draw_key(secret: bytes, randomness: bytes, root: bytes) -> bytes:
    """The key from which the values are made: HKDF-Extract."""
    return hmac.digest(secret, randomness + root, "sha256")


def value_of(key: bytes, leaf: bytes) -> bytes:
    """The value of a leaf: HKDF-Expand, of which the first block is all."""
    return hmac.digest(key, leaf + b"\x01", "sha256")


def drawn_order(
    levels: Sequence[int], values: Sequence[bytes], policy: PriorityPolicy, skip: Sequence[float]
) -> list[int]:
    """The indices of the members in the order drawn. Within a level the lower value is first. Under `strict`, higher
    levels are first. Under `skip`, each level in turn goes ahead of its share of those with lower levels."""
    order: list[int] = []
    for level in LEVELS:
        members = sorted((i for i, each in enumerate(levels) if each == level), key=values.__getitem__)
        share = 1.0 if policy is PriorityPolicy.STRICT else skip[level]
        at = len(order) - int(share * len(order))
        order[at:at] = members
    return order
