"""What the source says it logs and records, read off it: every event of the log, every action of the audit log."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import fairline

SOURCE = Path(fairline.__file__).parent
#: How `log` is called for lines that are written; those for finding errors are not.
_WRITES = frozenset({"info", "warning", "error", "exception", "critical"})
#: Functions that take the name as an argument and pass it on: the name is read where they are called.
_HAND_ON = frozenset({"log", "record", "_note"})


def logged() -> set[str]:
    """The events of the log. What goes to the audit log is among them."""
    return {name for _, names in _said() for name in names}


def recorded() -> set[str]:
    """The actions of the audit log."""
    return {name for called, names in _said() if called == "record" for name in names}


@cache
def _said() -> list[tuple[str, set[str]]]:
    """The name of each function that is called, and the names it is given."""
    return [said for path in sorted(SOURCE.rglob("*.py")) for said in _said_in(path)]


def _said_in(path: Path) -> Iterator[tuple[str, set[str]]]:
    if "gate" in path.relative_to(SOURCE).parts:  # it writes to the log of the site that it guards, in sentences
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    handed_on = {id(call) for each in ast.walk(tree) if _hands_on(each) for call in ast.walk(each)}
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    hidden = {id(each) for each in ast.walk(tree) if _writes(each)} - {id(call.func) for call in calls}
    assert not hidden, f"{path.name} has a name for the log that what it says cannot be found by"
    for call in filter(_is_said, calls):
        names = _names(call)
        assert names or id(call) in handed_on, f"no name can be read in {ast.unparse(call)}"
        yield _called(call), names


def _hands_on(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _HAND_ON


def _writes(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and _of(node) == "log" and node.attr in _WRITES


def _is_said(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return _writes(call.func) or (call.func.attr in {"log", "record"} and _of(call.func) != "math")
    return _called(call) == "_note"


def _of(node: ast.Attribute) -> str:
    return node.value.id if isinstance(node.value, ast.Name) else ""


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _names(call: ast.Call) -> set[str]:
    """The name it is said by: the first word among its arguments, or one of two. One that is put together as it runs
    could not be found in the source, nor here."""
    for told in call.args[:2]:
        parts = [told.body, told.orelse] if isinstance(told, ast.IfExp) else [told]
        words = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        if len(words) == len(parts):
            return words
    return set()
