"""The columns of the table `queues` that hold the settings of a queue, made from the definition of the settings.

An upgrade adds those that are missing, with the default of the setting, so that a new setting needs no migration. To
remove or rename a setting, or to change its type, a migration has to change its column.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect
from psycopg.sql import SQL, Identifier, Literal
from psycopg.types.json import Jsonb

from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_groups import SettingType, setting_types

_SCALARS = {
    inspect.BoolType: "boolean",
    inspect.EnumType: "text",
    inspect.FloatType: "double precision",
    inspect.IntType: "bigint",
    inspect.StrType: "text",
}


@cache
def add_settings_columns(only: frozenset[str] | None = None) -> str:
    """The statement that adds the columns that are missing, or `only` some of them."""
    wanted = {name: kind for name, kind in setting_types().items() if only is None or name in only}
    columns = ",\n".join(_column(name, setting) for name, setting in wanted.items())
    return f"ALTER TABLE queues\n{columns}"


def _column(name: str, setting: SettingType) -> str:
    null = SQL("" if setting.optional else " NOT NULL")
    column = SQL("  ADD COLUMN IF NOT EXISTS {} {}{} DEFAULT {}")
    return column.format(Identifier(name), SQL(_type(setting.kind)), null, Literal(_default(name))).as_string()


def _type(kind: inspect.Type) -> str:
    """The type in SQL."""
    match kind:
        case inspect.Metadata(type=inner):
            return _type(inner)
        case inspect.DictType():
            return "jsonb"
        case inspect.VarTupleType(item_type=item):
            return f"{_type(item)}[]"
    return _SCALARS[type(kind)]


def _default(name: str) -> Any:
    """The default of a setting, as the driver writes it into a statement."""
    value = msgspec.to_builtins(getattr(QueueSettings(), name))
    match value:
        case tuple():
            return list(value)
        case dict():
            return Jsonb(value)
    return value


def settings_column_names() -> set[str]:
    """The names of all these columns."""
    return set(setting_types())
