"""What every test of grouping asks for."""

from __future__ import annotations

import pytest

from tests.aio.fake_store import FakeStore


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()
