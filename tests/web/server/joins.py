"""Joins as bytes for the fast path or the ASGI application, and how many of them were done."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.service.fairline import Fairline
from tests.web.raw import Raw, request, slow

STATUS = "/api/v1/status"
#: How a path is written so that the fast path answers, or the ASGI application.
WAYS: list[Callable[[str], str]] = [str, slow]
BOTH_WAYS = pytest.mark.parametrize("way", WAYS, ids=["fast", "full"])


def join_path(queue: QueueId) -> str:
    return f"/api/v1/queues/{queue}/join"


def join(queue: QueueId, way: Any = str, **headers: str) -> bytes:
    """Somebody new joins."""
    body = json.dumps({"client_id": secrets.token_hex(8)}).encode()
    return request("POST", way(join_path(queue)), body, **headers)


async def joined(service: Fairline, queue: QueueId) -> int:
    return (await service.stats(queue)).totals.joined


async def asked_join(raw: Raw, queue: QueueId) -> Any:
    await raw.send(join(queue))
    return (await raw.answer()).json()
