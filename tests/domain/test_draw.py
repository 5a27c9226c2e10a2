"""The draw by itself: the tree is that of RFC 6962, every order is as likely as any other, and levels are honoured."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections.abc import Sequence

import pytest

from fairline.domain.draw import (
    commitment,
    draw_key,
    drawn_order,
    leaf_of,
    nonce_of,
    path_nodes,
    root_by_path,
    root_of,
    tree_levels,
    value_of,
)
from fairline.domain.order import PriorityPolicy

SKIP, STRICT = PriorityPolicy.SKIP, PriorityPolicy.STRICT
SHARES = (0.0, 0.1, 0.5, 1.0)


def leaves(count: int) -> list[bytes]:
    return sorted(hashlib.sha256(b"leaf %d" % n).digest() for n in range(count))


def naive_root(of: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1, over leaves that are hashes already."""
    if not of:
        return hashlib.sha256(b"").digest()
    if len(of) == 1:
        return of[0]
    split = 1
    while 2 * split < len(of):
        split *= 2
    return hashlib.sha256(b"\x01" + naive_root(of[:split]) + naive_root(of[split:])).digest()


def naive_path(index: int, of: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """PATH of RFC 6962, section 2.1.1."""
    if len(of) == 1:
        return []
    split = 1
    while 2 * split < len(of):
        split *= 2
    if index < split:
        return [*naive_path(index, of[:split]), ("right", naive_root(of[split:]))]
    return [*naive_path(index - split, of[split:]), ("left", naive_root(of[:split]))]


def test_the_root_is_that_of_rfc_6962() -> None:
    for count in range(71):
        assert root_of(tree_levels(leaves(count))) == naive_root(leaves(count)), count


def test_every_path_is_that_of_rfc_6962_and_leads_to_the_root() -> None:
    for count in range(1, 71):
        of = leaves(count)
        levels = tree_levels(of)
        for index in range(count):
            path = [(side, levels[node.level][node.at]) for side, node in path_nodes(index, count)]
            assert path == naive_path(index, of), (index, count)
            assert root_by_path(of[index], path) == root_of(levels), (index, count)


def test_a_path_leads_elsewhere_from_another_leaf_side_or_sibling() -> None:
    of = leaves(13)
    levels = tree_levels(of)
    path: list[tuple[str, bytes]] = [(side, levels[node.level][node.at]) for side, node in path_nodes(5, 13)]
    wrong = {"left": "right", "right": "left"}
    changed = [
        root_by_path(of[6], path),
        *(root_by_path(of[5], [*path[:n], (wrong[side], each), *path[n + 1 :]]) for n, (side, each) in enumerate(path)),
        *(root_by_path(of[5], [*path[:n], (side, of[0]), *path[n + 1 :]]) for n, (side, _) in enumerate(path)),
        root_by_path(of[5], path[:-1]),
    ]
    assert root_of(levels) not in changed


def test_hashes_are_those_of_the_scheme() -> None:
    """By hand, from the words of the scheme."""
    nonce, secret = bytes(range(16)), bytes(range(32))
    leaf = hashlib.sha256(b"\0" + b"17" + b"\0" + nonce).digest()
    assert leaf_of("17", nonce) == leaf
    assert commitment(secret) == hashlib.sha256(secret).digest()
    key = hmac.new(secret, b"randomness" + b"root", "sha256").digest()  # HKDF-Extract: the salt is the key of the HMAC
    assert draw_key(secret, b"randomness", b"root") == key
    assert value_of(key, leaf) == hmac.new(key, leaf + b"\x01", "sha256").digest()  # T(1) of HKDF-Expand


def test_the_nonce_of_a_number_is_always_the_same_and_no_other_has_it() -> None:
    nonces = [nonce_of(b"key", number) for number in range(1000)]
    assert nonces == [nonce_of(b"key", number) for number in range(1000)]
    assert len(set(nonces)) == 1000
    assert {len(each) for each in nonces} == {16}
    assert nonce_of(b"another", 1) not in nonces


def order_of(seed: int, count: int) -> list[int]:
    """A whole draw of this many people without levels: who stands at each place."""
    chance = random.Random(seed)
    of = [leaf_of(str(n), nonce_of(b"%d" % seed, n)) for n in range(count)]
    key = draw_key(chance.randbytes(32), chance.randbytes(32), root_of(tree_levels(sorted(of))))
    return drawn_order([0] * count, [value_of(key, each) for each in of], SKIP, SHARES)


def test_a_thousand_orders_of_fifty_are_uniform_over_places() -> None:
    draws, people = 1000, 50
    seen = [[0] * people for _ in range(people)]
    for seed in range(draws):
        for place, person in enumerate(order_of(seed, people)):
            seen[person][place] += 1
    expected = draws / people
    # Each person's places: 49 degrees of freedom, of which 85.4 is the 99.9 % point. All of them together: 49 · 49.
    each = [sum((count - expected) ** 2 / expected for count in places) for places in seen]
    assert max(each) < 99, "no person has lucky places"  # 1 in 50 000 for each of the 50
    freedom = (people - 1) ** 2
    assert abs(sum(each) - freedom) < 4 * (2 * freedom) ** 0.5, "neither too uneven nor too even"


def test_neither_coming_early_nor_a_low_number_helps() -> None:
    """The mean place of each person over a thousand draws is the middle."""
    draws, people = 1000, 50
    total = [0] * people
    for seed in range(draws):
        for place, person in enumerate(order_of(seed, people)):
            total[person] += place
    spread = ((people**2 - 1) / 12 / draws) ** 0.5
    assert all(abs(each / draws - (people - 1) / 2) < 4.5 * spread for each in total)
    assert abs(sum(total[:10]) / 10 / draws - (people - 1) / 2) < 4.5 * spread


def test_everyone_is_in_the_order_once() -> None:
    chance = random.Random(7)
    for count in (0, 1, 2, 3, 50, 301):
        levels = [chance.choice((0, 0, 0, 1, 2, 3)) for _ in range(count)]
        values = [chance.randbytes(32) for _ in range(count)]
        for policy in PriorityPolicy:
            assert sorted(drawn_order(levels, values, policy, SHARES)) == [*range(count)]


def test_within_a_level_the_lower_value_is_first() -> None:
    chance = random.Random(8)
    levels = [chance.choice((0, 0, 0, 1, 2, 3)) for _ in range(200)]
    values = [chance.randbytes(32) for _ in range(200)]
    for policy in PriorityPolicy:
        order = drawn_order(levels, values, policy, SHARES)
        for level in range(4):
            at_level = [values[i] for i in order if levels[i] == level]
            assert at_level == sorted(at_level), (policy, level)


def test_under_strict_higher_levels_are_first() -> None:
    order = drawn_order([0, 1, 0, 3, 2, 1], [b"%d" % n for n in range(6)], STRICT, SHARES)
    assert order == [3, 4, 1, 5, 0, 2]


@pytest.mark.parametrize(("level", "ahead"), [(1, 9), (2, 5), (3, 0)], ids=["a tenth", "a half", "all"])
def test_under_skip_a_level_goes_ahead_of_its_share_of_lower_ones(level: int, ahead: int) -> None:
    levels = [0] * 10 + [level] * 2
    order = drawn_order(levels, [b"%02d" % n for n in range(12)], SKIP, SHARES)
    assert order == [*range(ahead), 10, 11, *range(ahead, 10)]


def test_who_leaves_changes_nothing_in_the_order_of_the_others() -> None:
    """They are skipped: the value of each follows from their own leaf."""
    values = [hashlib.sha256(b"%d" % n).digest() for n in range(30)]
    whole = drawn_order([0] * 30, values, SKIP, SHARES)
    kept = [n for n in range(30) if n % 4]
    order = drawn_order([0] * len(kept), [values[n] for n in kept], SKIP, SHARES)
    assert [kept[i] for i in order] == [n for n in whole if n % 4]
