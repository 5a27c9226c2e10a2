"""What the store keeps of a draw, as named parts. The keeper writes them (`keeper/drawing.py`), and `draws.py` reads
them.

| part | what it is | since when |
|---|---|---|
| `sealed` | the secret, the key of the nonces, the round of the beacon | the pre-queue opens |
| `members:0`… | the number and the level of each member | the pre-queue closes |
| `closed` | the root, a hash over the levels, the count, the policy of levels | the same, before the round appears |
| `randomness` | the signature of the round, or why there is none | the round has appeared |
| `tree:0:0`… | the nodes of the tree, level by level | before the order is in force |
| `entries:0`… | leaf, value and level of each member in the order drawn | before the order is in force |
| `drawn` | when the order was drawn | all of it is written |

`sealed`, `closed`, `randomness` and `drawn` are never changed once they are there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from fairline.domain.drand import randomness_of as randomness_of_round
from fairline.domain.draw import HASH_SIZE, Entry, Member
from fairline.domain.order import PriorityPolicy

#: How many members, nodes and entries are in one part.
MEMBERS_PER_PART = 1000
NODES_PER_PART = 128
ENTRIES_PER_PART = 500

_MEMBER = struct.Struct("<QB")
_ENTRY = struct.Struct(f"{HASH_SIZE}s{HASH_SIZE}sB")


class Sealed(Struct, frozen=True):
    """What is decided before anyone has joined."""

    secret: bytes
    nonce_key: bytes
    round: int | None = None
    """The round of the beacon; None where the secret decides alone."""
    chain: str | None = None


class Closed(Struct, frozen=True):
    """What is decided when the pre-queue closes."""

    root: bytes
    levels_hash: bytes
    count: int
    first_turn: int
    at: int
    """When that was, in milliseconds since 1970."""
    policy: PriorityPolicy
    skip: tuple[float, ...]


class Randomness(Struct, frozen=True):
    """What the beacon said."""

    signature: bytes | None = None
    """The signature of the round, from which the randomness is made."""
    why_none: str = ""
    """Why there is no randomness; empty where none was to be had."""

    @property
    def value(self) -> bytes | None:
        """The randomness of the round."""
        return None if self.signature is None else randomness_of_round(self.signature)


class DrawnAt(Struct, frozen=True):
    """When the order was drawn, in milliseconds since 1970."""

    at: int


encode = msgspec.json.encode
sealed_of = msgspec.json.Decoder(Sealed).decode
closed_of = msgspec.json.Decoder(Closed).decode
randomness_of = msgspec.json.Decoder(Randomness).decode
drawn_at_of = msgspec.json.Decoder(DrawnAt).decode


def parts_count(size: int, per_part: int) -> int:
    """How many parts a list of this size takes."""
    return -(-size // per_part)


def members_part(index: int) -> str:
    """The name of a part with members."""
    return f"members:{index}"


def tree_part(level: int, index: int) -> str:
    """The name of a part with nodes of one level of the tree."""
    return f"tree:{level}:{index}"


def entries_part(index: int) -> str:
    """The name of a part with entries."""
    return f"entries:{index}"


def pack_members(members: Sequence[Member]) -> bytes:
    """Members as one part."""
    return b"".join(_MEMBER.pack(*each) for each in members)


def unpack_members(part: bytes) -> Iterator[Member]:
    """The members in a part."""
    return map(Member._make, _MEMBER.iter_unpack(part))


def pack_entries(entries: Sequence[Entry]) -> bytes:
    """Entries as one part."""
    return b"".join(_ENTRY.pack(*each) for each in entries)


def unpack_entries(part: bytes) -> Iterator[Entry]:
    """The entries in a part."""
    return map(Entry._make, _ENTRY.iter_unpack(part))


def unpack_nodes(part: bytes) -> list[bytes]:
    """The nodes in a part."""
    return [part[at : at + HASH_SIZE] for at in range(0, len(part), HASH_SIZE)]
