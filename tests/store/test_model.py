"""The store and the plain model of tests/model: whatever happens in whatever order, the two never differ.

`FAIRLINE_LONG=1` looks much longer, and at other histories each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.store.beside import StoreBesideModel

LONG = bool(os.environ.get("FAIRLINE_LONG"))


@pytest.mark.timeout(0)
def test_the_store_never_differs_from_the_model(backend: str, beside: Callable[[], StoreBesideModel]) -> None:
    examples = (1000 if LONG else 40) if "unix" in backend else (200 if LONG else 12)
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
