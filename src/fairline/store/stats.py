"""Reads the statistics a store keeps: counts by hour, by minute and so far, with a histogram of waits.

A count has a span and a name: `h490000:joined`, `m29400000:admitted`, `total:wait:12`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from fairline.store.contract import DeskFigures, DeskHour, DeskTotals, Hour, Totals
from fairline.ticket import Reason

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
_FIELD = re.compile(r"(total|h(\d+)|m(\d+)):(.+)")


def totals(counts: Mapping[str, int]) -> Totals:
    """The counts of one span of time, with percentiles from its histogram."""
    waits = sorted((int(name[5:]), count) for name, count in counts.items() if name.startswith("wait:"))
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
        wait_mean=counts.get("wait_ms", 0) / admitted / 1000 if admitted else None,
        wait_p50=percentile(waits, 0.50),
        wait_p90=percentile(waits, 0.90),
        wait_p99=percentile(waits, 0.99),
    )


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
        self.minutes: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for field, value in fields:
            found = _FIELD.fullmatch(field)
            if found:
                _, hour, minute, name = found.groups()
                counts = self.hours[int(hour)] if hour else self.minutes[int(minute)] if minute else self.total
                counts[name] = value

    def last_minute(self, name: str, now: int) -> int:
        """How many in the last full minute, or in this one if it has more already."""
        minute = now // MINUTE_MS
        return max(self.minutes[minute - 1].get(name, 0), self.minutes[minute].get(name, 0))

    def hourly(self) -> list[Hour]:
        """All hours kept, oldest first."""
        return [Hour(start=hour * HOUR_MS, totals=totals(counts)) for hour, counts in sorted(self.hours.items())]

    def desk_figures(self) -> DeskFigures:
        """What each desk did: so far, and in each hour in which one did something."""
        hours = ((hour, desks(counts)) for hour, counts in sorted(self.hours.items()))
        return DeskFigures(desks(self.total), [DeskHour(hour * HOUR_MS, found) for hour, found in hours if found])
