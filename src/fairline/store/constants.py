"""Numbers that Python, the Lua scripts and the SQL functions share.

Each is written here once. `valkey/scripts.py` turns SHARED into Lua locals (`--#include bounds`), and
`postgres/statements.py` turns it into SQL functions without parameters (`hours_kept()`).
"""

from __future__ import annotations

from fairline.domain.order import BAND, SPAN
from fairline.domain.patience import AGES

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
#: Two days begin at least this far apart. If two beginnings are nearer, the time zone was changed on that day.
SHORTEST_DAY_MS = 72_000_000

#: Hourly counts are kept for today and this many days before it, wherever midnight is, with one hour more for a clock
#: that was set forward.
DAYS_KEPT = 8
HOURS_KEPT = (DAYS_KEPT + 1) * 24 + 1
#: The newest hours are kept field by field. Older ones are packed together, and read only when someone asks for them.
HOURS_AT_HAND = 48
#: Counts by the minute are kept for a day and an hour.
MINUTES_KEPT = 25 * 60
#: About this many of the newest events of a queue are kept.
EVENTS_KEPT = 100_000

#: Deliveries that were given up are kept this long, and at most this many in one outbox: the oldest go first.
DEAD_SECONDS = 7 * 86_400
DEAD_KEPT = 10_000
#: A delivery of a thread waits at most this long for the one before it to be tried.
THREAD_SECONDS = 20

#: How many entries the audit log keeps.
AUDIT_ENTRIES_KEPT = 100_000
#: A process that has not been seen for this long is gone.
GONE_MS = 60_000

#: If a queue names no desks, this many desks have counts of their own. All others are counted together, as `other`. A
#: desk that was last seen in an hour that is no longer kept makes way for a new one.
MOST_DESKS = 50

#: How fast the measured flow of the line fades.
FLOW_FADE_SECONDS = 600
#: How many times as fast the measured overtaking fades.
PASSED_FADES = 4
#: A longer pause between two ticks is not measured: nobody kept the queue in that time.
LONGEST_TICK_SECONDS = 60
#: The mean stay is that of about this many of the newest stays.
STAYS_KEPT = 200
#: The rate at which people come out is measured over at most this many of the newest exits.
EXITS_KEPT = 2000
#: … and over as many as this even where few places are inside.
EXITS_LEAST = 400

#: How often the ages of those who wait are measured, in how many tickets, and by how many classes: the second begins at
#: the youngest, each later one at twice the one before (see patience.py).
AGES_EVERY_SECONDS = 5
AGES_LOOKED_AT = 4
AGE_CLASSES = len(AGES)
YOUNGEST_SECONDS = AGES[1]
#: A setting that is less than this many percent of what it was slows the line by over a fifth.
MUCH_LESS_PERCENT = 80

#: What the Lua scripts and the SQL functions get.
SHARED = {
    "minute_ms": MINUTE_MS,
    "hour_ms": HOUR_MS,
    "day_ms": DAY_MS,
    "shortest_day_ms": SHORTEST_DAY_MS,
    "hours_kept": HOURS_KEPT,
    "hours_at_hand": HOURS_AT_HAND,
    "minutes_kept": MINUTES_KEPT,
    "events_kept": EVENTS_KEPT,
    "most_desks": MOST_DESKS,
    "flow_fade_seconds": FLOW_FADE_SECONDS,
    "passed_fades": PASSED_FADES,
    "longest_tick_seconds": LONGEST_TICK_SECONDS,
    "stays_kept": STAYS_KEPT,
    "exits_kept": EXITS_KEPT,
    "exits_least": EXITS_LEAST,
    "ages_every_seconds": AGES_EVERY_SECONDS,
    "ages_looked_at": AGES_LOOKED_AT,
    "age_classes": AGE_CLASSES,
    "youngest_seconds": YOUNGEST_SECONDS,
    "much_less_percent": MUCH_LESS_PERCENT,
    "place_span": SPAN,
    "place_band": BAND,
}
#: For SQL, which finds the turn of a place by a shift: a division would round towards 0.
PLACE_BITS = SPAN.bit_length() - 1
