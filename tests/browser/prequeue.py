"""A queue whose pre-queue has opened, and its start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.browser.venue import Queue, eventually


def _moment(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def open_prequeue(queue: Queue, **fields: Any) -> str:
    """Open a pre-queue with a draw, and return the id of its opening, which starts much later."""
    plan = {"prequeue_at": _moment(0.2), "starts_at": _moment(3600), "draw": "random", **fields}
    opening: str = queue.admin("POST", "/openings", json=plan)["id"]
    state = f"/openings/{opening}"
    eventually(lambda: queue.admin("GET", state)["state"] == "prequeue", "the pre-queue has opened")
    return opening


def start_soon(queue: Queue, opening: str) -> None:
    """Move the start to about now."""
    queue.admin("PATCH", f"/openings/{opening}", json={"starts_at": _moment(1.2)})
