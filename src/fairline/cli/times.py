"""Moments as people write them: RFC 3339, the date and the time of a clock in the queue's time zone, or a time from
now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fairline.errors import InvalidRequest
from fairline.settings import duration

NOW = "now"


def moment(option: str, text: str, zone: ZoneInfo) -> str:
    """A moment in RFC 3339, from `2027-01-15T09:00:00Z`, from `2027-01-15 10:00` in a time zone, or from `now` or
    `+10m` by the clock of this machine."""
    text = text.strip()
    ahead = 0.0 if text == NOW else duration(text[1:]) if text.startswith("+") else None
    if ahead is not None:
        return _in_utc(datetime.now(UTC) + timedelta(seconds=ahead))
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            found = _in_zone(option, text, found, zone)
        return _in_utc(found)
    except (ValueError, OverflowError):  # the latter where a time has no date in UTC: in the years 1 and 9999
        problem = (
            f"must be a time such as 2027-01-15T09:00:00Z, '2027-01-15 10:00' in {zone.key}, or +10m; got {text!r:.80}"
        )
        raise InvalidRequest(f"--{option}", problem) from None


def _in_utc(found: datetime) -> str:
    return found.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _in_zone(option: str, text: str, wall: datetime, zone: ZoneInfo) -> datetime:
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    exists = first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == wall
    what = "is there twice" if exists else "is not there"
    likes = " or ".join(each.isoformat() for each in (first, second))
    raise InvalidRequest(f"--{option}", f"{text!r} {what} in {zone.key}, where the clocks change. Write {likes}.")


def local(text: str | None, zone: ZoneInfo) -> str | None:
    """A moment of an answer as a clock in a time zone shows it."""
    return None if text is None else f"{datetime.fromisoformat(text).astimezone(zone):%Y-%m-%d %H:%M:%S}"
