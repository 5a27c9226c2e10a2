"""The order of the line, by itself: what every store is tested against must keep the promises of fairness.md."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairline.domain.order import BAND, LEVELS, SPAN, PriorityPolicy
from tests.model.order import Order, place_of, turn_of

SHARES = (0.0, 0.1, 0.5, 1.0)
SKIP, STRICT = PriorityPolicy.SKIP, PriorityPolicy.STRICT


@dataclass
class Line:
    """People who wait, by place: level and count of each."""

    order: Order = field(default_factory=Order)
    shares: Sequence[float] = SHARES
    places: list[float] = field(default_factory=list)
    who: dict[float, tuple[int, int]] = field(default_factory=dict)

    def join(self, level: int, policy: PriorityPolicy = SKIP) -> tuple[float, list[int]]:
        """Someone comes; answers their place and the levels of those they went ahead of."""
        place = self.order.next_place(self.places, level, policy, self.shares)
        assert place not in self.who, "no two share a place"
        passed = [self.who[other][0] for other in self.places[bisect(self.places, place) :]]
        insort(self.places, place)
        self.who[place] = (level, self.order.count)
        return place, passed

    def remove(self, rank: int) -> None:
        """Someone is let in, or leaves."""
        del self.who[self.places.pop(rank)]

    def levels(self) -> list[int]:
        return [self.who[place][0] for place in self.places]

    def counts(self, level: int) -> list[int]:
        """When those of a level came, in the order of the line."""
        return [count for at, count in (self.who[place] for place in self.places) if at == level]


#: A level joins, or (below 0) the person at that share of the line goes.
histories = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 3]) | st.floats(-1, -0.001), max_size=120)
shares = st.tuples(st.just(0.0), *[st.floats(0, 1)] * 3).map(lambda given: tuple(sorted(given)))


def play(line: Line, history: Sequence[float], policy: PriorityPolicy = SKIP) -> None:
    for what in history:
        if what >= 0:
            waiting = len(line.places)
            _, passed = line.join(int(what), policy)
            assert all(level < what for level in passed), "nobody overtakes an equal or a higher level"
            if policy is SKIP:
                assert len(passed) <= math.floor(line.shares[int(what)] * waiting), "no more than was promised"
        elif line.places:
            line.remove(int(-what * (len(line.places) - 1)))


@given(histories, shares)
def test_skip_keeps_its_promises_in_any_history(history: list[float], given_shares: tuple[float, ...]) -> None:
    line = Line(shares=given_shares)
    play(line, history)
    for level in LEVELS:
        assert line.counts(level) == sorted(line.counts(level)), "first come, first served within a level"


@given(histories)
def test_strict_lets_in_level_by_level_and_each_in_the_order_they_came(history: list[float]) -> None:
    line = Line()
    play(line, history, STRICT)
    assert line.levels() == sorted(line.levels(), reverse=True)
    for level in LEVELS:
        assert line.counts(level) == sorted(line.counts(level))


@given(histories, histories)
def test_promises_hold_after_a_change_from_strict_to_skip(before: list[float], after: list[float]) -> None:
    line = Line()
    play(line, before, STRICT)
    play(line, after, SKIP)
    for level in LEVELS:
        assert line.counts(level) == sorted(line.counts(level))


@given(histories, histories, histories)
def test_no_two_share_a_place_however_often_the_policy_changes(
    one: list[float], two: list[float], three: list[float]
) -> None:
    line = Line()
    for policy, history in ((SKIP, one), (STRICT, two), (SKIP, three)):
        for what in history:
            if what >= 0:
                line.join(int(what), policy)
            elif line.places:
                line.remove(int(-what * (len(line.places) - 1)))


@pytest.mark.parametrize(("level", "ahead"), [(0, 100), (1, 90), (2, 50), (3, 0)])
def test_a_level_goes_ahead_of_exactly_its_share_of_those_without_one(level: int, ahead: int) -> None:
    line = Line()
    for _ in range(100):
        line.join(0)
    place, _ = line.join(level)
    assert line.places.index(place) == ahead


def test_no_one_is_passed_who_shares_a_turn_with_the_last_to_stay_ahead() -> None:
    line = Line(shares=(0, 0.5, 0.5, 1))
    play(line, [0] * 10 + [1] * 4 + [2])
    assert line.levels() == [0] * 5 + [1] * 4 + [2] + [0] * 5


def test_the_example_of_the_documentation() -> None:
    line = Line()
    for level in [0] * 10 + [1, 2, 1, 3, 3]:
        line.join(level)
    counts = [line.who[place][1] for place in line.places]
    assert counts == [14, 15, 1, 2, 3, 4, 5, 6, 12, 7, 8, 9, 11, 13, 10]


def test_an_empty_line_gives_everyone_their_own_turn() -> None:
    for level in LEVELS:
        line = Line()
        place, _ = line.join(level)
        assert place == place_of(1, 1) == SPAN


def near(count: int) -> Line:
    """A line after this many joins, when most people have gone."""
    line = Line()
    line.order.count = count
    return line


@given(histories)
def test_skip_is_exact_near_half_a_billion_joins(history: list[float]) -> None:
    line = near(2**29 - 200)
    play(line, history)
    for place in line.places:
        assert place.is_integer()
        assert abs(place) < 2**53
        assert turn_of(place) * SPAN <= place < (turn_of(place) + 1) * SPAN


@given(histories)
def test_strict_is_exact_near_134_million_joins(history: list[float]) -> None:
    line = near(2**27 - 200)
    play(line, history, STRICT)
    assert line.levels() == sorted(line.levels(), reverse=True)
    for place, (level, count) in line.who.items():
        assert place == count * SPAN - level * BAND  # in integers, so exactly
        assert abs(place) < 2**53


def test_levels_keep_apart_at_the_ends_of_their_bands() -> None:
    """The first of a level stands behind the last of the next higher one, 134 million joins apart."""
    last_of = [near(2**27 - 2).join(level, STRICT)[0] for level in LEVELS]
    first_of = [Line().join(level, STRICT)[0] for level in LEVELS]
    for level in (1, 2, 3):
        assert last_of[level] < first_of[level - 1]


def test_those_who_share_a_turn_for_very_long_still_stand_in_the_order_they_came() -> None:
    """Someone waits at the head while more come than a turn has places."""
    line = Line()
    line.join(0)
    seen = []
    for ahead in (0, SPAN - 10, SPAN - 2, SPAN - 1, SPAN, SPAN + 1, 2 * SPAN):
        line.order.count = max(line.order.count, ahead)
        seen += [line.join(3)[0], line.join(3)[0]]
    assert seen == sorted(set(seen))


def test_places_within_a_turn_run_out_without_two_sharing_the_last() -> None:
    """After a change from strict, turns of long ago are full: who would share the last place takes a later turn."""
    line = Line()
    for _ in range(10):
        line.join(1, STRICT)
    for level in [1] * 12 + [2, 2, 3, 1, 2, 3, 3]:
        _, passed = line.join(level)
        assert all(other < level for other in passed)
