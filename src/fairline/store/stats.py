"""Reads the statistics a store keeps: counts by hour, by minute and in total, with a histogram of waits.

The key of a count is a span and a name: `h490000:joined`, `total:wait:12`. The counts of a minute are kept together.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from fairline.domain.queue import QueueSnapshot
from fairline.domain.ticket import Reason
from fairline.store.constants import HOUR_MS, MINUTE_MS
from fairline.store.tallies import (
    Accuracy,
    DeskHour,
    DeskTallies,
    DeskTotals,
    Estimates,
    Hour,
    Point,
    Report,
    Stats,
    Totals,
)

_FIELD = re.compile(r"(total|h(\d+)):(.+)")

#: The lengths of true waits by which estimates are compared: each from so many seconds up to the next.
LENGTHS = (0, 30, 120, 600)

#: The counts of each minute, by name.
Minutes = Mapping[int, Mapping[str, int]]


def totals(counts: Mapping[str, int]) -> Totals:
    """The counts of one span of time, with percentiles from its histogram."""
    waits = _waits(counts)
    admitted = counts.get("admitted", 0)
    return Totals(
        joined=counts.get("joined", 0),
        admitted=admitted,
        returned=counts.get("returned", 0),
        completed=counts.get("completed", 0),
        expired=counts.get("expired", 0),
        expired_by_reason={
            reason: counts[f"expired:{reason}"] for reason in Reason if counts.get(f"expired:{reason}", 0)
        },
        peak_waiting=counts.get("peak", 0),
        waits=dict(waits),
        wait_mean=counts.get("wait_ms", 0) / admitted / 1000 if admitted else None,
        wait_p50=percentile(waits, 0.50),
        wait_p90=percentile(waits, 0.90),
        wait_p99=percentile(waits, 0.99),
        estimates=_estimates(counts),
    )


def _waits(counts: Mapping[str, int]) -> list[tuple[int, int]]:
    return sorted((int(name[5:]), count) for name, count in counts.items() if name.startswith("wait:"))


def _estimates(counts: Mapping[str, int]) -> Estimates:
    compared = counts.get("estimates:compared", 0)
    if not compared:
        return Estimates()
    errors = [_errors(counts, length) for length in LENGTHS]
    together = [error for some in errors for error in some]
    return Estimates(
        compared=compared,
        within=counts.get("estimates:within", 0),
        error_mean=counts.get("estimates:off_ms", 0) / compared / 1000,
        wait_mean=counts.get("estimates:wait_ms", 0) / compared / 1000,
        error_percent=_median((abs(error), count) for error, count in together),
        bias_percent=_median(together),
        by_wait=tuple(
            Accuracy(
                from_seconds=length,
                to_seconds=end,
                compared=counts.get(f"estimates:{length}:compared", 0),
                within=counts.get(f"estimates:{length}:within", 0),
                error_percent=_median((abs(error), count) for error, count in found),
                bias_percent=_median(found),
            )
            for length, end, found in zip(LENGTHS, (*LENGTHS[1:], None), errors, strict=True)
            if found
        ),
    )


def _errors(counts: Mapping[str, int], length: int) -> list[tuple[float, int]]:
    """The errors in percent of waits of this length, with how many there are of each. Bucket b is an error of
    2^(b/8) − 1 percent; below 0, the wait was longer than shown."""
    prefix = f"estimates:{length}:error:"
    buckets = ((int(name[len(prefix) :]), count) for name, count in counts.items() if name.startswith(prefix))
    return [(math.copysign(2 ** (abs(bucket) / 8) - 1, bucket), count) for bucket, count in buckets]


def _median(errors: Iterable[tuple[float, int]]) -> float | None:
    ordered = sorted(errors)
    left = sum(count for _, count in ordered) / 2
    for error, count in ordered:
        left -= count
        if left <= 0:
            return error
    return None


def desks(counts: Mapping[str, int]) -> dict[str, DeskTotals]:
    """What each desk did in one span of time, by name. A count of a desk is `desk:served:Desk 2`."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for field, count in counts.items():
        if field.startswith("desk:"):
            _, what, name = field.split(":", 2)
            found[name][what] = count
    return {
        name: DeskTotals(
            called=of.get("called", 0),
            came=of.get("came", 0),
            served=of.get("served", 0),
            no_shows=of.get("no_show", 0),
            wait_seconds=of.get("wait_ms", 0) / 1000,
            claim_seconds=of.get("claim_ms", 0) / 1000,
            service_seconds=of.get("service_ms", 0) / 1000,
        )
        for name, of in sorted(found.items())
    }


