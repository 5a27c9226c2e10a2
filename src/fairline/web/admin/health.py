"""How the store and the processes are."""

from __future__ import annotations

import time

from msgspec import Struct

from fairline.store import Kind, Part, Role, StoreWarning
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class StoreHealth(Struct, frozen=True):
    """The store, as this worker finds it."""

    kind: Kind
    round_trip_ms: float
    """How long it took to answer just now."""
    cautions: list[StoreWarning]
    """What of its set-up would hurt on the night."""


class WorkerHealth(Struct, frozen=True):
    """A process that was seen in the last minute."""

    name: str
    """Its machine and its number there."""
    part: Part
    """What it does: `web` answers people, `keeper` lets them in. One process may do both."""
    seen_seconds_ago: float


class HealthAnswer(Struct, frozen=True):
    """How the store and the processes are."""

    store: StoreHealth
    workers: list[WorkerHealth]
    keeper_seconds_ago: float | None
    """When any keeper last went round; null if never."""


class Health(OperatorCalls):
    """What operators read of the server."""

    def rows(self) -> list[Operation]:
        """Its call."""
        about = "How the store and the processes are, on all machines."
        return [self._operators.row(Role.VIEWER, "GET /health", about, self.health, {200: HealthAnswer})]

    async def health(self, call: Call) -> Response:
        """Ask the store, which knows of everyone."""
        store = self._service.store
        cautions = await store.registry.warnings()
        workers = await store.registry.workers()
        kept = await store.registry.last_alive("keeper")
        began = time.perf_counter()
        now = await store.time()
        took = round((time.perf_counter() - began) * 1000, 2)

        def ago(at: int) -> float:
            return max(0.0, round((now - at) / 1000, 1))

        answer = HealthAnswer(
            store=StoreHealth(store.kind, took, cautions),
            workers=[WorkerHealth(each.name, each.part, ago(each.at)) for each in workers],
            keeper_seconds_ago=None if kept is None else ago(kept),
        )
        return private(200, answer)
