"""Logs: readable on a terminal, JSON elsewhere."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any, TextIO, cast

import msgspec
import structlog
from structlog.tracebacks import ExceptionDictTransformer

from fairline.settings import LogFormat

_encode = msgspec.json.Encoder(enc_hook=repr).encode


def _json(line: Any, **_: Any) -> str:
    return _encode(line).decode()


class _Taken:
    """Where lines go while they are taken. That they are not, since the disk is full or whoever read them is gone, must
    not stop what they tell of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def set_up_logs(kind: LogFormat) -> None:
    """Write structured logs to standard error, one line each."""
    text = kind is LogFormat.TEXT or (kind is LogFormat.AUTO and sys.stderr.isatty())
    # Tracebacks go without the values of variables: phone numbers, tokens and secrets are among them.
    frames = structlog.dev.RichTracebackFormatter(show_locals=False)
    exceptions = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    renderer: Any = (
        structlog.dev.ConsoleRenderer(exception_formatter=frames)
        if text
        else structlog.processors.JSONRenderer(serializer=_json)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if text else [exceptions]),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # One write a line: several workers share this stream.
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _Taken(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
