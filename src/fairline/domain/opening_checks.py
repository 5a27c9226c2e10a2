"""What can be said of an opening before its night from its settings and its queue alone. What only the server knows,
such as its disk and whether the site answers, is in `web/admin/checklist.py`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from fairline.domain.opening import Opening, OpeningState
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus

#: People need about this long to come and to find the page before the start.
SHORT_PREQUEUE_SECONDS = 300
#: A phone that is locked, or in a tunnel, is away this long and longer.
PHONE_AWAY_SECONDS = 120
#: A line that takes longer than this is long even for a good night.
LONG_SECONDS = 4 * 3600

Value = str | int | float


class CheckState(StrEnum):
    """What a check comes to: all well, look at it, or it has to be mended."""

    OK = "ok"
    LOOK = "look"
    PROBLEM = "problem"


class CheckName(StrEnum):
    """What is checked, in the order of the list."""

    BEFORE = "before"
    PREQUEUE = "prequeue"
    DRAW = "draw"
    STOCK = "stock"
    PACE = "pace"
    CAPACITY = "capacity"
    LINE = "line"
    END = "end"
    HOURS = "hours"
    PHONES = "phones"
    NOTICES = "notices"
    TARGET = "target"
    ADDRESS = "address"
    KEEPER = "keeper"
    DISK = "disk"
    FILES = "files"
    REHEARSAL = "rehearsal"


class Check(Struct, frozen=True):
    """One line of the list: what was found, as the name of a text with its values. A value whose name begins with
    `span` is in seconds."""

    name: CheckName
    state: CheckState
    found: str
    values: dict[str, Value] = {}


def opening_checks(
    settings: QueueSettings, during: QueueSettings, opening: Opening, snapshot: QueueSnapshot, people: int | None
) -> Iterator[Check]:
    """The checks of an opening. `during` are the settings in force during it, and `people` how many are expected, if
    that is known."""
    yield _before(settings, opening)
    yield _prequeue(opening)
    left = snapshot.stock_left(during.stock)
    if opening.add_stock:
        left = (left or 0) + opening.add_stock
    yield _stock(during, left)
    expected = people if people is not None else left
    if during.by_hand:
        yield Check(CheckName.PACE, CheckState.OK, "pace_by_hand")
    else:
        yield _pace(during, opening, expected)
        yield _capacity(during, snapshot)
    yield _line(during, expected)
    if opening.ends_ms is None:
        yield Check(CheckName.END, CheckState.LOOK, "end_none")
    else:
        span = (opening.ends_ms - opening.starts_ms) / 1000
        yield Check(CheckName.END, CheckState.OK, f"end_{opening.after}", {"span": span})
    if during.needs_calendar:
        is_open = during.calendar.open_span(opening.begins_ms) is not None
        state = CheckState.OK if is_open else CheckState.PROBLEM
        yield Check(CheckName.HOURS, state, "hours_open" if is_open else "hours_closed")
    yield _phones(during)


def _before(settings: QueueSettings, opening: Opening) -> Check:
    if opening.state is not OpeningState.SCHEDULED:
        return Check(CheckName.BEFORE, CheckState.OK, "before_begun")
    if settings.status is QueueStatus.ACTIVE and not settings.held_back:
        return Check(CheckName.BEFORE, CheckState.LOOK, "before_open")
    return Check(CheckName.BEFORE, CheckState.OK, "before_closed")


def _prequeue(opening: Opening) -> Check:
    if opening.prequeue_at is None:
        return Check(CheckName.PREQUEUE, CheckState.LOOK, "prequeue_none")
    span = (opening.starts_ms - opening.begins_ms) / 1000
    if span < SHORT_PREQUEUE_SECONDS:
        return Check(CheckName.PREQUEUE, CheckState.LOOK, "prequeue_short", {"span": span})
    return Check(CheckName.PREQUEUE, CheckState.OK, "prequeue_long", {"span": span})


def _stock(during: QueueSettings, left: int | None) -> Check:
    if left is None and during.stock_url is not None:
        return Check(CheckName.STOCK, CheckState.LOOK, "stock_unknown")
    if left is None:
        return Check(CheckName.STOCK, CheckState.LOOK, "stock_unlimited")
    if left <= 0:
        return Check(CheckName.STOCK, CheckState.PROBLEM, "stock_none")
    return Check(CheckName.STOCK, CheckState.OK, "stock_set", {"n": left})


def _pace(during: QueueSettings, opening: Opening, expected: int | None) -> Check:
    rate = during.admission_rate
    if rate <= 0:
        return Check(CheckName.PACE, CheckState.PROBLEM, "pace_zero")
    if not expected:
        return Check(CheckName.PACE, CheckState.OK, "pace_an_hour", {"n": round(rate * 3600)})
    seconds = expected / rate
    values: dict[str, Value] = {"people": expected, "span": seconds}
    lasts = None if opening.ends_ms is None else (opening.ends_ms - opening.starts_ms) / 1000
    if lasts is not None and seconds > lasts:
        return Check(CheckName.PACE, CheckState.PROBLEM, "pace_too_slow", values | {"n": int(lasts * rate)})
    if seconds > LONG_SECONDS:
        return Check(CheckName.PACE, CheckState.LOOK, "pace_slow", values)
    return Check(CheckName.PACE, CheckState.OK, "pace_good", values)


def _capacity(during: QueueSettings, snapshot: QueueSnapshot) -> Check:
    """Whether people come out as fast as others may go in."""
    stay = snapshot.stay_seconds if snapshot.stays_seen >= 1 else 0.0
    n, rate = during.max_active, during.admission_rate
    if stay and n / stay < rate:
        values: dict[str, Value] = {"n": n, "span": stay, "people": int(60 * n / stay)}
        return Check(CheckName.CAPACITY, CheckState.LOOK, "capacity_limits", values)
    if not stay and n < 60 * rate:
        return Check(CheckName.CAPACITY, CheckState.LOOK, "capacity_small", {"n": n, "span": n / rate if rate else 0})
    return Check(CheckName.CAPACITY, CheckState.OK, "capacity_good", {"n": n})


def _line(during: QueueSettings, expected: int | None) -> Check:
    values: dict[str, Value] = {"n": during.max_queue_size, "people": expected or 0}
    if expected and during.max_queue_size < expected:
        return Check(CheckName.LINE, CheckState.PROBLEM, "line_small", values)
    return Check(CheckName.LINE, CheckState.OK, "line_good", values)


def _phones(during: QueueSettings) -> Check:
    if not during.heartbeat_timeout_seconds:
        return Check(CheckName.PHONES, CheckState.OK, "phones_always")
    kept = max(during.heartbeat_timeout_seconds + during.grace_seconds, during.closed_page_seconds)
    good = kept >= PHONE_AWAY_SECONDS
    return Check(
        CheckName.PHONES,
        CheckState.OK if good else CheckState.LOOK,
        "phones_good" if good else "phones_short",
        {"span": kept},
    )
