"""What the supervisor tells a worker, over its standard input. Apart from the worker itself, so that the supervisor,
which answers no request, need not load all that does."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from fairline.settings import ServerSettings

#: How long requests under way may take once the worker is told to end.
GRACE_SECONDS = 10


class WorkerSettings(msgspec.Struct):
    """The settings, and what differs between the workers of a server: `listening` is the socket that it inherits,
    `place` its number among them."""

    settings: ServerSettings
    secret: bytes
    listening: int | None
    place: int


def worker_settings_of(settings: ServerSettings, secret: bytes, listening: int | None, place: int) -> bytes:
    """The orders for a worker."""
    return msgspec.json.encode(WorkerSettings(settings, secret, listening, place), enc_hook=str) + b"\n"


def read_worker_settings(given: BinaryIO) -> WorkerSettings:
    """The orders, by the worker. One line: the pipe stays open as long as the supervisor lives."""
    return msgspec.json.decode(given.readline(), type=WorkerSettings, dec_hook=lambda kind, value: kind(value))
