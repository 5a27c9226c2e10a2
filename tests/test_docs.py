"""The documentation: nothing is missing from it that can be set, and no link leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fairline.queue import SETTINGS
from fairline.settings import ServerSettings

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def rows(page: str) -> set[str]:
    """The first cells of the tables on a page of the reference."""
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    return {name for cell in re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}


def test_every_setting_of_a_queue_is_described() -> None:
    assert set(SETTINGS) - rows("queue-settings.md") == set()


def test_every_setting_of_the_server_is_described() -> None:
    fields = {field.name for field in msgspec.structs.fields(ServerSettings)}
    assert fields - rows("server-settings.md") == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), target
        if anchor:
            assert anchor in _anchors(found), f"{target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
