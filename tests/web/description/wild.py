"""Random calls of every operation, and what an answer to them may be."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import httpx
import msgspec
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies
from schemathesis import GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from fairline.domain.tokens import Keyring
from fairline.service.fairline import Fairline
from fairline.settings import ServerSettings
from fairline.store import Store
from fairline.web.app import operations
from fairline.web.context import Context
from fairline.web.metrics.measurements import Metrics
from fairline.web.server.operations import Operation
from tests.web.running import RunningServer

Case: TypeAlias = schemathesis.Case[Any]

#: Of these a schema cannot say all: whether one goes with another, with the queue as it is set, or with what the server
#: answered before; what a number, an address or a time zone is. The fields are those that an answer of 422 names.
BEYOND_SCHEMA = {
    "after",
    "before",
    "by",
    "bypass_addresses",
    "bypass_agents",
    "closed_dates",
    "colour",
    "desk",
    "desks",
    "cursor",
    "day",
    "draw_grace_seconds",
    "email",
    "endpoint",
    "ends_at",
    "from",
    "heartbeat_timeout_seconds",
    "name",
    "opening",
    "opening_hours",
    "opens_at",
    "party_size",
    "phone",
    "phone_region",
    "prequeue_at",
    "priority_skip",
    "queue",
    "search",
    "series",
    "session_max_seconds",
    "starts_at",
    "status",
    "stock_url",
    "target_url",
    "time_zone",
    "to",
    "url",
    "p256dh",
    "place",
}

#: JSON Schema takes 34.0 for a whole number, and knows nothing of NUL, of halves of surrogate pairs, and of how a queue
#: is set.
BEYOND_JSON = re.compile(
    r"got `float`|whole number .*; got -?\d+\.0$|NUL|proper JSON|valid Unicode|without a heartbeat"
)

#: What a queue that is as it should be answers to a request that is as it should be.
TURNED_AWAY = {"queue_full", "queue_maintenance", "queue_closed"}

#: They do not end, and have tests of their own.
STREAMS = ("/api/v1/stream", "/api/v1/queues/{queue}/stream", "/api/v1/queues/{queues}/board/stream")


class Nowhere:
    """Stands where a store would be: the rows can be read, not used."""

    registry = None


ROWS = operations(Context(ServerSettings(), Fairline(cast(Store, Nowhere()), Keyring(bytes(32)))), None, Metrics())


class Wild:
    """A server of its own, for whatever comes, with proofs for every call."""

    def __init__(self, running: RunningServer) -> None:
        self.running = running
        base = f"{running.base_url}/api/v1"
        self._admin = httpx.Client(base_url=base, headers={"Authorization": f"Bearer {running.admin_key}"})
        self._public = httpx.Client(base_url=base)
        for name in ("calm", "wild"):
            queue = {"id": name, "admission": "manual", "join_limit_per_ip": 0}
            assert self._admin.post("/admin/queues", json=queue).status_code == 201
        self._joined("wild")
        self.api = schemathesis.openapi.from_url(f"{running.base_url}/openapi.json")
        self.api.config.generation.update(with_security_parameters=False)
        self.api.config.checks.negative_data_rejection.expected_statuses += ["410", "413"]
        self.api.config.checks.positive_data_acceptance.expected_statuses += ["410", "412"]
        self._turns = itertools.count()

    def close(self) -> None:
        self._admin.close()
        self._public.close()

    def check(self, case: Case) -> None:
        """Make a call, half of the time on something that is there, and check the answer."""
        excused: list[CheckFunction] = []
        there = {"queue": "wild", "ticket": 1, "name": "docs.css"}
        named = there.keys() & case.path_parameters.keys()
        if named and next(self._turns) % 2 and case.operation.label != "DELETE /api/v1/admin/queues/{queue}":
            case.path_parameters |= {name: there[name] for name in named}
            excused = [*excused, negative_data_rejection]  # it may be right now
        answer = case.call(headers=self._proof(case), timeout=60)
        case.validate_response(answer, excluded_checks=[*excused, *_excused(answer)])

    def _proof(self, case: Case) -> dict[str, str]:
        """What opens a call: a key for operators; for people and sites a ticket or a session of their own each time."""
        if "/admin/" in case.path:
            return {"Authorization": f"Bearer {self.running.admin_key}"}
        if not case.operation.definition.raw["security"]:
            return {}
        ticket = self._joined("calm")
        proof = {"Authorization": f"Bearer {ticket['token']}"}
        if "/session/" in case.path:
            self._admin.post(f"/admin/queues/calm/tickets/{ticket['ticket']}/call")
            session = self._public.get("/status", headers=proof).json()["session_token"]
            proof = {"Authorization": f"Bearer {session}"}
        return proof

    def _joined(self, queue: str) -> dict[str, Any]:
        self._public.cookies.clear()
        answer = self._public.post(f"/queues/{queue}/join")
        assert answer.status_code == 201
        found: dict[str, Any] = answer.json()
        return found


def _excused(answer: schemathesis.Response) -> list[CheckFunction]:
    """The checks that an answer may fail by design."""
    is_page = "html" in str(answer.headers.get("content-type"))  # a page says in words what a problem says by its code
    if answer.status_code == 503 and (is_page or answer.json()["code"] in TURNED_AWAY):
        return [not_a_server_error]
    told = answer.json() if answer.status_code == 422 and not is_page else {}
    beyond = told.get("field") in BEYOND_SCHEMA or BEYOND_JSON.search(told.get("detail", ""))
    return [positive_data_acceptance] if beyond else []


@contextmanager
def a_wild_server(folder: Path) -> Iterator[Wild]:
    """A server that answers whatever comes; at the end, nothing must have failed in it."""
    running = RunningServer(folder, environ={"FAIRLINE_LOG_FORMAT": "json"})
    try:
        wild = Wild(running)
        yield wild
        wild.close()
    finally:
        running.stop()
    assert running.logs("http.failed") == []


class Amount(msgspec.Struct):
    """How much is tried of each call."""

    covered: int
    """How many of the requests that go through all that the document says, spread over them evenly."""
    examples: int
    """How many random ones."""


def answers_as_documented(wild: Wild, row: Operation, amount: Amount) -> None:
    """Try a call with what the document allows, and with what it does not."""
    operation = wild.api[row.path][row.method]
    modes = [GenerationMode.POSITIVE]
    if operation.body or operation.query or operation.headers or operation.path_parameters:
        modes.append(GenerationMode.NEGATIVE)
    cases = list(
        wild.api.iter_coverage_cases(operation, generation_modes=modes, generation_config=wild.api.config.generation)
    )
    for case in cases[:: -(-len(cases) // amount.covered) or 1]:
        wild.check(case)

    @settings(
        max_examples=amount.examples,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=[*HealthCheck],
    )
    @given(strategies.one_of([operation.as_strategy(generation_mode=mode) for mode in modes]))
    def check_some(case: Case) -> None:
        wild.check(case)

    check_some()
