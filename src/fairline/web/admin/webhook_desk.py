"""What operators do with webhooks: make, change and remove them, try them, look at what did not arrive."""

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

#: Each costs the keepers a look a round.
MOST = 100
#: What a receiver has to answer a ping: less than whoever asked for it waits for us.
PING_SECONDS = 8.0


class WebhookDesk:
    """The webhooks of a server."""

    def __init__(self, store: Store, *, private: bool) -> None:
        self._store = store
        self._dead_letters = DeadLetters(store)
        self._private = private

    async def create(
        self, url: str, queue: QueueId | None, events: tuple[Topic, ...], include_person: bool, active: bool
    ) -> Webhook:
        """A new webhook, which hears of what happens from now on."""
        self._check_url(url)
        if len(await self.all()) >= MOST:
            raise TooManyWebhooks(MOST)
        # A name with a typing error would never hear of anything: it is refused here.
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
        # The outbox first: a keeper that sees the webhook must know from where to go on.
        await self._store.outbox.open(hook.id, newest)
        await self._store.registry.put_webhook(hook)
        return hook

    async def change(self, hook_id: str, changes: dict[str, Any]) -> Webhook:
        """Change what is given."""
        if "url" in changes:
            self._check_url(changes["url"])
        hook = msgspec.structs.replace(await self.one(hook_id), **changes)
        await self._store.registry.put_webhook(hook)
        return hook

    async def remove(self, hook_id: str) -> None:
        """Take a webhook away, with all that was still to be sent."""
        hook = await self.one(hook_id)
        # The outbox first: if we fail in between, the call can be made again, and nothing is left behind.
        await self._store.outbox.drop(hook.id)
        await self._store.registry.remove_webhook(hook.id)

    async def all(self) -> list[Webhook]:
        """All of them, oldest first."""
        return await self._store.registry.webhooks()

    async def one(self, hook_id: str) -> Webhook:
        """One of them."""
        hook = await self._store.registry.webhook(hook_id)
        if hook is None:
            raise WebhookNotFound(hook_id)
        return hook

    async def counts(self, hooks: list[Webhook]) -> list[BoxCounts]:
        """How many of each are pending and dead."""
        return await self._dead_letters.counts([hook.id for hook in hooks])

    async def ping(self, hook_id: str) -> tuple[Outcome, float]:
        """Send a ping now, past the outbox; what became of it, and the seconds it took."""
        hook = await self.one(hook_id)
        body = Body(id=secrets.token_hex(16), type=PING, queue=hook.queue, at=datetime.now(UTC))
        delivery = Delivery(id=body.id, payload=body.text(), made=0, tries=1, at=0)
        began = time.monotonic()
        outcome = await post(hook, self._private, delivery, PING_SECONDS)
        return outcome, time.monotonic() - began

    async def deliveries(self, hook_id: str, state: DeliveryState, cursor: str | None, limit: int) -> DeliveryPage:
        """What is still to be sent, or was given up."""
        hook = await self.one(hook_id)
        return await self._dead_letters.page(hook.id, state, cursor, limit)

    async def replay(self, hook_id: str, delivery_id: str) -> None:
        """Send one dead letter again."""
        await self._dead_letters.replay((await self.one(hook_id)).id, delivery_id)

    async def replay_all(self, hook_id: str) -> int:
        """Send all dead letters again, but for those that die of it meanwhile; how many there were."""
        return await self._dead_letters.replay_all((await self.one(hook_id)).id)

    def _check_url(self, url: str) -> None:
        check_url(url)
        try:
            check_literal(url, self._private)
        except AddressRefused as error:
            raise InvalidRequest("url", error.message) from None
