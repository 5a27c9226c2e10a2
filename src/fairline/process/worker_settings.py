"""The settings that the supervisor passes to a worker over standard input. They are apart from the worker module, so
that the supervisor, which answers no requests, need not load the code that does."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from fairline.settings import ServerSettings

#: Seconds that requests under way may still take once the worker is to end.
GRACE_SECONDS = 10


class WorkerSettings(msgspec.Struct):
    """The settings of the server, its secret, and what differs between its workers: `listening` is the file number of
    the socket that the worker inherits, `place` its number among the workers."""

    settings: ServerSettings
    secret: bytes
    listening: int | None
    place: int


def worker_settings_of(settings: ServerSettings, secret: bytes, listening: int | None, place: int) -> bytes:
    """The settings of a worker, encoded as one line of JSON."""
    return msgspec.json.encode(WorkerSettings(settings, secret, listening, place), enc_hook=str) + b"\n"


def read_worker_settings(pipe: BinaryIO) -> WorkerSettings:
    """The settings as the worker reads them. It reads one line only: the pipe stays open while the supervisor lives."""
    return msgspec.json.decode(pipe.readline(), type=WorkerSettings, dec_hook=lambda kind, value: kind(value))
