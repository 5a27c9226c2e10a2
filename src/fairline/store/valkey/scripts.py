"""Loads the Lua scripts: each operation is one small file, joined with the files it includes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from fairline.domain.opening import HELD_BACK, Phase
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import REASONS, Action, Reason, Status, goes_to
from fairline.domain.waits import Cause
from fairline.store.constants import SHARED
from fairline.store.valkey.settings import UNSET, settings_fields

_INCLUDE = re.compile(r"^ *--#include (\w+)$", re.MULTILINE)
_NAME = re.compile(r"'(\w+)'")


class Script(NamedTuple):
    """A script as it is sent to the server."""

    source: str
    sha: str


def _lua(table: Mapping[Any, float | str]) -> str:
    return "{" + ", ".join(f"[{key!r}] = {value!r}" for key, value in table.items()) + "}"


def _states() -> str:
    return f"local STATUS = {_lua({state.value: code for code, state in enumerate(Status, 1)})}"


def _tables() -> str:
    status = {state: code for code, state in enumerate(Status, 1)}
    reason = {code: reason.value for code, reason in enumerate(Reason, 1)}
    codes = {name: code for code, name in reason.items()}

    def moves(at: Status, *, on_hold: bool = False) -> str:
        return _lua({action.value: status[to] for action in Action if (to := goes_to(at, action, on_hold=on_hold))})

    return "\n".join(
        (
            f"local REASON = {_lua(reason)}",
            f"local REASON_CODE = {_lua(codes)}",
            f"local REASON_OF = {_lua({action.value: codes[why] for action, why in REASONS.items()})}",
            f"local TRANSITIONS = {{{', '.join(map(moves, Status))}}}",
            f"local ON_HOLD_TRANSITIONS = {moves(Status.WAITING, on_hold=True)}",
            f"local HELD_BACK = {{{', '.join(f'[{each.value!r}] = true' for each in Phase if each in HELD_BACK)}}}",
        )
    )


def _causes() -> str:
    return f"local CAUSE = {_lua({cause.value: code for code, cause in enumerate(Cause, 1)})}"


def _bounds() -> str:
    return f"local {', '.join(SHARED).upper()} = {', '.join(map(str, SHARED.values()))}"


@cache
def _defaults() -> str:
    """The defaults of the settings that scripts read."""
    files = (resources.files(__package__) / "scripts").iterdir()
    named = {name for file in files for name in _NAME.findall(file.read_text(encoding="utf-8"))}
    fields = {
        name: field for name, field in settings_fields(QueueSettings()).items() if name in named and field != UNSET
    }
    return f"local DEFAULTS = {_lua({name: _number(field) for name, field in fields.items()})}"


def _number(text: str) -> str | float:
    """A number, if the text is one."""
    try:
        return float(text)
    except ValueError:
        return text


#: Parts that are generated: the domain's tables, the defaults of settings and the shared numbers, so that the scripts
#: have no copy of their own.
_GENERATED: dict[str, Callable[[], str]] = {
    "states": _states,
    "tables": _tables,
    "causes": _causes,
    "bounds": _bounds,
    "defaults": _defaults,
}


@cache
def script(name: str) -> Script:
    """The script of one operation, with everything it includes, directly or not, once each."""
    included = {name}

    def whole(part: str) -> str:
        if generate := _GENERATED.get(part):
            return generate()
        text = (resources.files(__package__) / "scripts" / f"{part}.lua").read_text(encoding="utf-8")
        return _INCLUDE.sub(lambda found: once(found.group(1)), text)

    def once(part: str) -> str:
        if part in included:
            return ""
        included.add(part)
        return whole(part)

    source = whole(name)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())
