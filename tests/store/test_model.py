"""The store beside the plain model of tests/model: whatever happens in whatever order, the two never differ.

`FAIRLINE_LONG=1` looks much longer, and at other histories each time.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from fairline.store import open_store
from tests.backends import FakeClock
from tests.store.beside import StoreBesideModel
from tests.store.histories import HISTORIES

LONG = bool(os.environ.get("FAIRLINE_LONG"))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def beside(backend: str, runner: asyncio.Runner) -> Iterator[Callable[[], StoreBesideModel]]:
    """Makes a new queue in the store, with a model beside it."""
    clock = FakeClock()
    store = runner.run(open_store(backend, clock=clock))
    yield lambda: StoreBesideModel(store, clock, runner.run)
    runner.run(store.close())


@pytest.mark.timeout(0)
def test_the_store_never_differs_from_the_model(backend: str, beside: Callable[[], StoreBesideModel]) -> None:
    examples = (1000 if LONG else 60) if "unix" in backend else (200 if LONG else 15)
    run_state_machine_as_test(
        beside,  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples,
            stateful_step_count=80 if LONG else 40,
            derandomize=not LONG,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("name", HISTORIES)
def test_nor_does_it_in_these_histories(name: str, beside: Callable[[], StoreBesideModel]) -> None:
    both = beside()
    for do, *arguments in HISTORIES[name]:
        do(both, *arguments)
        both.all_is_well()
    both.teardown()
