"""The Lua scripts as they are in their files."""

from __future__ import annotations

import re
from importlib import resources

FILES = {
    file.name.removesuffix(".lua"): file.read_text(encoding="utf-8")
    for file in (resources.files("fairline.store.valkey") / "scripts").iterdir()
    if file.name.endswith(".lua")
}
INCLUDED = {name for text in FILES.values() for name in re.findall(r"^--#include (\w+)$", text, re.MULTILINE)}
OPERATIONS = sorted(set(FILES) - INCLUDED)
