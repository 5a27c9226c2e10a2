"""The steps of an opening: when each is due, and the settings of the queue after it.

    scheduled --begin--> prequeue --close--> drawing --open--> open --end--> ended
                            +-------------open------------------+

An opening without a pre-queue begins and opens at the same moment, and one without a draw is never `drawing`. All here
is pure: the keeper takes each step with the version of the settings that it was worked out from, so that it is taken
once, however many keepers there are.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairline.domain.branding import opening_time
from fairline.domain.opening import (
    ENDED_OPENINGS_KEPT,
    MOST_OPENINGS,
    SHORTEST_SPAN_MS,
    After,
    Opening,
    OpeningState,
    Phase,
    milliseconds,
)
from fairline.domain.queue_settings import SETTINGS, QueueSettings, QueueStatus
from fairline.domain.settings_checks import checked
from fairline.errors import DrawUnderWay, InvalidRequest, InvalidSettings, OpeningOverlaps, TooManyOpenings

#: Settings that an opening cannot have: it opens the queue itself.
_NOT_IN_OPENINGS = frozenset({"opens_at"})
#: In place of a setting that an opening did not have.
_ABSENT = object()


class Step(StrEnum):
    """One step of an opening."""

    BEGIN = "begin"
    CLOSE = "close"
    DRAW = "draw"
    """The draw goes on, wherever a keeper left it."""
    OPEN = "open"
    END = "end"
    ACTIVATE = "activate"
    """Not of an opening: the queue opens at its setting `opens_at`."""


class DueStep(Struct, frozen=True):
    """The next step of a queue, and when it is due, in milliseconds since 1970."""

    at: int
    step: Step
    opening: Opening | None = None


def current_opening(settings: QueueSettings) -> Opening | None:
    """The opening in progress; there is at most one."""
    return next((each for each in settings.openings if each.in_progress), None)


def next_opening(settings: QueueSettings) -> Opening | None:
    """The opening in progress that has not started yet, or the next one that is scheduled."""
    current = current_opening(settings)
    if current is not None and current.phase is not Phase.OPEN:
        return current
    scheduled = [each for each in settings.openings if each.state is OpeningState.SCHEDULED]
    return min(scheduled, key=lambda each: each.begins_ms, default=None)


def due_step(settings: QueueSettings) -> DueStep | None:
    """The next step of a queue; None if there is none."""
    steps = [step for each in settings.openings if (step := step_of(each))]
    if settings.opens_at and settings.status is QueueStatus.MAINTENANCE:
        steps.append(DueStep(milliseconds(opening_time(settings.opens_at)), Step.ACTIVATE))
    return min(steps, key=lambda each: each.at, default=None)


def step_of(opening: Opening) -> DueStep | None:
    """The next step of an opening."""
    match opening.state:
        case OpeningState.SCHEDULED:
            return DueStep(opening.begins_ms, Step.BEGIN, opening)
        case OpeningState.PREQUEUE:
            return DueStep(opening.closes_ms, Step.CLOSE if opening.drawn else Step.OPEN, opening)
        case OpeningState.DRAWING:
            return DueStep(opening.closes_ms, Step.DRAW, opening)
        case OpeningState.OPEN if opening.ends_ms is not None:
            return DueStep(opening.ends_ms, Step.END, opening)
    return None


def activated(settings: QueueSettings) -> QueueSettings:
    """The settings of a queue that has opened at its `opens_at`."""
    return replace(settings, status=QueueStatus.ACTIVE, opens_at="")


def begun(settings: QueueSettings, opening: Opening, now: int) -> QueueSettings:
    """The settings after the beginning of an opening. One that is over by now ends without having begun."""
    if opening.ends_ms is not None and opening.ends_ms <= now:
        if opening.after is After.CLOSE:
            settings = _closed_by(opening, settings)
        return _with(settings, replace(opening, state=OpeningState.ENDED, missed=True))
    before = _values(settings, {"status", *opening.settings})
    settings = _changed(settings, {"status": QueueStatus.ACTIVE, **opening.settings})
    return _with(settings, replace(opening, state=OpeningState.PREQUEUE, before=before))


def closed(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """The settings after the pre-queue of an opening has closed, while its order is drawn."""
    return _with(settings, replace(opening, state=OpeningState.DRAWING))


def opened(settings: QueueSettings, opening: Opening, count: int = 0) -> QueueSettings:
    """The settings from the moment in which people are let in; `count` of them were drawn."""
    if opening.add_stock:
        settings = _changed(settings, {"stock": (settings.stock or 0) + opening.add_stock})
    return _with(settings, replace(opening, state=OpeningState.OPEN, count=count))


def ended(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """The settings after the end of an opening."""
    settings = _restored(settings, opening)
    if opening.after is After.CLOSE:
        settings = _closed_by(opening, settings)
    return _with(settings, replace(opening, state=OpeningState.ENDED, before={}))


def in_force(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """The settings while an opening is in progress; raises InvalidSettings if the queue cannot have them."""
    return checked({"status": QueueStatus.ACTIVE, **opening.settings}, settings)


def before(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """The settings as an opening will find them, if nobody changes them: another one that is in progress is over."""
    current = current_opening(settings)
    return settings if current is None or current.id == opening.id else ended(settings, current)


def checked_with_openings(changes: dict[str, Any], settings: QueueSettings) -> QueueSettings:
    """The settings after changes, checked also with those of each opening that is still to come."""
    changed = checked(changes, settings)
    for opening in changed.openings:
        if opening.state is OpeningState.SCHEDULED:
            try:
                in_force(changed, opening)
            except InvalidSettings as error:
                problem = f"{error.problem}, in the opening {opening.name or opening.id!r}"
                raise InvalidSettings(error.field, problem) from None
    return changed


def with_new(settings: QueueSettings, opening: Opening, now: int) -> QueueSettings:
    """The settings with an opening more, or the error that says why it cannot be."""
    if sum(each.state is not OpeningState.ENDED for each in settings.openings) >= MOST_OPENINGS:
        raise TooManyOpenings(MOST_OPENINGS)
    _check(settings, opening, now)
    return _with(settings, opening)


def with_changed(settings: QueueSettings, before: Opening, opening: Opening, now: int) -> QueueSettings:
    """The settings with a changed opening. If it is in progress, those of its settings that have changed do so in the
    queue at once."""
    if before.state is OpeningState.ENDED:
        raise InvalidRequest("", "This opening has ended. Copy it to a new one instead.")
    if before.state is OpeningState.DRAWING:
        raise DrawUnderWay
    if before.in_progress:
        fixed = ["prequeue_at", "add_stock", "recheck_inside"]
        fixed += ["starts_at", "draw", "draw_grace_seconds"] if before.phase is not Phase.PREQUEUE else ["draw"]
        for field in fixed:
            if getattr(before, field) != getattr(opening, field):
                raise InvalidRequest(field, f"cannot be changed any more: the opening is {before.state}")
        kept = {name: value for name, value in before.before.items() if name in {"status", *opening.settings}}
        _check(_restored(settings, before), opening, 0 if opening.starts_at == before.starts_at else now)
        gone = {name: before.before[name] for name in before.before.keys() & set(SETTINGS) - kept.keys()}
        settings = _changed(settings, gone)
        opening = replace(opening, before={**_values(settings, opening.settings.keys() - kept.keys()), **kept})
        # What the opening had already is not put in force again: somebody may have changed it in the queue meanwhile.
        changed = {
            name: value for name, value in opening.settings.items() if before.settings.get(name, _ABSENT) != value
        }
        return _with(checked(changed, settings), opening)
    _check(settings, opening, now)
    return _with(settings, opening)


def without(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """The settings without an opening. If it is in progress, the settings from before it are back, and people who wait
    keep their place by when they came."""
    if opening.state is OpeningState.DRAWING:
        raise DrawUnderWay
    if opening.in_progress:
        settings = _restored(settings, opening)
    return _with_openings(settings, tuple(each for each in settings.openings if each.id != opening.id))


def with_openings_of(settings: QueueSettings, present: QueueSettings, now: int) -> QueueSettings:
    """Earlier settings as they can be restored now: an opening that has begun meanwhile stays as far as it is, and so
    do the settings that it has put in force. What an opening had put in force then is left out, and so is an opening
    whose start has passed, or that would overlap with the one in progress."""
    then = current_opening(settings)
    if then is not None:
        settings = _restored(settings, then)
    kept = [each for each in present.openings if each.state is not OpeningState.SCHEDULED]
    begun_ids, current = {each.id for each in kept}, current_opening(present)
    waiting = [
        each
        for each in settings.openings
        if each.state is OpeningState.SCHEDULED
        and each.id not in begun_ids
        and each.starts_ms > now
        and not (current and current.overlaps(each))
    ]
    if current is not None:
        settings = _changed(settings, _values(present, {"status", *current.settings}))
    return _with_openings(settings, (*kept, *waiting))


def removed(before: QueueSettings, after: QueueSettings) -> list[str]:
    """The ids of the openings that are no longer kept after a change of the settings."""
    kept = {each.id for each in after.openings}
    return [each.id for each in before.openings if each.id not in kept]


def _check(settings: QueueSettings, opening: Opening, now: int) -> None:
    if opening.starts_ms <= now:
        raise InvalidRequest("starts_at", "must be in the future")
    if opening.prequeue_at and opening.starts_ms - opening.begins_ms < SHORTEST_SPAN_MS:
        raise InvalidRequest("prequeue_at", "must be at least a second before starts_at")
    if opening.ends_ms is not None and opening.ends_ms - opening.closes_ms < SHORTEST_SPAN_MS:
        raise InvalidRequest("ends_at", "must be at least a second after starts_at, and after draw_grace_seconds")
    if opening.drawn and opening.prequeue_at is None:
        raise InvalidRequest("prequeue_at", "is needed with a draw: those who join from then on are drawn")
    if opening.draw_grace_seconds and not opening.drawn:
        raise InvalidRequest("draw_grace_seconds", "is for a draw; set draw to random, or leave it out")
    if refused := _NOT_IN_OPENINGS & opening.settings.keys():
        raise InvalidSettings(min(refused), "cannot be a setting of an opening, which has times of its own")
    if opening.settings.get("status", "active") != QueueStatus.ACTIVE:
        raise InvalidSettings("status", "must be active in an opening, or left out: an opening opens the queue")
    in_force(settings, opening)
    others = (each for each in settings.openings if each.id != opening.id and each.state is not OpeningState.ENDED)
    for other in others:
        if opening.overlaps(other):
            raise OpeningOverlaps(other.name or other.id, endless=other.ends_at is None)


def _restored(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """The settings with those from before an opening back in their places."""
    return _changed(settings, {name: value for name, value in opening.before.items() if name in SETTINGS})


def _closed_by(opening: Opening, settings: QueueSettings) -> QueueSettings:
    """The settings of a queue that an opening closes at its end. An `opens_at` from before then is over, or it would
    open the queue again at once."""
    over = settings.opens_at and opening.ends_ms and milliseconds(opening_time(settings.opens_at)) <= opening.ends_ms
    return replace(settings, status=QueueStatus.MAINTENANCE, opens_at="" if over else settings.opens_at)


def _changed(settings: QueueSettings, values: dict[str, Any]) -> QueueSettings:
    """Settings with some values, which may be as JSON has them."""
    return msgspec.convert({**msgspec.structs.asdict(settings), **values}, QueueSettings)


def _values(settings: QueueSettings, names: set[str]) -> dict[str, Any]:
    """Some settings by name, as JSON has them."""
    return {name: msgspec.to_builtins(getattr(settings, name)) for name in SETTINGS if name in names}


def _with(settings: QueueSettings, opening: Opening) -> QueueSettings:
    """Settings with this opening in place of an earlier version of it."""
    others = [each for each in settings.openings if each.id != opening.id]
    return _with_openings(settings, (*others, opening))


def _with_openings(settings: QueueSettings, openings: tuple[Opening, ...]) -> QueueSettings:
    over = sorted((each for each in openings if each.state is OpeningState.ENDED), key=lambda each: each.begins_ms)
    dropped = {each.id for each in over[:-ENDED_OPENINGS_KEPT]}
    kept = sorted((each for each in openings if each.id not in dropped), key=lambda each: each.begins_ms)
    current = next((each for each in kept if each.in_progress), None)
    return replace(settings, openings=tuple(kept), phase=current.phase if current else Phase.NONE)
