"""Rehearsals: an opening run in small, with simulated people, in a queue of its own that is deleted afterwards.

The name of such a queue says when it was made. So it is known everywhere: it is in no list of queues, nobody gets a
notice or a webhook about it, and a keeper deletes what a server that died has left.
"""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from fairline.domain.opening import Opening
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import SETTINGS, Admission, Ask, LabelRestart, OnePer, QueueSettings, QueueStatus

_NAME = re.compile(r"rehearsal-([0-9]{13})-[0-9a-f]{16}", re.ASCII)
#: How many people come to a rehearsal.
PEOPLE = 50
#: How long a rehearsal takes at most, and after how long a keeper deletes the queue that is left of one.
LONGEST_SECONDS = 45
LEFT_OVER_MS = 120_000
#: People are let in at least this fast in a rehearsal, so that it ends soon.
LEAST_RATE = 6.0

#: Settings that would keep simulated people out, send something, or end something by the calendar.
_NOT_REHEARSED: dict[str, Any] = {
    "stock_url": None,
    "require_user_token": False,
    "one_per": OnePer.CLIENT,
    "ask_name": Ask.OPTIONAL,
    "ask_phone": Ask.NO,
    "ask_email": Ask.NO,
    "ask_party_size": Ask.NO,
    "opening_hours": {},
    "closed_dates": (),
    "clear_after_minutes": None,
    "label_restart": LabelRestart.NEVER,
    "opens_at": "",
    "notices": (),
    "page_template": "",
    "desks": (),
    "retain_seconds": 600.0,
    "status": QueueStatus.MAINTENANCE,
}


class RehearsalState(StrEnum):
    """How a rehearsal is going, or how it went."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"


class StepName(StrEnum):
    """What a rehearsal looks at, in this order."""

    PREQUEUE = "prequeue"
    """The pre-queue opens at its time."""
    JOIN = "join"
    """Everyone gets one place, and the same again after a reload."""
    HELD = "held"
    """Before the start nobody is let in, and nobody has a position."""
    START = "start"
    """People are let in at the time of the start, or when the draw is done."""
    RECEIPTS = "receipts"
    """Everyone's receipt proves their rank."""
    ORDER = "order"
    """People are let in in the order drawn, or in that of their joins."""
    PACE = "pace"
    """No faster than the admission rate."""
    EVERYONE = "everyone"
    """Nobody was lost, and nobody was let in twice."""
    END = "end"
    """The end leaves behind what it should."""
    WIPED = "wiped"
    """Nothing of it is left."""


class RehearsalStep(Struct, frozen=True):
    """One thing that was looked at: what was found, as the name of a text with its values."""

    name: StepName
    passed: bool
    found: str
    values: dict[str, str | int | float] = {}


class Rehearsal(Struct, frozen=True, kw_only=True):
    """A rehearsal of an opening. Times are milliseconds since 1970."""

    id: str
    state: RehearsalState = RehearsalState.RUNNING
    began: int
    ended: int | None = None
    people: int
    plan: str
    """What was rehearsed (`plan_of`): a later change of the opening or of the settings makes another."""
    steps: tuple[RehearsalStep, ...] = ()


def rehearsal_queue(now: int, token: str) -> QueueId:
    """The name of the queue of a rehearsal that begins now."""
    return QueueId(f"rehearsal-{now:013d}-{token}")


def rehearsed_at(queue: str) -> int | None:
    """When the rehearsal began that this queue is made for; None for all other queues."""
    found = _NAME.fullmatch(queue)
    return int(found.group(1)) if found else None


def rehearsal_settings(settings: QueueSettings, people: int) -> QueueSettings:
    """The settings of a queue, such that simulated people can play through it without any effect outside."""
    values = {name: getattr(settings, name) for name in SETTINGS} | _NOT_REHEARSED
    if settings.stock is not None or settings.stock_url is not None:
        values["stock"] = people
    return QueueSettings(**values)


def rehearsed_fields(settings: QueueSettings, opening: Opening) -> dict[str, Any]:
    """The settings of an opening as they are rehearsed. `settings` are those in force during it."""
    values = {name: value for name, value in opening.settings.items() if name not in {*_NOT_REHEARSED, "stock"}}
    if settings.admission is Admission.AUTO and 0 < settings.admission_rate < LEAST_RATE:
        values["admission_rate"] = LEAST_RATE
    return values


def plan_of(settings: QueueSettings, opening: Opening) -> str:
    """What an opening and the settings during it amount to. It changes with each of them, but not with the stock or the
    message, which change often."""
    fields = {name: getattr(settings, name) for name in SETTINGS if name not in ("stock", "message")}
    about = (opening.prequeue_at, opening.starts_at, opening.ends_at, opening.draw, opening.draw_grace_seconds)
    more = (opening.add_stock, opening.recheck_inside, opening.after)
    return sha256(msgspec.json.encode((fields, about, more), order="deterministic")).hexdigest()[:32]
