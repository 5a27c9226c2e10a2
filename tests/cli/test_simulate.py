"""`fairline simulate` as an operator types it, and how it writes and draws."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fairline.cli import chart, picture, units
from fairline.cli.app import app
from fairline.errors import FairlineError, NoPicture
from fairline.simulation.evening import Outcome, Point
from tests.cli.typed import fairline

SMALL = ("simulate", "--people", "200", "--over", "30s", "--rate", "120/min", "--stay", "20s", "--seed", "7")


def test_the_documented_evening_in_small(tmp_path: Path) -> None:
    png = tmp_path / "evening.png"
    done = fairline(*SMALL, "--capacity", "50", "--no-shows", "10%", "--give-up", "5%", "--png", str(png), COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert "200 people in 30 s, 2 a second, capacity 50, stay 20 s" in done.stdout
    for said in ("In line", "Inside", "median wait", "longest line", "line empty", "got in", "estimate accuracy"):
        assert said in done.stdout
    assert "⣿" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", png.read_bytes()[16:24])[0] == 1500


def test_as_json_it_can_be_read_by_programs() -> None:
    done = CliRunner().invoke(app, [*SMALL, "--json"])
    assert done.exit_code == 0, done.output
    first = json.loads(done.stdout)
    assert (first["people"], first["admission_rate"], first["admitted"]) == (200, 2, 200)
    assert first["endings"] == {"completed": 200}
    assert sum(minute["joined"] for minute in first["minutes"]) == 200
    assert first["wait_p50_seconds"] <= first["wait_p90_seconds"] <= first["wait_longest_seconds"]


def test_an_evening_with_an_opening_says_what_came_of_it() -> None:
    done = CliRunner().invoke(app, [*SMALL, "--opening", "--prequeue", "15s"])
    assert done.exit_code == 0, done.output
    for said in ("pre-queue 15 s", "came before the start at 0:15", "drawn", "wait from the start on", "later ones"):
        assert said in done.stdout
    assert "opening.step" not in done.output, "the log is among the results"
    content = json.loads(CliRunner().invoke(app, [*SMALL, "--opening", "--prequeue", "15s", "--json"]).stdout)
    assert content["opening"]["start_second"] == 15
    assert content["opening"]["came_before"] == content["opening"]["drawn"] == 200 - content["opening"]["later"]
    assert json.loads(CliRunner().invoke(app, [*SMALL, "--json"]).stdout)["opening"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--over", "soon"), "not a duration"),
        (("--rate", "40/fortnight"), "not a rate"),
        (("--no-shows", "120%"), "not a share"),
        (("--people", "0"), "people"),
        (("--over", "0.1s"), "over_seconds"),
        (("--rate", "1e9/s"), "not a rate"),
        (("--rate", "9999999/s"), "admission_rate"),
        (("admission=manual",), "by hand"),
        (("speed=3",), "speed"),
        (("--png", "evening.gif"), ".png"),
        (("--png", "/nowhere/evening.png"), "/nowhere"),
        (("--like", "sale", "--server", "http://127.0.0.1:9", "--key", "k"), "fairline serve"),
    ],
)
def test_a_mistake_is_said_before_any_work(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(app, ["simulate", *words], env={"COLUMNS": "200"})
    assert done.exit_code in (1, 2)
    # Fairline's own errors are raised, and printed in one line by `main`.
    assert said in (done.exception.message if isinstance(done.exception, FairlineError) else done.output)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(NoPicture, match=r"fairline\[charts\]"):
        picture.check(tmp_path / "evening.png")


# How things are written


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400), (" 2 d ", 172_800), ("250ms", 0.25)]
)
def test_durations(text: str, seconds: float) -> None:
    assert units.seconds(text) == seconds


@pytest.mark.parametrize(("text", "rate"), [("40/s", 40), ("40", 40), ("300/min", 5), ("7200/h", 2), ("0.5 / s", 0.5)])
def test_rates(text: str, rate: float) -> None:
    assert units.rate(text) == rate


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), ("100 %", 1), ("0", 0)])
def test_shares(text: str, share: float) -> None:
    assert units.share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "-1s", "nan", "inf", "1e3", "m", "１０m x"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        units.seconds(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (151, "2 min 31 s"), (3900, "1 h 05 min"), (7200, "2 h"), (None, "–")],
)
def test_words(seconds: float | None, words: str) -> None:
    assert units.words(seconds) == words


# How it is drawn


def test_a_curve_keeps_its_peak_and_its_width() -> None:
    values = [0] * 5000
    values[2500] = 80
    drawn = chart.area("In line", values, 60, height=4)
    assert drawn[0] == "In line"
    assert all(len(line) <= 60 + 8 for line in drawn)
    assert "80" in drawn[1]
    assert any(ord(mark) > 0x2800 for mark in drawn[1])  # one second among 5,000, at the top


def test_an_empty_line_is_drawn_as_one() -> None:
    drawn = "".join(chart.area("In line", [0] * 60, 60))
    assert not any(0x2800 < ord(mark) <= 0x28FF for mark in drawn)


def test_a_sparkline_shows_the_latest_and_never_hides_someone() -> None:
    assert chart.sparkline([9, 0, 1, 100], 3) == "▁▂█"
    assert chart.sparkline([0, 0], 5) == "▁▁"
    assert chart.sparkline([], 5) == ""


def test_an_evening_on_which_nobody_waited_has_statistics_too() -> None:
    outcome = Outcome([], [Point(second, 0, 1, 0, 0) for second in range(90)])
    assert (outcome.empty_at, outcome.wait_within(0.5), outcome.estimates.share_within) == (0, None, None)
    assert [point.second for point in outcome.by_minute()] == [0, 60]
