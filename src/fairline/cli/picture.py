"""The chart of a simulation as a PNG. matplotlib is an optional dependency: it is large, and only this needs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairline.errors import NoPicture

if TYPE_CHECKING:
    from fairline.simulation.evening import Outcome

INK, QUIET, FAINT = "#1c2430", "#66707f", "#e4e8ee"
LINE, INSIDE, JOINED, ADMITTED = "#0b6bcb", "#2c8c5a", "#b4690e", "#0b6bcb"


def check(file: Path) -> None:
    """Raise NoPicture if the picture cannot be drawn, before the simulation runs."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise NoPicture("A picture needs matplotlib: pip install 'fairline[charts]', or leave out --png.") from None
    if file.suffix.lower() != ".png":
        raise NoPicture(f"The picture is a PNG: the name of the file must end in .png; got {file.name!r}.")
    if not file.absolute().parent.is_dir():
        raise NoPicture(f"There is no folder {file.absolute().parent} for the picture.")


def draw(outcome: Outcome, span: int, title: str, subtitle: str, file: Path) -> None:
    """Draw three charts of the first `span` seconds: the line, the people inside, and joins with admissions."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    points = outcome.series[:span]
    minutes = [point.second / 60 for point in points]
    figure = Figure(figsize=(10, 7.6), dpi=150, facecolor="white")
    upper, middle, lower = figure.subplots(3, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2, 2], "hspace": 0.32})
    for axes, name, values, colour in (
        (upper, "In line", [point.waiting for point in points], LINE),
        (middle, "Inside", [point.inside for point in points], INSIDE),
    ):
        axes.fill_between(minutes, values, color=colour, alpha=0.16, linewidth=0)
        axes.plot(minutes, values, color=colour, linewidth=1.8)
        axes.set_title(name, loc="left", fontsize=11, fontweight="bold", color=INK)
    peak = outcome.peak
    if peak.waiting:
        upper.plot([peak.second / 60], [peak.waiting], "o", color=LINE, markersize=5)
        upper.annotate(
            f"{peak.waiting:,} at {peak.second / 60:.1f} min",
            (peak.second / 60, peak.waiting),
            (10, 2) if peak.second < 0.7 * span else (-10, 2),
            textcoords="offset points",
            ha="left" if peak.second < 0.7 * span else "right",
            fontsize=9,
            color=INK,
        )
    step = max(10, span // 120)
    starts = range(0, len(points), step)
    for name, per_second, colour, style in (
        ("joined", [sum(p.joined for p in points[first : first + step]) / step for first in starts], JOINED, "--"),
        ("let in", [sum(p.admitted for p in points[first : first + step]) / step for first in starts], ADMITTED, "-"),
    ):
        lower.step(
            [first / 60 for first in starts], per_second, style, where="post", color=colour, linewidth=1.5, label=name
        )
    lower.set_title("People per second", loc="left", fontsize=11, fontweight="bold", color=INK)
    lower.legend(frameon=False, fontsize=9, labelcolor=INK, ncols=2, loc="upper right")
    lower.set_xlabel("minutes", color=QUIET, fontsize=9)
    for axes in (upper, middle, lower):
        axes.margins(x=0, y=0.08)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(QUIET)
        axes.tick_params(colors=QUIET, labelsize=9, length=0, labelbottom=True)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    figure.text(0.07, 0.965, title, fontsize=14, fontweight="bold", color=INK)
    figure.text(0.07, 0.937, subtitle, fontsize=9.5, color=QUIET)
    figure.subplots_adjust(left=0.07, right=0.97, top=0.885, bottom=0.07)
    try:
        figure.savefig(file, metadata={"Software": "fairline"})
    except OSError as error:
        raise NoPicture(f"Cannot write {file}: {error.strerror or error}") from None
