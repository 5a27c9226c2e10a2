"""Creates, changes, removes and tests webhooks, and reads and replays their failed deliveries."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from fairline.domain.queue import QueueId
from fairline.domain.webhook import PING, Body, Topic, Webhook, check_url
from fairline.errors import (
    AddressRefused,
    InvalidRequest,
    TooManyWebhooks,
    WebhookNotFound,
)
from fairline.keeper.delivery import Outcome
from fairline.keeper.outbound import check_literal
from fairline.keeper.webhooks import post
from fairline.service.dead_letters import DeadLetters
from fairline.store import BoxCounts, Delivery, DeliveryPage, DeliveryState, Store

#: The most webhooks: each costs the keepers a read per round.
MOST = 100
#: The time that a receiver has to answer a ping: less than the caller waits for the answer.
PING_SECONDS = 8.0


class WebhookManager:
    """The webhooks of a server."""

    def __init__(self, store: Store, *, private: bool) -> None:
        self._store = store
        self._dead_letters = DeadLetters(store)
        self._private = private

    async def create(
        self, url: str, queue: QueueId | None, events: tuple[Topic, ...], include_person: bool, active: bool
    ) -> Webhook:
        """Create a webhook, which receives events from now on."""
        self._check_url(url)
        if len(await self.all()) >= MOST:
            raise TooManyWebhooks(MOST)
        # This refuses a queue that does not exist: the webhook would never receive anything.
        newest = await self._store.newest_events() if queue is None else {queue: await self._store.last_event(queue)}
        hook = Webhook(
            id=secrets.token_hex(6),
            url=url,
            queue=queue,
            events=tuple(dict.fromkeys(events)),
            include_person=include_person,
            active=active,
            secret=f"whsec_{secrets.token_urlsafe(32)}",
            created=await self._store.time(),
        )
        # The outbox first: a keeper that reads the webhook must know from which event to start.
        await self._store.outbox.open(hook.id, newest)
        await self._store.registry.put_webhook(hook)
        return hook

    async def change(self, hook_id: str, changes: dict[str, Any]) -> Webhook:
        """Change the fields given."""
        if "url" in changes:
            self._check_url(changes["url"])
        hook = msgspec.structs.replace(await self.one(hook_id), **changes)
        await self._store.registry.put_webhook(hook)
        return hook

    async def remove(self, hook_id: str) -> None:
        """Remove a webhook with its pending deliveries."""
        hook = await self.one(hook_id)
        # The outbox first: after a failure in between, the call can be repeated, and nothing is left behind.
        await self._store.outbox.drop(hook.id)
        await self._store.registry.remove_webhook(hook.id)

    async def all(self) -> list[Webhook]:
        """All webhooks, oldest first."""
        return await self._store.registry.webhooks()

    async def one(self, hook_id: str) -> Webhook:
        """One webhook."""
        hook = await self._store.registry.webhook(hook_id)
        if hook is None:
            raise WebhookNotFound(hook_id)
        return hook

    async def counts(self, hooks: list[Webhook]) -> list[BoxCounts]:
        """The number of pending and dead deliveries of each webhook."""
        return await self._dead_letters.counts([hook.id for hook in hooks])

    async def ping(self, hook_id: str) -> tuple[Outcome, float]:
        """Send a ping now, without the outbox. Returns the outcome and the seconds it took."""
        hook = await self.one(hook_id)
        body = Body(id=secrets.token_hex(16), type=PING, queue=hook.queue, at=datetime.now(UTC))
        delivery = Delivery(id=body.id, payload=body.text(), made=0, tries=1, at=0)
        began = time.monotonic()
        outcome = await post(hook, self._private, delivery, PING_SECONDS)
        return outcome, time.monotonic() - began

    async def deliveries(self, hook_id: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        """A page of pending deliveries or dead letters."""
        hook = await self.one(hook_id)
        return await self._dead_letters.page(hook.id, state, cursor, limit)

    async def replay(self, hook_id: str, delivery_id: str) -> None:
        """Send one dead letter again."""
        await self._dead_letters.replay((await self.one(hook_id)).id, delivery_id)

    async def replay_all(self, hook_id: str) -> int:
        """Send all dead letters again that exist now. Returns their number."""
        return await self._dead_letters.replay_all((await self.one(hook_id)).id)

    def _check_url(self, url: str) -> None:
        check_url(url)
        try:
            check_literal(url, self._private)
        except AddressRefused as error:
            raise InvalidRequest("url", error.message) from None
