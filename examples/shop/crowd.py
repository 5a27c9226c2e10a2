"""Simulated visitors, who keep a line in front of the people who try the shop.

Each does over the public API what a browser does: takes a place, follows the stream until it is their turn, brings the
session token to the shop, looks around and goes. None of them buys. There are never more of them than the line is to be
long, and a few who are inside.
"""

from __future__ import annotations

import hmac
import json
import random
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode

#: Beside those who wait: on their way in, or inside.
INSIDE = 5
#: How often the line is read.
LOOK_SECONDS = 1.0
#: After a call that failed.
RETRY_SECONDS = 5.0
#: An open stream says something more often than this.
SILENCE_SECONDS = 60.0
#: What a call raises that failed; an answer of 400 and above does too. A broken answer is a ValueError.
FAILED = (OSError, HTTPException, ValueError)


class Visitor:
    """One of them. Known by a secret of their own: after a restart they find the place they had."""

    def __init__(self, name: str, fairline: str, queue: str, shop: str, secret: str) -> None:
        self._name = name
        self._fairline = fairline
        self._queue = queue
        self._shop = shop
        self._client_id = hmac.digest(secret.encode(), name.encode(), "sha256").hex()
        self._browser = urllib.request.build_opener()

    def join(self) -> dict[str, Any]:
        """Take a place, or come back to the existing one."""
        self._browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self._browser.addheaders = [("User-Agent", self._name), ("Accept", "text/html")]
        answer = self._call(f"/api/v1/queues/{self._queue}/join", {"client_id": self._client_id, "name": self._name})
        return dict(json.loads(answer))

    def visit(self, seconds: float) -> None:
        """Wait in line, look around in the shop for so long, and go."""
        ticket = self.join()
        if ticket["status"] == "active":  # inside since before a restart, and the session token is lost
            self._call("/api/v1/leave", {"token": ticket["token"], "final": True})
            return
        now = ticket if ticket["status"] != "waiting" else self._turn(ticket["token"])
        if now["status"] != "admitted":
            return
        # Always to the shop on this machine, wherever the queue leads by now.
        self._open(f"{self._shop}/?{urlencode({'fairline_session': now['session_token']})}")
        time.sleep(seconds)
        self._open(f"{self._shop}/leave", b"")

    def _turn(self, token: str) -> dict[str, Any]:
        """Follow the stream until the ticket does not wait any more."""
        query = urlencode({"queue": self._queue, "token": token})
        with self._browser.open(f"{self._fairline}/api/v1/stream?{query}", timeout=SILENCE_SECONDS) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    told = dict(json.loads(line[5:]))
                    if told.get("status", "waiting") != "waiting":
                        return told
        raise ConnectionError("The stream ended.")

    def _call(self, path: str, body: dict[str, Any]) -> bytes:
        headers = {"Content-Type": "application/json"}
        return self._open(urllib.request.Request(self._fairline + path, json.dumps(body).encode(), headers))

    def _open(self, address: str | urllib.request.Request, body: bytes | None = None) -> bytes:
        with self._browser.open(address, body, timeout=10) as answer:
            return bytes(answer.read())


class Crowd:
    """As many visitors as it takes for a line of `size`; each stays in the shop for about `seconds`."""

    def __init__(self, size: int, seconds: float, new_visitor: Callable[[str], Visitor], waiting: Callable[[], int]):
        self._size = size
        self._seconds = seconds
        self._waiting = waiting
        self._idle = deque(new_visitor(f"Simulated visitor {number + 1}") for number in range(size + INSIDE))

    def gather(self) -> None:
        """Make the line as long as it should be. After a restart it is so, and the next ones to come find themselves in
        it already."""
        for _ in range(self._size - self._waiting()):
            if not self._idle:
                return
            visitor = self._idle.popleft()
            try:
                visitor.join()
            finally:  # a join that failed is tried again
                threading.Thread(target=self._accompany, args=(visitor,), daemon=True).start()

    def keep(self) -> None:
        """Keep it so, for good."""
        while True:
            try:
                self.gather()
            except FAILED:
                time.sleep(RETRY_SECONDS)
            time.sleep(LOOK_SECONDS)

    def _accompany(self, visitor: Visitor) -> None:
        while True:
            try:
                visitor.visit(self._seconds * random.uniform(0.7, 1.3))
            except FAILED:
                time.sleep(RETRY_SECONDS)
            else:
                self._idle.append(visitor)
                return
