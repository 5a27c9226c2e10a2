"""Error messages for invalid request bodies: which field is wrong, and what it can be."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.inspect import EnumType, ListType, Metadata, StructType, Type, UnionType, VarTupleType, type_info

from fairline.errors import InvalidRequest

_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_CHOICE = re.compile(r"Invalid enum value (.*)", re.DOTALL)
_STEP = re.compile(r"\[\w*\]|\w+")


def invalid(error: msgspec.ValidationError, kind: Any = None) -> InvalidRequest:
    """The error for a body that does not fit this type."""
    problem, _, path = str(error).partition(" - at `$")
    field = path.strip("`.").removeprefix(".")
    if found := _FIELD.fullmatch(problem):
        missing, name = found[1] == "missing required", found[2][:80]
        names = getattr(kind, "__struct_encode_fields__", None) if not field else None
        available = f" There are: {', '.join(names) or 'none'}." if names is not None else ""
        return InvalidRequest(
            f"{field}.{name}" if field else name, "is missing" if missing else f"is an unknown field.{available}"
        )
    if found := _CHOICE.fullmatch(problem):
        choices = _choices(kind, field)
        if choices:
            problem = f"must be one of {', '.join(choices)}; got {found[1]:.80}"
    return InvalidRequest(field, problem)


def _choices(kind: Any, field: str) -> list[str]:
    """The allowed values of a field: `events[0]` is an item of `events`."""
    types = [type_info(kind)]
    for name in _STEP.findall(field):
        within = [each for found in types for each in _types_in(found)]
        if name.startswith("["):
            types = [found.item_type for found in within if isinstance(found, ListType | VarTupleType)]
        else:
            structs = [found for found in within if isinstance(found, StructType)]
            types = [each.type for found in structs for each in found.fields if each.encode_name == name]
    enums = [found.cls for outer in types for found in _types_in(outer) if isinstance(found, EnumType)]
    return [str(member.value) for found in enums for member in found]


def _types_in(found: Type) -> tuple[Type, ...]:
    """The types that a value can have: the members of a union, and the type inside an annotation."""
    if isinstance(found, Metadata):
        return _types_in(found.type)
    return found.types if isinstance(found, UnionType) else (found,)
