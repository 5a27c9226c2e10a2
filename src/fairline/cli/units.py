"""Durations, rates and shares as people write and read them."""

from __future__ import annotations

import re

import typer

from fairline.settings import duration

_NUMBER = re.compile(r"\d+(\.\d+)?")
_PER = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}


def seconds(text: str) -> float:
    """`10m`, `90s`, `1.5h`, or a bare number of seconds."""
    text = text.strip()
    found = float(text) if _NUMBER.fullmatch(text) else duration(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a duration. Write it as 90s, 10m or 1.5h.")
    return found


def rate(text: str) -> float:
    """People per second from `40/s`, `300/min`, or a bare number per second."""
    count, _, per = text.strip().partition("/")
    if not _NUMBER.fullmatch(count.strip()) or (per or "s").strip() not in _PER:
        raise typer.BadParameter(f"{text!r} is not a rate. Write it as 40/s, 300/min or 5000/h.")
    return float(count) / _PER[(per or "s").strip()]


def share(text: str) -> float:
    """A share of 1 from `5%` or `0.05`."""
    text = text.strip()
    number, percent = text.removesuffix("%").strip(), text.endswith("%")
    found = float(number) / (100 if percent else 1) if _NUMBER.fullmatch(number) else None
    if found is None or found > 1:
        raise typer.BadParameter(f"{text!r} is not a share. Write it as 5% or 0.05.")
    return found


def words(span: float | None) -> str:
    """A duration for people, in at most two units: 45 s, 2 min 31 s, 1 h 05 min."""
    if span is None:
        return "–"
    whole = round(span)
    if whole < 60:
        return f"{whole} s"
    large, small, names = (
        (whole // 60, whole % 60, ("min", "s")) if whole < 3600 else (whole // 3600, whole % 3600 // 60, ("h", "min"))
    )
    return f"{large:,} {names[0]} {small:02d} {names[1]}" if small else f"{large:,} {names[0]}"
