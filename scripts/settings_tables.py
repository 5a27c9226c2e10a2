"""Writes the tables of docs/reference/queue-settings.md from the definition of the settings: `make reference`.

Each group of settings is a section of the page. Its table stands between two comments, and all else is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fairline.domain.settings_checks import allowed
from fairline.domain.settings_groups import grouped_settings
from fairline.web.dashboard.form import form

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "queue-settings.md"
HEAD = "| setting | default | allowed | meaning |\n|---|---|---|---|\n"
_SECTION = re.compile(
    r"(?P<begin>^## (?P<title>[^\n]+)\n\n<!-- made from the definition by `make reference` -->\n\n).*?"
    r"(?P<end>\n<!-- end -->$)",
    re.MULTILINE | re.DOTALL,
)


def page(text: str) -> str:
    """The page with its tables as the definition has them."""
    titles = [found["title"] for found in _SECTION.finditer(text)]
    if titles != list(grouped_settings()):
        raise SystemExit(f"{PAGE} needs a section with a table for each of {list(grouped_settings())}; it has {titles}")
    tables = {group["title"]: table(group["fields"]) for group in form()}
    return _SECTION.sub(lambda found: found["begin"] + tables[found["title"]] + found["end"], text)


def table(fields: list[dict[str, Any]]) -> str:
    """The table of one group."""
    return HEAD + "".join(
        f"| `{field['name']}` | {default(field['default'])} | {values(field)} | {field['about']} |\n"
        for field in fields
    )


def default(value: Any) -> str:
    """A default in words."""
    match value:
        case None:
            return "unset"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{int(value) if value == int(value) else value:,}"
        case "":
            return "empty"
        case str():
            return f"`{value}`"
    return ", ".join(map(default, value)) or "none"


def values(field: dict[str, Any]) -> str:
    """What a setting allows, in words."""
    if field["kind"] == "choice":
        return ", ".join(f"`{choice}`" for choice in field["choices"])
    return allowed(field["name"]).removeprefix("must be ").replace(" or null", ", or unset")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
