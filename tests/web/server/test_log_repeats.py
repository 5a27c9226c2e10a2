"""Lines of the log that anybody could cause without end: the first is written, the others are counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairline.web.server.log_repeats import MOST_KINDS, SECONDS, Repeats


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def repeats(clock: Clock) -> Repeats:
    return Repeats(clock)


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with capture_logs() as captured:
        yield captured


def test_the_first_is_written_and_the_others_are_told_when_its_minute_is_over(
    repeats: Repeats, clock: Clock, lines: list[Any]
) -> None:
    wanted = [repeats.is_first("rate_limit.hit", queue="sale", who="address") for _ in range(10_000)]
    assert wanted == [True] + [False] * 9_999
    assert repeats.is_first("rate_limit.hit", queue="sale", who="phone")
    assert repeats.is_first("rate_limit.hit", queue="desk", who="address")
    clock.now += SECONDS - 1
    repeats.write()
    assert lines == []
    clock.now += 1
    repeats.write()
    (line,) = lines
    assert line == {
        "event": "log.repeated",
        "log_level": "info",
        "of": "rate_limit.hit",
        "queue": "sale",
        "who": "address",
        "times": 9_999,
        "seconds": SECONDS,
    }
    assert repeats.is_first("rate_limit.hit", queue="sale", who="address")


def test_one_that_comes_after_its_minute_begins_a_new_one(repeats: Repeats, clock: Clock, lines: list[Any]) -> None:
    assert [repeats.is_first("http.store_trouble") for _ in range(3)] == [True, False, False]
    clock.now += SECONDS
    assert [repeats.is_first("http.store_trouble") for _ in range(2)] == [True, False]
    assert [line["times"] for line in lines] == [2]
    repeats.write(everything=True)
    assert [line["times"] for line in lines] == [2, 1]


def test_a_stranger_cannot_make_up_kinds_without_end(repeats: Repeats, lines: list[Any]) -> None:
    written = sum(repeats.is_first("rate_limit.hit", queue=f"made-up-{n}") for n in range(10_000))
    assert written == MOST_KINDS + 1
    repeats.write(everything=True)
    (line,) = lines
    assert (line["of"], line["times"]) == ("rate_limit.hit", 10_000 - written)
    assert "queue" not in line
