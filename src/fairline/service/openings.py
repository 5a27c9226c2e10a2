"""The use cases of openings: operators plan them. What happens at their times is in `keeper/openings.py`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from fairline.domain.opening import Opening, OpeningState
from fairline.domain.opening_steps import before, in_force, with_changed, with_new, without
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import OpeningNotFound
from fairline.service.fairline import Fairline
from fairline.store import Configured


class OpeningAt(Struct, frozen=True):
    """An opening, and the settings of its queue with their version."""

    opening: Opening
    configured: Configured


class Openings:
    """The openings of all queues. It adds to `Fairline` and has no state of its own."""

    def __init__(self, service: Fairline) -> None:
        self._service = service

    async def all(self, queue: QueueId) -> tuple[Opening, ...]:
        """Return the openings of a queue, by when they begin."""
        return (await self._service.settings(queue)).settings.openings

    async def one(self, queue: QueueId, opening: str) -> OpeningAt:
        """Return an opening, or raise OpeningNotFound."""
        configured = await self._service.settings(queue)
        return OpeningAt(_named(queue, configured.settings, opening), configured)

    async def create(
        self, queue: QueueId, fields: dict[str, Any], version: int | None = None, by: str = ""
    ) -> OpeningAt:
        """Plan an opening with these fields."""
        opening = msgspec.convert({**fields, "id": secrets.token_hex(5)}, Opening)
        now = await self._service.store.time()
        return await self._changed(queue, opening.id, lambda present: with_new(present, opening, now), version, by)

    async def change(
        self, queue: QueueId, opening: str, fields: dict[str, Any], version: int | None = None, by: str = ""
    ) -> OpeningAt:
        """Change these fields of an opening. Of one that is in progress, only what still lies ahead can be changed."""
        now = await self._service.store.time()

        def change(present: QueueSettings) -> QueueSettings:
            before = _named(queue, present, opening)
            return with_changed(present, before, msgspec.structs.replace(before, **fields), now)

        return await self._changed(queue, opening, change, version, by)

    async def delete(self, queue: QueueId, opening: str, version: int | None = None, by: str = "") -> Configured:
        """Delete an opening. One that is in progress is over: the settings from before it are in force again. What was
        published of its draw stays, so that everyone can still check it."""
        deleted: list[Opening] = []

        def change(present: QueueSettings) -> QueueSettings:
            deleted[:] = [_named(queue, present, opening)]
            return without(present, *deleted)

        configured = await self._service.change(queue, change, version, by)
        if deleted[0].state in (OpeningState.SCHEDULED, OpeningState.PREQUEUE):  # nobody was drawn
            await self._service.store.forget_draws(queue, [opening])
        return configured

    async def preview(self, queue: QueueId, opening: str) -> QueueSettings:
        """Return the settings of the queue as they will be while an opening is in progress."""
        found = await self.one(queue, opening)
        settings, planned = found.configured.settings, found.opening
        return in_force(before(settings, planned), planned) if planned.state is OpeningState.SCHEDULED else settings

    async def _changed(
        self,
        queue: QueueId,
        opening: str,
        change: Callable[[QueueSettings], QueueSettings],
        version: int | None,
        by: str,
    ) -> OpeningAt:
        configured = await self._service.change(queue, change, version, by)
        return OpeningAt(_named(queue, configured.settings, opening), configured)


def _named(queue: QueueId, settings: QueueSettings, opening: str) -> Opening:
    found = next((each for each in settings.openings if each.id == opening), None)
    if found is None:
        raise OpeningNotFound(queue, opening[:80])
    return found
