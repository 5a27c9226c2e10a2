"""Checks a draw from what is published of it, without the server that made it: every step from the commitment to the
order, and the receipt of one person. `docs/explanation/draws.md` says what each check proves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fairline.domain.drand import INSTALL, QUICKNET, can_check_signatures, has_signed, randomness_of
from fairline.domain.draw import (
    HASH_SIZE,
    NONCE_SIZE,
    SCHEME,
    Entry,
    Side,
    commitment,
    draw_key,
    drawn_order,
    leaf_of,
    levels_hash,
    root_by_path,
    root_of,
    tree_levels,
    value_of,
)
from fairline.domain.order import LEVELS, PriorityPolicy
from fairline.errors import UnreadableDraw

Hash = Annotated[str, Meta(pattern=f"^[0-9a-f]{{{2 * HASH_SIZE}}}$")]
Nonce = Annotated[str, Meta(pattern=f"^[0-9a-f]{{{2 * NONCE_SIZE}}}$")]
Hex = Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]
Level = Annotated[int, Meta(ge=min(LEVELS), le=max(LEVELS))]
#: How many of those that are wrong are named.
NAMED = 5


class PublishedDraw(Struct, frozen=True):
    """The answer of `GET /api/v1/draws/{id}`."""

    id: str
    scheme: str
    commitment: Hash
    root: Hash | None = None
    levels_hash: Hash | None = None
    count: int | None = None
    round: Annotated[int, Meta(ge=1)] | None = None
    chain: str | None = None
    randomness: Hash | None = None
    signature: Hex | None = None
    randomness_missing: str | None = None
    secret: Hash | None = None
    priority_policy: PriorityPolicy | None = None
    priority_skip: tuple[float, float, float, float] | None = None


class ReceiptFile(Struct, frozen=True):
    """The answer of `GET /api/v1/draw/receipt`."""

    draw: str
    label: str
    nonce: Nonce
    leaf: Hash
    path: list[tuple[Side, Hash]]
    value: Hash
    level: int
    rank: int
    count: int


class DrawFile(Struct, frozen=True):
    """All that is needed to check a draw."""

    draw: PublishedDraw
    entries: list[tuple[Hash, Hash, Level]]
    """The leaf, the value and the level of everyone, in the order drawn."""
    receipt: ReceiptFile | None = None


class Check(Struct, frozen=True):
    """One check: its name, whether it passed, and what was found. It is None if it could not be made here."""

    name: str
    passed: bool | None
    found: str


def read_draw_file(content: bytes) -> DrawFile:
    """Read a file with a draw, or raise UnreadableDraw."""
    try:
        found = msgspec.json.decode(content, type=DrawFile)
    except ValueError as error:  # includes what is not UTF-8
        raise UnreadableDraw(f"This is not the file of a draw: {error}") from None
    if found.draw.secret is None:
        raise UnreadableDraw("The order had not been drawn yet when this file was made. Fetch it again after the draw.")
    return found


def check_draw(file: DrawFile, chain_key: str | None = None) -> list[Check]:
    """Check a draw. `chain_key` is the public key of its chain, in hex, if that is not quicknet."""
    return [*_checks(file, chain_key)]


def is_refused(checks: Iterable[Check]) -> bool:
    """Whether a check has failed."""
    return any(check.passed is False for check in checks)


def _checks(file: DrawFile, chain_key: str | None) -> Iterator[Check]:
    draw = file.draw
    entries = [Entry(bytes.fromhex(leaf), bytes.fromhex(value), level) for leaf, value, level in file.entries]
    leaves = [entry.leaf for entry in entries]
    secret, root = bytes.fromhex(draw.secret or ""), bytes.fromhex(draw.root or "")
    randomness = bytes.fromhex(draw.randomness or "")
    yield _same("scheme", draw.scheme, SCHEME, "the scheme is {}", "the scheme is {}, and this checks {}")
    yield _check(
        "commitment",
        commitment(secret).hex() == draw.commitment,
        "the secret is the one that was committed to before anyone joined",
        "the secret is not the one that was committed to before anyone joined",
    )
    yield _same("count", len(entries), draw.count, "{:,} people are in the list", "{:,} are in the list, not {}")
    twice = len(leaves) - len(set(leaves))
    yield _check("leaves", not twice, "no leaf is there twice", f"{twice:,} leaves are there more than once")
    yield _check(
        "root",
        root_of(tree_levels(sorted(leaves))) == root,
        "the list is the one whose root was published at the close",
        "the list is not the one whose root was published at the close",
    )
    levels = levels_hash((entry.leaf, entry.level) for entry in entries).hex()
    yield _check(
        "levels",
        levels == draw.levels_hash,
        "the levels are those that were fixed at the close",
        "the levels are not those that were fixed at the close",
    )
    yield from _randomness(draw, chain_key)
    key = draw_key(secret, randomness, root)
    wrong = [at for at, entry in enumerate(entries) if value_of(key, entry.leaf) != entry.value]
    yield _check(
        "key",
        not entries or len(wrong) < len(entries),
        "the values were made from the secret, the randomness and the root",
        "no value was made from this secret, randomness and root",
    )
    yield _check("values", not wrong, "each value is that of its leaf", f"wrong values: {_ranks(wrong)}")
    yield from _order(draw, entries)
    if file.receipt is not None:
        yield from _receipt(file.receipt, draw, entries, root, key)


def _randomness(draw: PublishedDraw, chain_key: str | None) -> Iterator[Check]:
    name = "randomness"
    if draw.round is None:
        bare = draw.randomness is None and draw.signature is None
        yield _check(name, bare, "none was to be used: the secret decides alone", "it names no round")
        return
    if draw.randomness is None:
        why = draw.randomness_missing or ""
        found = f"none could be had, so the secret decided alone: {why}"
        yield _check(name, bool(why) and draw.signature is None, found, "it is missing, and nothing says why")
        return
    signature = bytes.fromhex(draw.signature or "")
    yield _check(
        name,
        randomness_of(signature).hex() == draw.randomness and bool(signature),
        "it is the SHA-256 of the signature",
        "it is not the SHA-256 of the signature",
    )
    name, is_quicknet = "signature", draw.chain == QUICKNET.id
    key = chain_key or (QUICKNET.public_key if is_quicknet else None)
    if key is None:
        yield Check(name, None, f"the public key of the chain {draw.chain} is not known here: give it with --chain-key")
    elif not can_check_signatures():
        yield Check(name, None, f"this needs the extra that checks signatures: {INSTALL}")
    else:
        at = f", at {_time_of(draw.round)}" if is_quicknet else ""
        yield _check(
            name,
            has_signed(key, draw.round, signature),
            f"the chain has published it in round {draw.round:,}{at}",
            f"the chain has not published it in round {draw.round:,}",
        )


def _time_of(number: int) -> str:
    return f"{datetime.fromtimestamp(QUICKNET.appears_at(number) / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _order(draw: PublishedDraw, entries: Sequence[Entry]) -> Iterator[Check]:
    wrong = []
    for level in LEVELS:
        own = [(at, entry.value) for at, entry in enumerate(entries) if entry.level == level]
        wrong += [at for (_, before), (at, value) in pairwise(own) if before > value]
    found = f"out of order: {_ranks(sorted(wrong))}"
    yield _check("order", not wrong, "within each level the lower value is first", found)
    if draw.priority_policy is None or draw.priority_skip is None:
        yield Check("policy", False, "the policy of the levels is missing")
        return
    levels, values = [entry.level for entry in entries], [entry.value for entry in entries]
    order = drawn_order(levels, values, draw.priority_policy, draw.priority_skip)
    moved = [at for at, index in enumerate(order) if levels[index] != levels[at]]
    found = f"levels in the wrong place: {_ranks(moved)}"
    yield _check("policy", not moved, "higher levels are ahead as the policy of the queue says", found)


def _receipt(
    receipt: ReceiptFile, draw: PublishedDraw, entries: Sequence[Entry], root: bytes, key: bytes
) -> Iterator[Check]:
    leaf = leaf_of(receipt.label, bytes.fromhex(receipt.nonce))
    yield _check(
        "receipt: leaf",
        leaf.hex() == receipt.leaf,
        f"the leaf is that of ticket {receipt.label}",
        f"the leaf is not that of ticket {receipt.label}",
    )
    path = [(side, bytes.fromhex(sibling)) for side, sibling in receipt.path]
    there = "the path leads from the leaf to the root"
    yield _check("receipt: path", root_by_path(leaf, path) == root, there, there.replace("leads", "does not lead"))
    value = value_of(key, leaf).hex()
    yield _check("receipt: value", value == receipt.value, "the value is right", f"the value is {value}")
    entry = entries[receipt.rank - 1] if 0 < receipt.rank <= len(entries) else None
    yield _check(
        "receipt: rank",
        entry is not None and entry.leaf == leaf,
        f"the ticket is number {receipt.rank:,} of the list",
        f"another ticket is number {receipt.rank:,} of the list",
    )
    level = next((each.level for each in entries if each.leaf == leaf), None)
    yield _same("receipt: level", receipt.level, level, "the level is {}", "the level is {}, and in the list {}")
    found = (receipt.draw, receipt.count)
    yield _same("receipt: draw", found, (draw.id, draw.count), "it is of this draw", "it is of another draw")


def _check(name: str, passed: bool, right: str, wrong: str) -> Check:
    return Check(name, passed, right if passed else wrong)


def _same(name: str, found: object, expected: object, right: str, wrong: str) -> Check:
    passed = found == expected
    return Check(name, passed, (right if passed else wrong).format(found, expected))


def _ranks(wrong: Sequence[int]) -> str:
    named = ", ".join(f"{at + 1:,}" for at in wrong[:NAMED])
    return f"number {named}" + (f" and {len(wrong) - NAMED:,} more" if len(wrong) > NAMED else "")
