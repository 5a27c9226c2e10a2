"""The calls to the server that no visitor waits for: activity, completion, the renewal of keys.

One background thread makes them. It starts with the first report, and so after the site's server has forked. The number
of waiting reports is limited, and an error in one is logged and goes no further.
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

#: How long the remaining reports may take when the site shuts down.
END_SECONDS = 2.0
#: How often a report that may be dropped is tried.
TRIES = 2


@dataclass(slots=True)
class _Report:
    send: Callable[[], object]
    lasting: bool
    tries: int = 0


class Reporter:
    """Sends reports one after the other. One that is `lasting` is kept until the server has received it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reports: OrderedDict[Hashable, _Report] = OrderedDict()
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ends_at: float | None = None

    def run(self, key: Hashable, send: Callable[[], object], *, lasting: bool = False) -> None:
        """Call `send` soon in the background, unless a report with the same key is waiting already."""
        with self._change:
            if self._ends_at is not None or key in self._reports:
                return
            if len(self._reports) >= self._limit and not (lasting and self._make_room()):
                log.warning("Too many reports wait (%d); one is dropped.", self._limit)
                return
            self._reports[key] = _Report(send, lasting)
            self._change.notify()
            self._begin()

    def close(self) -> None:
        """Send the remaining reports, for at most two seconds, and end the thread."""
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
        """How many reports are waiting."""
        return len(self._reports)

    def _make_room(self) -> bool:
        """Drop the oldest report that may be dropped."""
        for key, report in self._reports.items():
            if not report.lasting:
                del self._reports[key]
                return True
        return False

    def _begin(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="fairline-reports", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # The interpreter is ending, or no thread is left. The site's request must not fail because of that.
                log.warning("Reports to the Fairline server cannot be sent: %s", error)
                return
            self._thread = thread
            # Send the remaining reports before the interpreter stops daemon threads.
            atexit.register(self.close)

    def _work(self) -> None:
        while (found := self._next()) is not None:
            key, report = found
            report.tries += 1
            try:
                report.send()
            except ServerAway:
                self._try_again(key, report)
            except Exception:
                log.exception("A report to the Fairline server went wrong.")

    def _next(self) -> tuple[Hashable, _Report] | None:
        """Wait for the next report; None once it is time to end."""
        with self._change:
            while not self._reports and self._ends_at is None:
                self._change.wait()
            if not self._reports or (self._ends_at is not None and time.monotonic() > self._ends_at):
                return None
            return self._reports.popitem(last=False)

    def _try_again(self, key: Hashable, report: _Report) -> None:
        """The server could not be asked: try the report once more after a while, and a lasting one until it arrives."""
        with self._change:
            if self._ends_at is not None:
                return
            if report.lasting or report.tries < TRIES:
                self._reports.setdefault(key, report)
            if all(each.tries for each in self._reports.values()):
                self._change.wait_for(lambda: self._ends_at is not None, AWAY_SECONDS)
