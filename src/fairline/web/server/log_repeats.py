"""Limits log lines that strangers can cause without end: the first line of a kind is written at once; the rest of the
minute is only counted, and the count is written at its end."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import structlog
from msgspec import Struct

log = structlog.get_logger()

SECONDS = 60
#: Kinds that are counted separately at one time. A stranger may choose what makes a kind, such as a queue's name.
MOST_KINDS = 100

Kind = tuple[str, tuple[tuple[str, str | None], ...]]


class _Counted(Struct):
    ends: float
    more: int = 0


class Repeats:
    """The kinds of lines that were written in the last minute, and how many more of each there were."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kinds: dict[Kind, _Counted] = {}

    def is_first(self, event: str, **about: str | None) -> bool:
        """Whether a line is the first of its kind (its event and what it is about) within a minute, and so is to be
        written. Any further line is counted."""
        kind = self._kind(event, about)
        now, counted = self._clock(), self._kinds.get(kind)
        if counted is not None and now < counted.ends:
            counted.more += 1
            return False
        self._write(kind)
        self._kinds[kind] = _Counted(now + SECONDS)
        return True

    def write(self, *, everything: bool = False) -> None:
        """Write the counts of the kinds whose minute is over, or of all."""
        now = self._clock()
        for kind in [kind for kind, counted in self._kinds.items() if everything or counted.ends <= now]:
            self._write(kind)

    def _kind(self, event: str, about: dict[str, str | None]) -> Kind:
        kind = (event, tuple(about.items()))
        return kind if kind in self._kinds or len(self._kinds) < MOST_KINDS else (event, ())

    def _write(self, kind: Kind) -> None:
        counted = self._kinds.pop(kind, None)
        if counted is not None and counted.more:
            event, about = kind
            log.info("log.repeated", of=event, **dict(about), times=counted.more, seconds=SECONDS)
