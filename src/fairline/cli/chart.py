"""Charts in a terminal, drawn with characters only, so that they need no colour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

BLOCKS = "▁▂▃▄▅▆▇█"
#: The dots of a braille character, from the bottom up, for its left and its right half.
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
#: Columns left of the axis.
MARGIN = 9


def sparkline(values: Iterable[float], width: int) -> str:
    """The latest values as one row of blocks. The highest value fills its row, and any value above 0 is visible."""
    shown = list(values)[-width:]
    top = max(shown, default=0)
    if not top:
        return BLOCKS[0] * len(shown)
    return "".join(BLOCKS[min(len(BLOCKS) - 1, math.ceil(value / top * (len(BLOCKS) - 1)))] for value in shown)


def area(title: str, values: Sequence[float], width: int, height: int = 8) -> list[str]:
    """A filled curve of one value per second, with its axes. `width` includes the axis."""
    columns = max(10, width - MARGIN - 1)
    top = _round_up(max(values, default=0))
    levels = [round(value / top * height * 4) for value in _downsample(values, columns * 2)]
    lines = [title]
    for row in reversed(range(height)):
        cells = (
            chr(0x2800 + sum(_dots_of_half(levels[2 * column + side] - 4 * row, side) for side in (0, 1)))
            for column in range(columns)
        )
        scale = f"{top * (row + 1) / height:,.0f}" if row in (height - 1, height // 2 - 1) else ""
        lines.append(f"{scale:>{MARGIN - 1}} ┤{''.join(cells)}".rstrip("\u2800"))
    return [*lines, *_time_axis(len(values), columns)]


def _downsample(values: Sequence[float], count: int) -> list[float]:
    """Reduce the values to `count`: the highest of each part, so that no peak is lost."""
    last = len(values)
    edges = [number * last / count for number in range(count + 1)]
    return [max(values[int(low) : max(int(low) + 1, math.ceil(high))]) for low, high in pairwise(edges)]


def _dots_of_half(dots: int, side: int) -> int:
    """The lowest dots of one half of a character."""
    return sum(_DOTS[side][: max(0, min(4, dots))])


def _round_up(value: float) -> float:
    """The next round number, for the scale."""
    if value <= 1:
        return 1
    unit = 10 ** math.floor(math.log10(value))
    return next(float(step * unit) for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * unit >= value)


def _time_axis(span: int, columns: int) -> list[str]:
    step = next((step for step in _STEPS if span / step <= columns / 9), _STEPS[-1])
    axis, labels = ["─"] * columns, [" "] * (columns + 8)
    for moment in range(0, span, step):
        column = int(moment / span * columns)
        axis[column] = "┬"
        text = clock(moment)
        labels[column : column + len(text)] = text
    return [f"{'0':>{MARGIN - 1}} └{''.join(axis)}", " " * (MARGIN + 1) + "".join(labels).rstrip()]


def clock(moment: int) -> str:
    """A moment as hours, minutes and seconds: 0:00, 12:30, 1:05:00."""
    hours, minutes, rest = moment // 3600, moment // 60 % 60, moment % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
