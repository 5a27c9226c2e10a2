"""What every test of grouping asks for."""

from __future__ import annotations

import pytest

from tests.grouping.fake_store import FakeStore


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()
