"""The calls about webhooks."""

from __future__ import annotations

from msgspec import UNSET

from fairline.domain.webhook import Webhook
from fairline.settings import PrivateAddresses
from fairline.store import Role
from fairline.web.admin.deliveries import PAGE, DeliveryList, PingAnswer, Replayed, delivery_rows, wanted_state
from fairline.web.admin.operator_call import DONE, Call, OperatorCalls, Operators
from fairline.web.admin.webhook_manager import WebhookManager
from fairline.web.admin.webhook_wire import MadeWebhook, NewWebhook, WebhookAnswer, WebhookChanges, WebhookList
from fairline.web.admin.wire import Nothing
from fairline.web.api.people import named_queue
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class WebhookCalls(OperatorCalls):
    """The calls about webhooks."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        allowed = operators.context.settings.webhook_private_addresses is PrivateAddresses.ALLOW
        self._webhooks = WebhookManager(operators.service.store, private=allowed)

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.ADMIN,
                "POST /webhooks",
                "Create a webhook, which receives events from now on. The secret is shown only once.",
                self.create,
                {201: MadeWebhook},
                takes=NewWebhook,
                problems=("queue_not_found", "too_many_webhooks"),
            ),
            self._row(
                Role.VIEWER, "GET /webhooks", "All webhooks, without their secrets.", self.all, {200: WebhookList}
            ),
            self._row(Role.VIEWER, "GET /webhooks/{webhook}", "One webhook.", self.one, {200: WebhookAnswer}),
            self._row(
                Role.ADMIN,
                "PATCH /webhooks/{webhook}",
                "Change a webhook, or pause it.",
                self.change,
                {200: WebhookAnswer},
                takes=WebhookChanges,
            ),
            self._row(
                Role.ADMIN,
                "DELETE /webhooks/{webhook}",
                "Remove a webhook with its pending deliveries.",
                self.remove,
                {204: None},
            ),
            self._row(
                Role.OPERATOR,
                "POST /webhooks/{webhook}/test",
                "Send a ping now, and answer the outcome.",
                self.test,
                {200: PingAnswer},
                takes=Nothing,
            ),
            *delivery_rows(self._operators, "/webhooks/{webhook}", self.deliveries, self.replay_one, self.replay_all),
        ]

    async def create(self, call: Call) -> Response:
        """Create a webhook."""
        body = call.take(NewWebhook)
        queue = None if body.queue is None else named_queue(body.queue)
        hook = await self._webhooks.create(body.url, queue, body.events, body.include_person, body.active)
        await call.record("webhook.created", webhook=hook.id, queue=hook.queue)
        shown = await self._shown(call, hook)
        content = MadeWebhook(
            **{name: getattr(shown, name) for name in WebhookAnswer.__struct_fields__}, secret=hook.secret
        )
        return private(201, content)

    async def all(self, call: Call) -> Response:
        """All webhooks."""
        hooks = await self._webhooks.all()
        counts = await self._webhooks.counts(hooks)
        whole = _sees_all(call)
        pairs = zip(hooks, counts, strict=True)
        return private(200, WebhookList([WebhookAnswer.of(hook, each, whole=whole) for hook, each in pairs]))

    async def one(self, call: Call) -> Response:
        """One webhook."""
        return private(200, await self._shown(call, await self._webhooks.one(_webhook(call))))

    async def change(self, call: Call) -> Response:
        """Change the fields given."""
        body = call.take(WebhookChanges)
        given = {name: getattr(body, name) for name in WebhookChanges.__struct_fields__}
        changes = {name: value for name, value in given.items() if value is not UNSET}
        hook = await self._webhooks.change(_webhook(call), changes)
        await call.record("webhook.changed", webhook=hook.id, changed=sorted(changes))
        return private(200, await self._shown(call, hook))

    async def remove(self, call: Call) -> Response:
        """Remove a webhook."""
        await self._webhooks.remove(_webhook(call))
        await call.record("webhook.removed", webhook=_webhook(call))
        return DONE

    async def test(self, call: Call) -> Response:
        """Send a ping."""
        call.take(Nothing)
        outcome, seconds = await self._webhooks.ping(_webhook(call))
        await call.record("webhook.tested", webhook=_webhook(call), delivered=outcome.sent)
        return private(200, PingAnswer.of(outcome, seconds))

    async def deliveries(self, call: Call) -> Response:
        """A page of pending deliveries or dead letters."""
        args = call.request.args
        state, limit = wanted_state(args), call.limit(PAGE, PAGE)
        page = await self._webhooks.deliveries(_webhook(call), state, args.get("cursor") or None, limit)
        return private(200, DeliveryList.of(page, state))

    async def replay_one(self, call: Call) -> Response:
        """Send one dead letter again."""
        call.take(Nothing)
        delivery = call.request.params["delivery"]
        await self._webhooks.replay(_webhook(call), delivery)
        await call.record("webhook.replayed", webhook=_webhook(call), count=1)
        return private(200, Replayed(1))

    async def replay_all(self, call: Call) -> Response:
        """Send all dead letters again."""
        call.take(Nothing)
        count = await self._webhooks.replay_all(_webhook(call))
        await call.record("webhook.replayed", webhook=_webhook(call), count=count)
        return private(200, Replayed(count))

    async def _shown(self, call: Call, hook: Webhook) -> WebhookAnswer:
        (counts,) = await self._webhooks.counts([hook])
        return WebhookAnswer.of(hook, counts, whole=_sees_all(call))


def _webhook(call: Call) -> str:
    return call.request.params["webhook"]


def _sees_all(call: Call) -> bool:
    """Whether the caller sees complete URLs. They may contain secrets, so a viewer does not."""
    return call.staff.role is not Role.VIEWER
