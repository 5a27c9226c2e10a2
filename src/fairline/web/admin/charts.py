"""Small SVG charts: the paths and labels are computed here, and a template draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

#: The size of the plotting area. The labels are to the left of it and below.
WIDTH, HEIGHT = 640, 150

Values = Sequence[float | None]


class Tick(NamedTuple):
    """A mark on an axis and its place."""

    at: float
    label: str


class Line(Struct, frozen=True):
    """One series of values: its name, the name of its colour, and its path. `area` closes the path down to the axis."""

    name: str
    kind: str
    path: str
    area: str


class Chart(Struct, frozen=True):
    """A chart with its title, its lines and its axes."""

    title: str
    unit: str
    lines: list[Line]
    ups: list[Tick]
    alongs: list[Tick]


def chart(title: str, unit: str, rows: Sequence[tuple[str, str, Values]], labels: Sequence[str]) -> Chart:
    """A chart of series, each with its name, the name of its colour and its values; `labels` are for the time axis."""
    top = nice(max((value for _, _, values in rows for value in values if value is not None), default=0))
    return Chart(
        title=title,
        unit=unit,
        lines=[_line(name, kind, values, top) for name, kind, values in rows],
        ups=[Tick(HEIGHT * (1 - share), _number(top * share)) for share in (0, 0.5, 1)],
        alongs=[Tick(_x_of(at, len(labels)), labels[at]) for at in _labelled(len(labels))],
    )


def nice(most: float) -> float:
    """The end of an axis: a round number that is at least `most`, and whose half is round too."""
    if most <= 2:
        return 2.0
    unit = 10.0 ** math.floor(math.log10(most))
    return next(step * unit for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10) if step * unit >= most)


def _line(name: str, kind: str, values: Values, top: float) -> Line:
    """A path with a gap where values are missing. A single value becomes a visible dash."""
    parts: list[str] = []
    areas: list[str] = []
    for first, run in _runs(values):
        points = [(_x_of(first + i, len(values)), HEIGHT * (1 - value / top)) for i, value in enumerate(run)]
        if len(points) == 1:
            points = [(points[0][0] - 3, points[0][1]), (points[0][0] + 3, points[0][1])]
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(path)
        areas.append(f"{path} L{points[-1][0]:.1f} {HEIGHT} L{points[0][0]:.1f} {HEIGHT} Z")
    return Line(name, kind, " ".join(parts), " ".join(areas))


def _runs(values: Values) -> list[tuple[int, list[float]]]:
    """The runs of consecutive values, each with the index of its start."""
    runs: list[tuple[int, list[float]]] = []
    for at, value in enumerate(values):
        if value is None:
            continue
        if not runs or runs[-1][0] + len(runs[-1][1]) != at:
            runs.append((at, []))
        runs[-1][1].append(value)
    return runs


def _x_of(at: int, count: int) -> float:
    return WIDTH * at / (count - 1) if count > 1 else WIDTH / 2


def _labelled(count: int) -> list[int]:
    """The indexes that get a label on the time axis: at most five, with the first and the last."""
    marks = min(count, 5)
    return [round(mark * (count - 1) / (marks - 1)) for mark in range(marks)] if marks > 1 else list(range(count))


def _number(value: float) -> str:
    return f"{value:,.10g}"
