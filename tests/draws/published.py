"""Files of draws as they are published, and what someone could change in one."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from fairline.domain.drand import QUICKNET, randomness_of
from fairline.domain.draw import (
    commitment,
    draw_key,
    drawn_order,
    leaf_of,
    levels_hash,
    path_nodes,
    root_of,
    tree_levels,
    value_of,
)
from fairline.domain.order import PriorityPolicy

File: TypeAlias = dict[str, Any]
#: Round 1,000 of quicknet, as it was published.
ROUND = 1000
SIGNATURE = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
SKIP = (0.0, 0.1, 0.5, 1.0)


def draw_file(
    levels: Sequence[int],
    *,
    with_round: bool = True,
    policy: PriorityPolicy = PriorityPolicy.SKIP,
    skip: Sequence[float] = SKIP,
    receipt_of: int | None = 0,
    seed: int = 1,
) -> File:
    """The file of a draw of people with these levels, with the receipt of one of them."""
    chance = random.Random(seed)
    secret, nonces = chance.randbytes(32), [chance.randbytes(16) for _ in levels]
    leaves = [leaf_of(str(number), nonce) for number, nonce in enumerate(nonces, 1)]
    tree = tree_levels(sorted(leaves))
    root = root_of(tree)
    randomness = randomness_of(bytes.fromhex(SIGNATURE)) if with_round else b""
    key = draw_key(secret, randomness, root)
    values = [value_of(key, leaf) for leaf in leaves]
    order = drawn_order(levels, values, policy, skip)
    draw = {
        "id": "sale.0123456789",
        "queue": "sale",
        "opening": "0123456789",
        "scheme": "fairline-draw-1",
        "commitment": commitment(secret).hex(),
        "root": root.hex(),
        "levels_hash": levels_hash(zip(leaves, levels, strict=True)).hex(),
        "count": len(levels),
        "round": ROUND if with_round else None,
        "chain": QUICKNET.id if with_round else None,
        "randomness": randomness.hex() if with_round else None,
        "signature": SIGNATURE if with_round else None,
        "randomness_missing": None,
        "secret": secret.hex(),
        "priority_policy": policy.value,
        "priority_skip": list(skip),
        "drawn_at": "2027-01-15T09:00:06Z",
        "entries_url": "https://wait.example/api/v1/draws/sale.0123456789/entries",
    }
    file: File = {"draw": draw, "entries": [[leaves[i].hex(), values[i].hex(), levels[i]] for i in order]}
    if receipt_of is not None:
        index = sorted(leaves).index(leaves[receipt_of])
        file["receipt"] = {
            "draw": draw["id"],
            "label": str(receipt_of + 1),
            "nonce": nonces[receipt_of].hex(),
            "leaf": leaves[receipt_of].hex(),
            "path": [[side, tree[node.level][node.at].hex()] for side, node in path_nodes(index, len(levels))],
            "value": values[receipt_of].hex(),
            "level": levels[receipt_of],
            "rank": order.index(receipt_of) + 1,
            "count": len(levels),
        }
    return file


def changed_hex(text: str) -> str:
    """Another hash of the same length."""
    return text[:-1] + ("0" if text[-1] != "0" else "1")


def tampered(file: File, change: Callable[[File], None]) -> File:
    """A copy of a file in which something was changed."""
    other: File = copy.deepcopy(file)
    change(other)
    assert other != file, "the change changed nothing"
    return other


def _leaf(file: File) -> None:
    file["entries"][2][0] = changed_hex(file["entries"][2][0])


def _value(file: File) -> None:
    # Still in order, so that only the value itself is wrong.
    before, after = file["entries"][1][1], file["entries"][3][1]
    file["entries"][2][1] = f"{(int(before, 16) + int(after, 16)) // 2:064x}"


def _order(file: File) -> None:
    entries = file["entries"]
    first = next(at for at in range(len(entries) - 1) if entries[at][2] == entries[at + 1][2])
    entries[first], entries[first + 1] = entries[first + 1], entries[first]


def _count(file: File) -> None:
    file["draw"]["count"] += 1


def _someone_left_out(file: File) -> None:
    del file["entries"][3]


def _someone_twice(file: File) -> None:
    file["entries"].insert(3, file["entries"][2])


def _secret(file: File) -> None:
    file["draw"]["secret"] = changed_hex(file["draw"]["secret"])


def _commitment(file: File) -> None:
    file["draw"]["commitment"] = changed_hex(file["draw"]["commitment"])


def _root(file: File) -> None:
    file["draw"]["root"] = changed_hex(file["draw"]["root"])


def _scheme(file: File) -> None:
    file["draw"]["scheme"] = "fairline-draw-0"


def _level(file: File) -> None:
    # The last one of all: with a level more they are still in the order of their level.
    ordinary = [entry for entry in file["entries"] if entry[2] == 0]
    ordinary[-1][2] = 1


def _receipt(field: str, value: Callable[[Any], Any]) -> Callable[[File], None]:
    def change(file: File) -> None:
        file["receipt"][field] = value(file["receipt"][field])

    return change


def _round(file: File) -> None:
    file["draw"]["round"] = (file["draw"]["round"] or 0) + 1


#: What can be changed in a file, and the check that finds it. Others may find it too.
CHANGES: dict[str, tuple[Callable[[File], None], str]] = {
    "a leaf": (_leaf, "root"),
    "a value": (_value, "values"),
    "the order": (_order, "order"),
    "the count": (_count, "count"),
    "someone left out": (_someone_left_out, "count"),
    "someone twice": (_someone_twice, "leaves"),
    "the secret": (_secret, "commitment"),
    "the commitment": (_commitment, "commitment"),
    "the root": (_root, "root"),
    "the scheme": (_scheme, "scheme"),
    "a level": (_level, "levels"),
    "the number of a receipt": (_receipt("label", lambda label: f"{label}1"), "receipt: leaf"),
    "the nonce of a receipt": (_receipt("nonce", changed_hex), "receipt: leaf"),
    "the leaf of a receipt": (_receipt("leaf", changed_hex), "receipt: leaf"),
    "the path of a receipt": (_receipt("path", lambda path: path[1:]), "receipt: path"),
    "the value of a receipt": (_receipt("value", changed_hex), "receipt: value"),
    "the rank of a receipt": (_receipt("rank", lambda rank: rank + 1 if rank == 1 else rank - 1), "receipt: rank"),
    "the level of a receipt": (_receipt("level", lambda level: level + 1), "receipt: level"),
    "the draw of a receipt": (_receipt("draw", lambda draw: f"{draw}0"), "receipt: draw"),
    "the count of a receipt": (_receipt("count", lambda count: count + 1), "receipt: draw"),
}
#: What can be changed only where there is a round: the round itself needs its signature to be checked.
CHANGES_WITH_ROUND: dict[str, tuple[Callable[[File], None], str]] = {
    "the round": (_round, "signature"),
    "the signature": (lambda file: file["draw"].update(signature=changed_hex(SIGNATURE)), "randomness"),
    "the randomness": (lambda file: file["draw"].update(randomness="00" * 32), "randomness"),
    "no signature": (lambda file: file["draw"].update(signature=None), "randomness"),
    "no randomness": (lambda file: file["draw"].update(randomness=None, signature=None), "randomness"),
    "no randomness, with a reason": (
        lambda file: file["draw"].update(randomness=None, signature=None, randomness_missing="it rained"),
        "key",
    ),
}
#: What can be changed only where there is none.
CHANGES_WITHOUT_ROUND: dict[str, tuple[Callable[[File], None], str]] = {
    "the round": (_round, "randomness"),
    "the randomness": (lambda file: file["draw"].update(randomness="00" * 32), "randomness"),
}


def written(file: File) -> bytes:
    return json.dumps(file).encode()
