"""The API calls that need no token: the state of a queue, the public keys, and the health of the server."""

from __future__ import annotations

import structlog

from fairline.errors import InvalidRequest, StoreError
from fairline.keeper.keeper import Keeper
from fairline.web.api.accuracy import FRESH_SECONDS, Accuracies
from fairline.web.api.people import named_queue
from fairline.web.context import Context
from fairline.web.server.http import NO_STORE, Request, Response, Sent, encode

log = structlog.get_logger()


class Public:
    """The calls that need no token."""

    def __init__(self, context: Context, keeper: Keeper | None) -> None:
        self._context = context
        self._keeper = keeper
        self._accuracies = Accuracies(context.service)

    async def queue(self, request: Request) -> Response:
        """The state of a queue, the same for everyone."""
        state = await self._context.queue_states.state(named_queue(request.params["queue"]))
        return Response(200, encode(state.answer), headers=((b"cache-control", b"public, max-age=1"),))

    async def stream(self, request: Request) -> Sent:
        """The state of a queue, live: see queue_streams."""
        if self._context.queue_streams is None:
            raise InvalidRequest("", "This server has no streams. Ask for the state of the queue instead.")
        address = self._context.proxies.counted_address(request)
        return await self._context.queue_streams.open(address, named_queue(request.params["queue"]))

    async def accuracy(self, request: Request) -> Response:
        """How accurate the waits were that a queue showed, the same for everyone."""
        answer = await self._accuracies.of(named_queue(request.params["queue"]))
        age = b"public, max-age=%d" % FRESH_SECONDS
        return Response(200, encode(answer), headers=((b"cache-control", age),))

    async def jwks(self, request: Request) -> Response:
        """The public keys, so that a site can check session tokens by itself."""
        body = encode(self._context.service.keyring.jwks())
        return Response(200, body, headers=((b"cache-control", b"public, max-age=300"),))

    async def _has_keeper(self) -> bool:
        """Whether the keeper of this worker runs; or, if it has none, one in another process."""
        if self._keeper is not None:
            return self._keeper.alive
        store = self._context.service.store
        last = await store.registry.last_alive("keeper")
        return last is not None and await store.time() - last < 3000 * self._context.settings.sweep_seconds

    async def healthz(self, request: Request) -> Response:
        """Whether this process answers."""
        return Response(200, encode({"status": "ok"}), headers=NO_STORE)

    async def readyz(self, request: Request) -> Response:
        """Whether the store answers and a keeper runs."""
        checks: dict[str, str] = {}
        try:
            await self._context.service.store.time()
            checks["store"] = "ok"
            checks["keeper"] = "ok" if await self._has_keeper() else "has not run recently"
        except StoreError as error:
            log.warning("readyz.store_away", error=error.message)
            checks["store"] = "does not answer"
        ready = all(state == "ok" for state in checks.values())
        body = encode({"status": "ready" if ready else "not ready", "checks": checks})
        retry = () if ready else ((b"retry-after", b"2"),)
        return Response(200 if ready else 503, body, headers=NO_STORE + retry)
