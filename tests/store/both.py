"""The store and the plain model of tests/model, with a clock; what is done to one is done to the other."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec
import pytest
from hypothesis.stateful import RuleBasedStateMachine

from fairline.domain.order import PriorityPolicy
from fairline.domain.queue import QueueSnapshot, queue_id
from fairline.domain.settings_checks import checked
from fairline.errors import FairlineError
from fairline.store import Drawn, Reply, Store
from tests.backends import START, FakeClock
from tests.model.queue import Model


class Both(RuleBasedStateMachine):
    """Asks both, and compares their answers."""

    def __init__(self, store: Store, clock: FakeClock, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        super().__init__()
        self.store, self.clock, self.run = store, clock, run
        self.clock.now = START
        self.sound = True
        self.queue = queue_id(f"m-{secrets.token_hex(6)}")
        first = checked({"session_seconds": 900})
        self.run(store.create(self.queue, first))
        self.model = Model(self.queue, first, clock, version=self.run(store.settings(self.queue)).version)
        self.inside = self.taken = 0
        #: What was drawn for each opening, and by which policy.
        self.orders: dict[str, tuple[list[Drawn], PriorityPolicy]] = {}

    def both(self, asked: Awaitable[Any], expected: Callable[[], Any]) -> None:
        """The store's answer is the model's, also where it is a refusal."""
        self.sound = False
        answer = outcome(lambda: self.run(asked))  # type: ignore[arg-type]
        mine = outcome(expected)
        items, snapshot = (answer.items, answer.snapshot) if isinstance(answer, Reply) else (answer, None)
        found, wanted = listed(items), listed(mine)
        for one, other in zip(found, wanted, strict=False):
            assert plain(one) == plain(other)
        assert len(found) == len(wanted)
        if snapshot:
            same_view(snapshot, self.model.snapshot())
        self.sound = True


def outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except FairlineError as error:
        return error


def listed(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


def plain(answer: Any) -> Any:
    """An answer that can be compared: an error is its kind and its words."""
    return (type(answer), str(answer)) if isinstance(answer, FairlineError) else answer


MEASURED = (
    "stay_seconds", "leave_rate", "call_rate", "out_rate", "stays_seen", "cycle_seconds", "calls_seen", "tokens",
    "cycle_spread", "pass_rate", "left_by_age", "waited_by_age", "silences",
)  # fmt: skip


def same_view(found: QueueSnapshot, expected: QueueSnapshot) -> None:
    rounded = {name: pytest.approx(getattr(expected, name), abs=1e-9) for name in MEASURED}
    assert {name: getattr(found, name) for name in MEASURED} == rounded
    unmeasured = dict.fromkeys(MEASURED, 0.0)
    assert msgspec.structs.replace(found, **unmeasured) == msgspec.structs.replace(expected, **unmeasured)
