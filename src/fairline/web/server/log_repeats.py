"""Lines of the log that a stranger could cause without end: the first of a kind is written at once, and how many more
there were once its minute is over."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import structlog
from msgspec import Struct

log = structlog.get_logger()

SECONDS = 60
#: Kinds that are counted apart at one time. What makes a kind, as the name of a queue, may be a stranger's choice.
MOST_KINDS = 100

Kind = tuple[str, tuple[tuple[str, str | None], ...]]


class _Counted(Struct):
    ends: float
    more: int = 0


class Repeats:
    """What was written in the last minute, by kind, and how often it would have been written again."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kinds: dict[Kind, _Counted] = {}

    def is_first(self, event: str, **about: str | None) -> bool:
        """Whether a line is the first of its event, and of what it is about, within a minute: it is to be written. Any
        other is counted."""
        kind = self._kind(event, about)
        now, counted = self._clock(), self._kinds.get(kind)
        if counted is not None and now < counted.ends:
            counted.more += 1
            return False
        self._write(kind)
        self._kinds[kind] = _Counted(now + SECONDS)
        return True

    def write(self, *, everything: bool = False) -> None:
        """Write how many more there were of those whose minute is over, or of all."""
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
