"""The check of a draw: what is right passes, and whatever is changed is found, by the check that says what it was."""

from __future__ import annotations

import sys

import pytest

from fairline.domain.draw_check import Check, check_draw, is_refused, read_draw_file
from fairline.domain.order import PriorityPolicy
from fairline.errors import UnreadableDraw
from tests.drand import CHAIN, public_key, sign
from tests.draws.published import (
    CHANGES,
    CHANGES_WITH_ROUND,
    CHANGES_WITHOUT_ROUND,
    File,
    draw_file,
    tampered,
    written,
)

MIXED = [0, 0, 1, 0, 2, 0, 0, 3, 0, 1, 0, 0]


def checks_of(file: File, chain_key: str | None = None) -> dict[str, Check]:
    return {check.name: check for check in check_draw(read_draw_file(written(file)), chain_key)}


def wrong(file: File) -> set[str]:
    return {name for name, check in checks_of(file).items() if check.passed is False}


def test_a_right_draw_passes_every_check() -> None:
    for levels in ([], [0], [0, 0], [0] * 7, MIXED, [3, 2, 1] * 20, [0] * 300):
        for with_round, policy, skip in (
            (False, PriorityPolicy.STRICT, (0, 0.1, 0.5, 1)),
            (False, PriorityPolicy.SKIP, (0, 0, 0, 0)),
            (True, PriorityPolicy.SKIP, (0, 0.1, 0.5, 1)),
        ):
            receipt = len(levels) - 1 if levels else None
            file = draw_file(levels, with_round=with_round, policy=policy, skip=skip, receipt_of=receipt)
            checks = checks_of(file)
            assert all(check.passed for check in checks.values()), (levels, policy, checks)
            assert ("signature" in checks, "receipt: leaf" in checks) == (with_round, bool(levels))


def test_everyone_has_a_receipt_that_passes() -> None:
    for count in range(1, 18):
        for number in range(count):
            assert not wrong(draw_file([0] * count, with_round=False, receipt_of=number)), (count, number)


@pytest.mark.parametrize("with_round", [True, False])
def test_whatever_is_changed_is_found_by_the_check_that_names_it(with_round: bool) -> None:
    changes = CHANGES | (CHANGES_WITH_ROUND if with_round else CHANGES_WITHOUT_ROUND)
    file = draw_file(MIXED, with_round=with_round)
    for what, (change, name) in changes.items():
        found = wrong(tampered(file, change))
        assert name in found, (what, found)


def test_what_only_one_check_can_find_is_found_by_it_alone() -> None:
    file = draw_file(MIXED)
    for what, names in {
        "a value": {"values"},
        "the order": {"order"},
        "the count": {"count", "receipt: draw"},
        "the round": {"signature"},
        "the commitment": {"commitment"},
        "the scheme": {"scheme"},
        "the path of a receipt": {"receipt: path"},
        "the value of a receipt": {"receipt: value"},
        "the rank of a receipt": {"receipt: rank"},
        "the level of a receipt": {"receipt: level"},
    }.items():
        change, _ = (CHANGES | CHANGES_WITH_ROUND)[what]
        other = tampered(file, change)
        if what == "the order":  # the rank of the receipt may be that of one of the two
            del other["receipt"]
        assert wrong(other) == names, what


def test_an_operator_who_draws_again_is_found_wherever_the_new_draw_differs() -> None:
    first, second = draw_file(MIXED, seed=1), draw_file(MIXED, seed=2)
    for fields in (["commitment"], ["root"], ["levels_hash"], ["commitment", "root", "levels_hash"]):
        other = {**second, "draw": second["draw"] | {field: first["draw"][field] for field in fields}}
        assert wrong(other), fields


def test_people_of_a_level_that_were_put_ahead_are_found() -> None:
    file = draw_file([0] * 20 + [1] * 4, receipt_of=None)

    def ahead(file: File) -> None:
        file["entries"].sort(key=lambda entry: (-entry[2], entry[1]))

    assert wrong(tampered(file, ahead)) == {"policy"}
    assert wrong(tampered(file, lambda file: file["draw"].update(priority_policy="strict"))) == {"policy"}
    assert wrong(tampered(file, lambda file: file["draw"].update(priority_policy=None))) == {"policy"}


def test_a_round_of_another_chain_needs_its_key() -> None:
    file = draw_file(MIXED)
    file["draw"].update(chain=CHAIN.id, signature=sign(1000).hex())
    assert checks_of(file)["signature"].passed is None
    assert "--chain-key" in checks_of(file)["signature"].found
    assert checks_of(file, public_key())["signature"].passed
    assert checks_of(file, public_key(99))["signature"].passed is False


def test_without_the_extra_a_signature_is_said_not_to_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_ecc", None)
    checks = checks_of(draw_file(MIXED))
    assert checks["signature"].passed is None
    assert "fairline[beacon]" in checks["signature"].found
    assert not is_refused(checks.values())


def test_what_is_not_the_file_of_a_draw_is_said_to_be_none() -> None:
    file = draw_file(MIXED)
    for content in (
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"draw": {}, "entries": []}',
        written(tampered(file, lambda file: file["draw"].update(root="zz"))),
        written(tampered(file, lambda file: file["draw"].update(secret="00"))),
        written(tampered(file, lambda file: file["entries"].append(["00", "00", 0]))),
        written(tampered(file, lambda file: file["entries"][0].__setitem__(2, 4))),
        written(tampered(file, lambda file: file["receipt"].update(path=[["up", "00" * 32]]))),
    ):
        with pytest.raises(UnreadableDraw, match="This is not the file of a draw"):
            read_draw_file(content)
    early = tampered(file, lambda file: file["draw"].update(secret=None))
    with pytest.raises(UnreadableDraw, match="had not been drawn yet"):
        read_draw_file(written(early))
