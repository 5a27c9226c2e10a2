"""Builds the JSON schemas of body types: those of msgspec, completed with descriptions, enums and further limits."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.abc import SourceLoader
from itertools import pairwise
from typing import Any

import msgspec

from fairline.domain.queue_settings import SETTINGS, Settings
from fairline.domain.settings_groups import group_by_setting
from fairline.web.description.limits import LIMITS, limit

Schema = dict[str, Any]


class Schemas:
    """The JSON schemas of some types, with the docstrings of their fields as descriptions."""

    def __init__(self, kinds: Sequence[Any]) -> None:
        found, self.components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
        self._schemas = list(zip(kinds, found, strict=True))
        for node in _nodes(msgspec.inspect.multi_type_info(kinds)):
            schema = self.components.get(getattr(getattr(node, "cls", None), "__name__", ""))
            if schema is not None:
                _describe(node, schema)

    def of(self, kind: Any) -> Schema:
        """The schema of a type: a reference if the type has a name."""
        return dict(next(schema for known, schema in self._schemas if known is kind or known == kind))


def _nodes(kinds: Iterable[Any], seen: set[int] | None = None) -> Iterator[Any]:
    """All types inside types."""
    seen = set() if seen is None else seen
    for kind in kinds:
        if id(kind) in seen or not isinstance(kind, msgspec.inspect.Type | msgspec.inspect.Field):
            continue
        seen.add(id(kind))
        yield kind
        for name in kind.__struct_fields__:
            inner = getattr(kind, name)
            yield from _nodes(inner if isinstance(inner, tuple) else (inner,), seen)


def _describe(node: Any, schema: Schema) -> None:
    """Add what the types contain but msgspec does not put into a schema."""
    if isinstance(node, msgspec.inspect.EnumType):
        schema |= {"type": "string", "enum": [member.value for member in node.cls]}
        schema["description"] = first_sentence(schema.get("description", ""))
    elif isinstance(node, msgspec.inspect.StructType):
        described_by = Settings if node.cls.__struct_fields__ == SETTINGS else node.cls
        groups = group_by_setting() if issubclass(described_by, Settings) else {}
        words = field_words(described_by)
        limits = {name: more for base in described_by.__mro__ for name, more in LIMITS.get(base.__name__, {}).items()}
        for field in node.fields:
            own = schema["properties"][field.encode_name]
            if field.name in words:
                own.setdefault("description", words[field.name])
            _lift(own)
            if field.name in groups:
                own["x-group"] = groups[field.name]
            if field.name in limits:
                limit(own, limits[field.name])
            if any(isinstance(inner, msgspec.inspect.DateTimeType) for inner in _nodes((field.type,))):
                for option in own.get("anyOf", [own]):
                    if option.get("type") == "string":
                        option["format"] = "date-time"
        if not schema.get("required", True):
            del schema["required"]


def _lift(schema: Schema) -> None:
    """Move the title and the description from one option of a field to the field."""
    for option in schema.get("anyOf", ()):
        for keyword in ("title", "description"):
            if keyword in option:
                schema.setdefault(keyword, option.pop(keyword))


def field_words(kind: type) -> dict[str, str]:
    """The docstring after each field of a class and of its bases, by the name of the field."""
    words: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        words |= _words_in(base.__module__).get(base.__name__, {})
    return words


@lru_cache
def _words_in(module: str) -> dict[str, dict[str, str]]:
    """The docstrings after fields, for all classes of one module of fairline."""
    source = sys.modules[module].__spec__ if module.startswith("fairline.") else None
    text = source.loader.get_source(module) if source and isinstance(source.loader, SourceLoader) else None
    classes = [each for each in ast.parse(text or "").body if isinstance(each, ast.ClassDef)]
    return {each.name: dict(_after_fields(each)) for each in classes}


def _after_fields(tree: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, after in pairwise(tree.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text
