"""The public Python API: what `from fairline import …` offers. The how-to that uses it is run by tests/docs."""

from __future__ import annotations

from importlib import import_module

import pytest

import fairline


def test_all_that_is_exported_is_there_and_is_what_its_module_has() -> None:
    for name in fairline.__all__:
        value = getattr(fairline, name)
        if name != "__version__":
            assert value is getattr(import_module(fairline._MODULES[name]), name), name
    assert set(fairline._MODULES) | {"__version__"} == set(fairline.__all__)


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Rooms'"):
        _ = fairline.Rooms
