"""The Lua scripts as text: each says what it is, and touches declared keys only. The contract suite runs them all,
on a cluster too."""

from __future__ import annotations

import re

from fairline.store.constants import SHARED
from fairline.store.postgres.statements import functions
from fairline.store.valkey.keys import PARTS
from fairline.store.valkey.scripts import script
from tests.store.lua import FILES, INCLUDED, OPERATIONS

#: What scripts begin with, each of these with the one before it; and what is made of the domain's tables and bounds.
BEGINNINGS = ["queue", "ticket", "step"]
MADE = {"states", "tables", "bounds", "causes", "defaults"}


def header(name: str) -> str:
    """The comment a file begins with."""
    found = re.match(r"(?:--[^#\n].*\n)+", FILES[name])
    assert found, f"{name}.lua does not begin with a comment"
    return found.group()


def test_every_script_says_first_what_it_is() -> None:
    assert [name for name, text in FILES.items() if not re.match(rf"-- {name}\.lua: \w.+", text)] == []


def test_every_operation_explains_what_it_takes_and_answers() -> None:
    for name in OPERATIONS:
        assert re.search(r"^-- ARGV  1 now", header(name), re.MULTILINE), name
        assert re.search(r"^-- Returns ", header(name), re.MULTILINE), name
        if "KEYS[" in FILES[name]:
            assert re.search(r"^-- KEYS  1", header(name), re.MULTILINE), name


def test_what_is_included_says_by_whom() -> None:
    for name in INCLUDED - {*BEGINNINGS} - MADE:
        users = [other for other in OPERATIONS if f"--#include {name}\n" in FILES[other]]
        assert users, name
        assert [user for user in users if f"{user}.lua" not in header(name)] == [], name


def test_what_scripts_begin_with_is_there_once_each_and_in_order() -> None:
    for name in OPERATIONS:
        source = script(name).source
        found = [re.findall(rf"^-- {part}\.lua: ", source, re.MULTILINE) for part in BEGINNINGS]
        assert [len(each) for each in found] in ([0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]), name
        assert "--#include" not in source


def test_the_keys_are_declared_in_one_order() -> None:
    numbered = dict(re.findall(r"(\d+) (\w+)", header("queue").partition("KEYS")[2].partition("ARGV")[0]))
    assert tuple(numbered[str(i)] for i in range(1, len(PARTS) + 1)) == PARTS


def test_keys_are_never_made_inside_a_script() -> None:
    declared = re.compile(r"[A-Z_]+|KEYS\[\d+\]|SET_OF\[\w+\]|HASH_OF\[kind\]|set_of\(t|set|key|unpack|'\*'")
    for name, text in FILES.items():
        code = re.sub(r"--.*", "", text)
        touched = set(re.findall(r"call\('[A-Z]+', ([^,)]+)", code))
        assert [key for key in touched if not declared.fullmatch(key)] == [], name
        assert "'fl:" not in code, name


def test_neither_scripts_nor_sql_functions_copy_a_shared_number() -> None:
    large = "|".join(str(number) for number in SHARED.values() if number >= 60_000)
    copied = re.compile(rf"(?<!\w)(?:{large})(?!\w)|\b2 \^ \d|(?:<<|>>) (?:24|51)\b")
    written = functions().partition("-- 00_common.sql")[2]
    for name, text in {**FILES, "SQL": written}.items():
        assert copied.search(re.sub(r"--.*", "", text)) is None, name


def test_scripts_are_written_in_what_lua_51_and_54_share() -> None:
    for name, text in FILES.items():
        code = re.sub(r"--.*", "", text)
        assert not re.search(r"\bgoto\b|//|<<|>>|\bmath\.pow\b|\bsetfenv\b|\bloadstring\b|\butf8\.", code), name
