"""The settings of a queue by name: the type of each, and the group that it belongs to."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

from msgspec import inspect

from fairline.domain.queue_settings import SETTINGS, Settings


class SettingType(NamedTuple):
    """The type of a setting."""

    kind: inspect.Type
    """The type of its value, with what the annotation says."""
    optional: bool
    """Whether it can be unset: its value is then None."""


@cache
def setting_types() -> dict[str, SettingType]:
    """The type of each setting, by name."""
    described = inspect.type_info(Settings)
    assert isinstance(described, inspect.StructType)
    return {field.name: _setting_type(field.type) for field in described.fields}


def _setting_type(kind: inspect.Type) -> SettingType:
    if not isinstance(kind, inspect.UnionType):
        return SettingType(kind, optional=False)
    (own,) = (option for option in kind.types if not isinstance(option, inspect.NoneType))
    return SettingType(own, optional=True)


#: The groups of settings: the title of each, and its first setting. A setting belongs to the group that it stands in.
GROUPS = {
    "General": "name",
    "Pace": "admission",
    "Presence": "heartbeat_interval_seconds",
    "People": "one_per",
    "Labels": "ticket_prefix",
    "Opening hours": "time_zone",
    "Desks": "desks",
    "Page": "message",
    "Gate": "passthrough",
    "Notices": "notices",
}


def grouped_settings() -> dict[str, tuple[str, ...]]:
    """The names of the settings by the title of their group, in order."""
    starts = [*map(SETTINGS.index, GROUPS.values()), len(SETTINGS)]
    return {title: SETTINGS[start:end] for title, (start, end) in zip(GROUPS, pairwise(starts), strict=True)}


def group_by_setting() -> dict[str, str]:
    """The title of its group by the name of each setting."""
    return {name: title for title, names in grouped_settings().items() for name in names}
