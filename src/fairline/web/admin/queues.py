"""The calls about queues: their settings, their stock and their message."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec

from fairline.domain.queue import QueueId, queue_id
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import checked
from fairline.errors import InvalidRequest, InvalidSettings, QueueNotFound
from fairline.service.fairline import Fairline
from fairline.store import Configured, Role
from fairline.web.admin.operator_call import BASE, DONE, Call, OperatorCalls, Operators
from fairline.web.admin.queue_wire import AdminQueue, NewQueue, QueueChanges, QueueList, Say, Stock, UserTokenKey
from fairline.web.pages.drawing import Drawing
from fairline.web.server.compression import Compression
from fairline.web.server.http import Headers, Response, private
from fairline.web.server.operations import Operation

_fields = msgspec.json.Decoder(dict[str, Any])
#: One entity tag or a list of them. A bare version is accepted too.
_TAGS = re.compile(r'\s*(?:(?:W/)?"[^"]*"|[0-9]+)\s*(?:,\s*(?:W/)?"[^"]*"\s*)*', re.ASCII)
_VERSION = re.compile(r'(?<!W/)"([0-9]{1,16})"|^\s*([0-9]{1,16})\s*$', re.ASCII)


class Queues(OperatorCalls):
    """The calls about a queue as a whole."""

    def __init__(self, operators: Operators, drawing: Drawing) -> None:
        super().__init__(operators)
        self._drawing = drawing

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        one = {200: AdminQueue}
        changed, invalid = ("settings_changed", "invalid_settings"), ("invalid_settings",)
        return [
            self._row(
                Role.VIEWER,
                "GET /queues",
                "All queues with their settings.",
                self.all,
                {200: QueueList},
                compression=Compression.EACH,
            ),
            self._row(
                Role.ADMIN,
                "POST /queues",
                "Create a queue.",
                self.create,
                {201: AdminQueue},
                takes=NewQueue,
                problems=("queue_exists", *invalid),
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}",
                "One queue with its settings.",
                self.one,
                one,
                compression=Compression.EACH,
            ),
            self._row(
                Role.OPERATOR,
                "PATCH /queues/{queue}",
                "Change the settings given, and no others.",
                self.change,
                one,
                takes=QueueChanges,
                headers=("If-Match",),
                problems=changed,
            ),
            self._row(
                Role.ADMIN,
                "DELETE /queues/{queue}",
                "Delete a queue with all its tickets.",
                self.delete,
                {204: None},
                headers=("If-Match",),
                problems=("settings_changed",),
            ),
            self._row(
                Role.ADMIN,
                "GET /queues/{queue}/user-token-key",
                "The key with which a site signs who a visitor of this queue is. Keep it on a server.",
                self.user_token_key,
                {200: UserTokenKey},
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/stock",
                "Set how much there is to sell in total.",
                self.set_stock,
                one,
                takes=Stock,
            ),
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/message",
                "Show a message to everyone who waits.",
                self.say,
                one,
                takes=Say,
                problems=invalid,
            ),
        ]

    async def user_token_key(self, call: Call) -> Response:
        """The key of a queue. It is derived each time, and stored nowhere."""
        await self._service.settings(call.queue)
        await call.record("queue.user_token_key")
        return private(200, UserTokenKey(self._service.identity.users.key(call.queue)))

    async def all(self, call: Call) -> Response:
        """All queues, by id."""
        queues = await self._service.queues()
        found = await asyncio.gather(*(self._read_or_none(queue) for queue in queues))
        return private(200, QueueList([queue for queue in found if queue is not None]))

    async def _read_or_none(self, queue: QueueId) -> AdminQueue | None:
        try:
            snapshot, settings = await self._service.snapshot(queue)
        except QueueNotFound:
            return None  # deleted since the names were read
        return AdminQueue.of(queue, settings, snapshot.version, snapshot)

    async def create(self, call: Call) -> Response:
        """Create a queue with the settings given, and defaults for the others."""
        settings = self._settings_in(call)
        name = settings.pop("id", None)
        if not isinstance(name, str):
            raise InvalidSettings("id", "must be given as text: the name of the queue in URLs")
        await self._try_out(queue_id(name), settings, QueueSettings())
        configured = await self._service.create(name, settings, call.staff.id)
        queue = QueueId(name)
        await call.record("queue.set_up", queue=queue, settings=sorted(settings))
        location = (b"location", f"{BASE}/queues/{queue}".encode())
        return await queue_answer(self._service, queue, configured, status=201, headers=(location,))

    async def one(self, call: Call) -> Response:
        """One queue."""
        snapshot, settings = await self._service.snapshot(call.queue)
        # The settings may be newer than the snapshot's version, never older. A change based on them is then refused.
        content = AdminQueue.of(call.queue, settings, snapshot.version, snapshot)
        return private(200, content, (etag(content.version),))

    async def change(self, call: Call) -> Response:
        """Change the settings given, and no others."""
        changes = self._settings_in(call)
        if changes.get("page_template"):
            await self._try_out(call.queue, changes, (await self._service.settings(call.queue)).settings)
        expected = await expected_version(self._service, call)
        configured = await self._service.configure(call.queue, changes, expected, call.staff.id)
        await call.record("queue.configured", settings=sorted(changes), version=configured.version)
        return await queue_answer(self._service, call.queue, configured)

    async def delete(self, call: Call) -> Response:
        """Delete a queue with all its tickets."""
        await self._service.delete(call.queue, await expected_version(self._service, call))
        await call.record("queue.deleted")
        return DONE

    async def set_stock(self, call: Call) -> Response:
        """Set the total stock, and so what is left to sell."""
        body = call.take(Stock)
        configured = await self._service.set_stock(call.queue, body.total, by=call.staff.id)
        await call.record("queue.configured", settings=["stock"], version=configured.version, stock=body.total)
        return await queue_answer(self._service, call.queue, configured)

    async def say(self, call: Call) -> Response:
        """Show a message to everyone who waits. An empty one removes it."""
        configured = await self._service.configure(call.queue, {"message": call.take(Say).text}, by=call.staff.id)
        await call.record("queue.configured", settings=["message"], version=configured.version)
        return await queue_answer(self._service, call.queue, configured)

    async def _try_out(self, queue: QueueId, changes: dict[str, Any], before: QueueSettings) -> None:
        """Refuse a custom template that cannot be rendered, before it is saved."""
        if changes.get("page_template"):
            await self._drawing.try_out(queue, checked(changes, before))

    def _settings_in(self, call: Call) -> dict[str, Any]:
        """The settings in a body, by name, not yet checked: `queue.checked` does that."""
        return call.request.decode(_fields, default={})


async def queue_answer(
    service: Fairline, queue: QueueId, configured: Configured, *, status: int = 200, headers: Headers = ()
) -> Response:
    """The answer to a change: the queue with its new settings."""
    snapshot, _ = await service.snapshot(queue)
    content = AdminQueue.of(queue, configured.settings, configured.version, snapshot)
    return private(status, content, (etag(configured.version), *headers))


async def expected_version(service: Fairline, call: Call) -> int | None:
    """The version that If-Match requires; None if any version is accepted."""
    text = call.request.text(b"if-match")
    if text is None or text.strip() == "*":
        return None
    if not _TAGS.fullmatch(text):
        raise InvalidRequest("If-Match", f'must be the ETag of the queue, such as "5", or *; got {text!r:.80}')
    versions = [int(quoted or bare) for quoted, bare in _VERSION.findall(text)]
    if len(versions) > 1:
        found = (await service.settings(call.queue)).version
        return found if found in versions else versions[0]
    return versions[0] if versions else 0  # an unknown tag matches no version


def etag(version: int) -> tuple[bytes, bytes]:
    """The ETag of a queue: the version of its settings."""
    return b"etag", f'"{version}"'.encode()
