"""Small charts: axes with round ends, gaps where there is nothing, and a single value that can be seen."""

from __future__ import annotations

import pytest

from fairline.web.admin.charts import HEIGHT, WIDTH, chart, nice


@pytest.mark.parametrize(
    ("most", "end"), [(0, 2), (1, 2), (3, 3), (7, 8), (10, 10), (11, 12), (101, 120), (4999, 5000), (9001, 10_000)]
)
def test_an_axis_ends_at_a_round_number(most: float, end: float) -> None:
    assert nice(most) == end


def test_a_line_goes_from_edge_to_edge_and_has_gaps() -> None:
    (line,) = chart("t", "u", [("n", "first", [0, 10, None, 5, None])], list("abcde")).lines
    assert line.path == f"M0.0 {HEIGHT:.1f} L160.0 0.0 M477.0 75.0 L483.0 75.0"
    assert line.area.count("Z") == 2


def test_a_handful_of_moments_is_written_below() -> None:
    made = chart("t", "u", [("n", "first", list(range(60)))], [f"{minute:02}" for minute in range(60)])
    assert [tick.label for tick in made.alongs] == ["00", "15", "30", "44", "59"]
    assert (made.alongs[0].at, made.alongs[-1].at) == (0, WIDTH)
    assert [tick.label for tick in made.ups] == ["0", "30", "60"]
    assert [tick.label for tick in chart("t", "u", [("n", "first", [1])], ["a"]).alongs] == ["a"]
