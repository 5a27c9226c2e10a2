"""The call about the health of the store and of the processes."""

from __future__ import annotations

import time

from msgspec import Struct

from fairline.store import Kind, Part, Role, StoreWarning
from fairline.web.admin.operator_call import Call, OperatorCalls
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class StoreHealth(Struct, frozen=True):
    """The store, as this worker sees it."""

    kind: Kind
    round_trip_ms: float
    """How long it took to answer this time."""
    cautions: list[StoreWarning]
    """Problems of its configuration."""


class WorkerHealth(Struct, frozen=True):
    """A process that was seen in the last minute."""

    name: str
    """Its machine and its process id."""
    part: Part
    """Its work: `web` answers requests, `keeper` lets people in. One process may do both."""
    seen_seconds_ago: float


class HealthAnswer(Struct, frozen=True):
    """The health of the store and of the processes."""

    store: StoreHealth
    workers: list[WorkerHealth]
    keeper_seconds_ago: float | None
    """The time since the last round of any keeper; null if there was none."""


class Health(OperatorCalls):
    """The call about the health of the server."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        about = "The health of the store and of the processes on all machines."
        return [self._row(Role.VIEWER, "GET /health", about, self.health, {200: HealthAnswer})]

    async def health(self, call: Call) -> Response:
        """The health as the store knows it; every process reports to it."""
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
