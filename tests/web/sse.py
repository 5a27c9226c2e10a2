"""A client of event streams as a browser has one: it reads events, and comes back by itself when the stream ends."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from tests.backends import PATIENCE_SECONDS


class Event(msgspec.Struct):
    """One event of a stream, with the moment it came."""

    id: str
    type: str
    data: dict[str, Any]
    at: float


class EventSource:
    """Reads the stream of one ticket until closed. `events` has everything that came, over all connections."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._host, self._port, self._token = host, port, token
        self.events: list[Event] = []
        self.statuses: list[int] = []
        self.connections = self.kept_alive = self.alive = self.away = 0
        self.news: dict[str, Any] = {}
        """What came with the last event that says that all is well."""
        self.open = False
        self._retry = 3.0
        self._last_id = ""
        self._changed = asyncio.Condition()
        self._task = asyncio.create_task(self._run())

    @property
    def last(self) -> dict[str, Any]:
        """What was sent last about the ticket."""
        return next(event.data for event in reversed(self.events) if event.type != "message")

    def of(self, kind: str) -> list[Event]:
        """All events of a type."""
        return [event for event in self.events if event.type == kind]

    async def until(self, done: Any, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until `done(self)` holds."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: done(self))

    async def close(self) -> None:
        """Go away without a word."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            try:
                if await self._read() == 204:
                    return
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                self.open = False
            await asyncio.sleep(self._retry)

    async def _read(self) -> int:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            last = f"last-event-id: {self._last_id}\r\n" if self._last_id else ""
            writer.write(
                f"GET /api/v1/stream HTTP/1.1\r\nhost: {self._host}\r\nauthorization: Bearer {self._token}\r\n"
                f"accept: text/event-stream\r\n{last}\r\n".encode()
            )
            status = int((await reader.readuntil(b"\r\n\r\n"))[9:12])
            self.statuses.append(status)
            self.connections += 1
            self.open = status == 200
            await self._notify()
            if status == 200:
                while True:
                    await self._block((await reader.readuntil(b"\n\n")).decode())
            return status
        finally:
            writer.close()

    async def _block(self, text: str) -> None:
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        if "retry" in fields:
            self._retry = int(fields["retry"]) / 1000
        if fields.get("event") in ("alive", "away"):
            self.kept_alive += 1
            if fields["event"] == "alive":
                self.alive += 1
                self.news = msgspec.json.decode(fields["data"])
            else:
                self.away += 1
            await self._notify()
        elif "id" in fields:
            self._last_id = fields["id"]
            self.events.append(
                Event(fields["id"], fields["event"], msgspec.json.decode(fields["data"]), at=time.time())
            )
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