def percentile(waits: list[tuple[int, int]], share: float) -> float | None:
    """The wait in seconds that `share` of people did not exceed, from buckets an eighth of a doubling wide."""
    total = sum(count for _, count in waits)
    seen = 0
    for bucket, count in waits:
        seen += count
        if seen >= share * total:
            low, high = (2 ** (edge / 8) - 1 for edge in (bucket, bucket + 1))
            return (low + high) / 2
    return None


class Counts:
    """The counts of a queue, by span."""

    def __init__(self, fields: Iterable[tuple[str, int]]) -> None:
        self.total: dict[str, int] = {}
        self.hours: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for field, value in fields:
            found = _FIELD.fullmatch(field)
            if found:
                _, hour, name = found.groups()
                (self.hours[int(hour)] if hour else self.total)[name] = value

    def with_older(self, hours: Iterable[tuple[int, Mapping[str, int]]]) -> Counts:
        """Add the packed hours. An hour that was packed between the two reads is not counted twice."""
        self.hours.update((hour, dict(counts)) for hour, counts in hours)
        return self

    def hourly(self) -> list[Hour]:
        """All hours kept, oldest first."""
        return [Hour(start=hour * HOUR_MS, totals=totals(counts)) for hour, counts in sorted(self.hours.items())]

    def report(self, since: int | None, until: int | None) -> Report:
        """The hours from `since` and before `until`, and their totals."""
        hours = [hour for hour in self.hourly() if (since or 0) <= hour.start < (until or math.inf)]
        if since is None and until is None:
            return Report(totals(self.total), hours)
        together: Counter[str] = Counter()
        for hour in hours:
            together.update(self.hours[hour.start // HOUR_MS])
        together["peak"] = max((hour.totals.peak_waiting for hour in hours), default=0)
        return Report(totals(together), hours)

    def desk_tallies(self) -> DeskTallies:
        """What each desk did: in total, and in each hour in which one did something."""
        hours = ((hour, desks(counts)) for hour, counts in sorted(self.hours.items()))
        return DeskTallies(desks(self.total), [DeskHour(hour * HOUR_MS, found) for hour, found in hours if found])


def last_minute(minutes: Minutes, name: str, now: int) -> int:
    """The count in the last full minute, or in the present one if that is higher already."""
    minute = now // MINUTE_MS
    return max(minutes.get(each, {}).get(name, 0) for each in (minute - 1, minute))


def stats_of(snapshot: QueueSnapshot, counts: Counts, minutes: Minutes, last_admission: int | None) -> Stats:
    """The statistics of a queue."""
    return Stats(
        snapshot=snapshot,
        totals=totals(counts.total),
        joins_per_minute=last_minute(minutes, "joined", snapshot.now),
        admissions_per_minute=last_minute(minutes, "admitted", snapshot.now),
        last_admission=last_admission,
    )


def minutes_of(step: int, points: int, now: int) -> range:
    """The minutes of this many points of `step` minutes; the last point includes the present minute."""
    end = (now // MINUTE_MS // step + 1) * step
    return range(end - points * step, end)


def series(snapshot: QueueSnapshot, minutes: Minutes, step: int, points: int) -> list[Point]:
    """The points, without a gap: in a minute without counts, the line is as long as in the last one that has some."""
    wanted = minutes_of(step, points, snapshot.now)
    waiting = inside = 0
    found: list[Point] = []
    for start in range(wanted.start, wanted.stop, step):
        counts: Counter[str] = Counter()
        peak = waiting
        for minute in range(start, start + step):
            noted = minutes.get(minute)
            if noted:
                waiting, inside = noted["waiting"], noted["inside"]
                peak = max(peak, noted["peak"])
                counts.update(noted)
        waits = _waits(counts)
        found.append(
            Point(
                start=start * MINUTE_MS,
                waiting=waiting,
                inside=inside,
                joined=counts["joined"],
                admitted=counts["admitted"],
                completed=counts["completed"],
                expired=counts["expired"],
                peak_waiting=peak,
                wait_p50=percentile(waits, 0.50),
                wait_p90=percentile(waits, 0.90),
            )
        )
    present = msgspec.structs.replace(
        found[-1],
        waiting=snapshot.waiting,
        inside=snapshot.inside,
        peak_waiting=max(found[-1].peak_waiting, snapshot.waiting),
    )
    return [*found[:-1], present]
