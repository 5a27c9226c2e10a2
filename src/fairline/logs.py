"""Sets up logging: readable text on a terminal, JSON elsewhere."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO, cast

import msgspec
import structlog
from structlog.tracebacks import ExceptionDictTransformer

from fairline.domain.visible_text import visible, visible_json, visible_lines
from fairline.settings import LogFormat

_encode = msgspec.json.Encoder(enc_hook=repr).encode


def _json(line: Any, **_: Any) -> str:
    return visible_json(_encode(line).decode())


def _visible_values(_logger: Any, _name: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters: values that strangers wrote must not control the terminal."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in line.items()}


def _traceback(stream: TextIO, failure: Any) -> None:
    written = io.StringIO()
    structlog.dev.plain_traceback(written, failure)
    stream.write(visible_lines(written.getvalue()))


class _VisibleFormatter(logging.Formatter):
    """Escapes the log lines of libraries, which contain data from the network too."""

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record))


class _SafeStream:
    """A stream that ignores write errors. A log line that cannot be written, because the disk is full or the reader is
    gone, must not stop the work that it reports."""

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
    # Tracebacks leave out the values of variables, because these include phone numbers, tokens and secrets.
    exceptions = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    renderer: Any = (
        structlog.dev.ConsoleRenderer(exception_formatter=_traceback)
        if text
        else structlog.processors.JSONRenderer(serializer=_json)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _visible_values if text else exceptions,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # One write per line, because several workers share this stream.
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _SafeStream(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_VisibleFormatter("%(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
