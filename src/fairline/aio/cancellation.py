"""Keeps a cancellation that the standard library may lose."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cancellation_kept() -> Iterator[None]:
    """Before Python 3.12, asyncio.wait_for, by which a client of the store sends, can lose a cancellation: a loop that
    calls the store would then never end. If the task was cancelled within the block, this raises it again."""
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    try:
        yield
    finally:
        if task and task.cancelling() > cancelled:
            raise asyncio.CancelledError
