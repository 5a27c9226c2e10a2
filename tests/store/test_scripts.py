"""The Lua scripts as text: each says what it is, and touches declared keys only. The contract suite runs them all,
on a cluster too."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from fairline.store.valkey.keys import PARTS
from fairline.store.valkey.scripts import script

FILES = {
    file.name.removesuffix(".lua"): file.read_text(encoding="utf-8")
    for file in (resources.files("fairline.store.valkey") / "scripts").iterdir()
    if file.name.endswith(".lua")
}
INCLUDED = {name for text in FILES.values() for name in re.findall(r"^--#include (\w+)$", text, re.MULTILINE)}
OPERATIONS = sorted(set(FILES) - INCLUDED)
#: What scripts begin with, each of these with the one before it; and what is made of the domain's tables and bounds.
BEGINNINGS = ["queue", "ticket", "step"]
MADE = {"states", "tables", "bounds"}


def header(name: str) -> str:
    """The comment a file begins with."""
    found = re.match(r"(?:--[^#\n].*\n)+", FILES[name])
    assert found, f"{name}.lua does not begin with a comment"
    return found.group()


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_script_says_first_what_it_is(name: str) -> None:
    assert re.match(rf"-- {name}\.lua: \w.+", FILES[name])


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_explains_what_it_takes_and_answers(name: str) -> None:
    assert re.search(r"^-- ARGV  1 now", header(name), re.MULTILINE)
    assert re.search(r"^-- Returns ", header(name), re.MULTILINE)
    if "KEYS[" in FILES[name]:
        assert re.search(r"^-- KEYS  1", header(name), re.MULTILINE)


@pytest.mark.parametrize("name", sorted(INCLUDED - {*BEGINNINGS} - MADE))
def test_what_is_included_says_by_whom(name: str) -> None:
    users = [other for other in OPERATIONS if f"--#include {name}\n" in FILES[other]]
    assert users
    assert all(f"{user}.lua" in header(name) for user in users)


def test_what_scripts_begin_with_is_there_once_each_and_in_order() -> None:
    for name in OPERATIONS:
        source = script(name).source
        found = [re.findall(rf"^-- {part}\.lua: ", source, re.MULTILINE) for part in BEGINNINGS]
        assert [len(each) for each in found] in ([0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]), name
        assert "--#include" not in source


def test_the_keys_are_declared_in_one_order() -> None:
    numbered = dict(re.findall(r"(\d+) (\w+)", header("queue").partition("KEYS")[2].partition("ARGV")[0]))
    assert tuple(numbered[str(i)] for i in range(1, len(PARTS) + 1)) == PARTS


@pytest.mark.parametrize("name", sorted(FILES))
def test_keys_are_never_made_inside_a_script(name: str) -> None:
    code = re.sub(r"--.*", "", FILES[name])
    touched = set(re.findall(r"call\('[A-Z]+', ([^,)]+)", code))
    declared = re.compile(r"[A-Z_]+|KEYS\[\d+\]|SET_OF\[\w+\]|HASH_OF\[kind\]|set_of\(t|set|key|unpack|'\*'")
    assert [key for key in touched if not declared.fullmatch(key)] == []
    assert "'fl:" not in code


@pytest.mark.parametrize("name", sorted(FILES))
def test_scripts_are_written_in_what_lua_51_and_54_share(name: str) -> None:
    code = re.sub(r"--.*", "", FILES[name])
    assert not re.search(r"\bgoto\b|//|<<|>>|\bmath\.pow\b|\bsetfenv\b|\bloadstring\b|\butf8\.", code)
