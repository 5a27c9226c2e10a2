"""What is told to the server while nobody waits for it: activity, completion, the renewal of keys.

One thread, begun with the first errand and so after a server of the site has forked. What it has to do is bounded, and
whatever goes wrong in it is logged and goes no further.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from fairline.gate.errors import ServerAway
from fairline.gate.server import AWAY_SECONDS

log = logging.getLogger("fairline.gate")

#: How long what is left may take when the site ends.
END_SECONDS = 2.0
#: An errand that may be dropped is tried so often.
TRIES = 2


@dataclass(slots=True)
class _Errand:
    run: Callable[[], object]
    lasting: bool
    tries: int = 0


class Reporter:
    """Runs errands one after the other. One that is `lasting` is kept until the server has been told."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._errands: OrderedDict[Hashable, _Errand] = OrderedDict()
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ends_at: float | None = None

    def run(self, key: Hashable, errand: Callable[[], object], *, lasting: bool = False) -> None:
        """Run it soon. One of the same key that still waits is enough."""
        with self._change:
            if self._ends_at is not None or key in self._errands:
                return
            if len(self._errands) >= self._limit and not (lasting and self._make_room()):
                log.warning("Too many reports wait (%d); one is dropped.", self._limit)
                return
            self._errands[key] = _Errand(errand, lasting)
            self._change.notify()
            self._begin()

    def close(self) -> None:
        """Run what is left, for two seconds at most, and end."""
        with self._change:
            if self._ends_at is None:
                self._ends_at = time.monotonic() + END_SECONDS
            thread, self._thread = self._thread, None
            self._change.notify()
        if thread is not None:
            atexit.unregister(self.close)
            thread.join(END_SECONDS + 1)

    @property
    def waiting(self) -> int:
        """How many errands wait."""
        return len(self._errands)

    def _make_room(self) -> bool:
        """Drop the oldest errand that may be dropped."""
        for key, errand in self._errands.items():
            if not errand.lasting:
                del self._errands[key]
                return True
        return False

    def _begin(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="fairline-reports", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # The interpreter ends, or has no thread left: the site's request is not to suffer from that.
                log.warning("Reports to the Fairline server cannot be sent: %s", error)
                return
            self._thread = thread
            # Before the interpreter stops daemons, what is left is sent.
            atexit.register(self.close)

    def _work(self) -> None:
        while (found := self._next()) is not None:
            key, errand = found
            errand.tries += 1
            try:
                errand.run()
            except ServerAway:
                self._again(key, errand)
            except Exception:
                log.exception("A report to the Fairline server went wrong.")

    def _next(self) -> tuple[Hashable, _Errand] | None:
        """The next errand, when there is one; nothing once it is time to end."""
        with self._change:
            while not self._errands and self._ends_at is None:
                self._change.wait()
            if not self._errands or (self._ends_at is not None and time.monotonic() > self._ends_at):
                return None
            return self._errands.popitem(last=False)

    def _again(self, key: Hashable, errand: _Errand) -> None:
        """The server could not be asked: once more after a while, and a lasting errand until it can be."""
        with self._change:
            if self._ends_at is not None:
                return
            if errand.lasting or errand.tries < TRIES:
                self._errands.setdefault(key, errand)
            if all(each.tries for each in self._errands.values()):
                self._change.wait_for(lambda: self._ends_at is not None, AWAY_SECONDS)
