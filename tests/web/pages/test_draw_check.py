"""The check of the page of a draw, in node: it agrees with the draw of the server, and finds whatever was changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from importlib.resources import files
from typing import Any

import pytest

from fairline.domain.draw import (
    commitment,
    draw_key,
    drawn_order,
    leaf_of,
    levels_hash,
    nonce_of,
    path_nodes,
    root_of,
    tree_levels,
    value_of,
)
from fairline.domain.order import PriorityPolicy

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")

SKIP = (0.0, 0.1, 0.5, 1.0)
CHECKS = ["scheme", "commitment", "count", "root", "levels", "randomness", "values", "order"]
OF_RECEIPT = ["draw", "leaf", "path", "value", "rank"]
_SCRIPT = """
const { check } = await import(process.argv[1]);
let text = "";
for await (const part of process.stdin) text += part;
const wrong = [];
for (const file of JSON.parse(text))
  wrong.push((await check(file)).map(({ name, ok }) => [name, ok]));
console.log(JSON.stringify(wrong));
"""


def file_of(count: int, policy: str = "skip", signature: bytes = b"", holder: int = 1) -> dict[str, Any]:
    """The file of a draw with `count` members, of all levels in turn; `holder` has the receipt."""
    randomness = sha256(signature).digest() if signature else None
    secret, nonce_key = sha256(b"secret").digest(), sha256(b"nonces").digest()
    numbers = range(1, count + 1)
    leaves = [leaf_of(str(number), nonce_of(nonce_key, number)) for number in numbers]
    tree = tree_levels(sorted(leaves))
    key = draw_key(secret, randomness or b"", root_of(tree))
    values, levels = [value_of(key, leaf) for leaf in leaves], [number % 7 % 4 for number in numbers]
    order = drawn_order(levels, values, PriorityPolicy(policy), SKIP)
    draw = {
        "id": "sale.night",
        "scheme": "fairline-draw-1",
        "commitment": commitment(secret).hex(),
        "root": root_of(tree).hex(),
        "levels_hash": levels_hash(zip(leaves, levels, strict=True)).hex(),
        "count": count,
        "round": 7 if randomness else None,
        "chain": "c" if randomness else None,
        "randomness": randomness.hex() if randomness else None,
        "signature": signature.hex() or None,
        "randomness_missing": None,
        "secret": secret.hex(),
        "priority_policy": policy,
        "priority_skip": SKIP,
    }
    file: dict[str, Any] = {
        "draw": draw,
        "entries": [[leaves[at].hex(), values[at].hex(), levels[at]] for at in order],
    }
    if count:
        at = holder - 1
        path = path_nodes(sorted(leaves).index(leaves[at]), count)
        file["receipt"] = {
            "draw": "sale.night",
            "label": str(holder),
            "nonce": nonce_of(nonce_key, holder).hex(),
            "leaf": leaves[at].hex(),
            "path": [[side, tree[node.level][node.at].hex()] for side, node in path],
            "value": values[at].hex(),
            "level": levels[at],
            "rank": order.index(at) + 1,
            "count": count,
        }
    return file


def checked(*given: dict[str, Any]) -> list[list[tuple[str, bool]]]:
    """What the check says of some files."""
    module = str(files("fairline.web.pages") / "static" / "draw-check.js")
    command = [NODE or "", "--input-type=module", "-e", _SCRIPT, module]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=120, check=True)
    return [[(name, ok) for name, ok in each] for each in json.loads(done.stdout)]


def wrong(results: list[tuple[str, bool]]) -> set[str]:
    return {name for name, ok in results if not ok}


def test_draws_of_any_size_policy_and_source_are_right() -> None:
    sizes = [0, 1, 2, 3, 4, 5, 7, 8, 9, 33, 257]
    given = [file_of(size, policy) for size in sizes for policy in PriorityPolicy]
    given.append(file_of(20, signature=b"round", holder=20))
    for file, results in zip(given, checked(*given), strict=True):
        assert wrong(results) == set(), file["draw"]
        assert [name for name, _ in results] == CHECKS + (OF_RECEIPT if "receipt" in file else [])


def test_whatever_was_changed_is_found() -> None:
    other = sha256(b"other").hexdigest()
    changes: list[tuple[str, str, Any]] = []

    def change(fails: str, path: list[Any], value: Any) -> None:
        file = file_of(40, signature=b"round")
        place = file
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value(place[path[-1]]) if callable(value) else value
        changes.append((fails, str(path), file))

    change("scheme", ["draw", "scheme"], "fairline-draw-2")
    change("randomness", ["draw", "round"], None)
    change("randomness", ["draw", "randomness"], None)
    change("randomness", ["draw", "signature"], other)
    change("randomness", ["draw", "signature"], None)
    change("commitment", ["draw", "commitment"], other)
    change("commitment", ["draw", "secret"], other)
    change("values", ["draw", "randomness"], other)
    change("count", ["draw", "count"], 41)
    change("count", ["entries"], lambda entries: entries[:-1])
    change("count", ["entries"], lambda entries: [*entries[:-1], entries[0]])
    change("root", ["draw", "root"], other)
    change("root", ["entries", 5, 0], other)
    change("values", ["entries", 5, 1], other)
    change("order", ["entries"], lambda entries: [entries[1], entries[0], *entries[2:]])
    change("levels", ["draw", "levels_hash"], other)
    change("levels", ["entries", 0, 2], lambda level: (level + 1) % 4)
    change("order", ["entries", 0, 2], lambda level: (level + 1) % 4)
    change("order", ["draw", "priority_policy"], "strict")
    change("draw", ["receipt", "draw"], "sale.other")
    change("draw", ["receipt", "count"], 41)
    change("leaf", ["receipt", "label"], "2")
    change("leaf", ["receipt", "nonce"], other[:32])
    change("path", ["receipt", "path", 0, 1], other)
    change("path", ["receipt", "path", 0, 0], lambda side: "left" if side == "right" else "right")
    change("value", ["receipt", "value"], other)
    change("rank", ["receipt", "rank"], lambda rank: rank % 40 + 1)
    change("rank", ["receipt", "level"], lambda level: (level + 1) % 4)
    change("count", ["entries", 3], "no entry")
    results = checked(*(file for _, _, file in changes))
    for (fails, path, _), found in zip(changes, results, strict=True):
        assert fails in wrong(found), (path, found)
