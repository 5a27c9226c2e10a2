"""Logs: readable on a terminal, JSON elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import Any

import msgspec
import structlog
from structlog.tracebacks import ExceptionDictTransformer

from fairline.settings import LogFormat

_encode = msgspec.json.Encoder(enc_hook=repr).encode


def _json(line: Any, **_: Any) -> str:
    return _encode(line).decode()


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
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
