"""The documentation: it names all that can be set, received or read in a log, and no link leads nowhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from fairline.domain.events import EventType
from fairline.domain.join_request import JoinRequest
from fairline.domain.queue_settings import SETTINGS
from fairline.domain.ticket import Person
from fairline.settings import ServerSettings
from fairline.web.pages.languages import catalogue
from scripts import settings_tables
from tests import said

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def rows(page: str) -> set[str]:
    """The first cells of the tables on a page of the reference."""
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}


def test_the_settings_of_a_queue_are_described_as_they_are_defined() -> None:
    assert set(SETTINGS) - rows("queue-settings.md") == set()
    text = settings_tables.PAGE.read_text(encoding="utf-8")
    assert settings_tables.page(text) == text, "make reference"


def test_every_setting_of_the_server_is_described() -> None:
    fields = {field.name for field in msgspec.structs.fields(ServerSettings)}
    assert fields - rows("server-settings.md") == set()


def test_every_event_that_a_webhook_receives_is_described() -> None:
    assert set(EventType) - rows("webhooks.md") == set()


def test_every_action_of_the_audit_log_is_described() -> None:
    assert said.recorded() >= {"queue.called", "queue.created", "dashboard.signed_in", "desk.opened", "desk.closed"}
    assert said.recorded() - rows("records.md") == set()


def test_the_dashboard_has_words_for_every_action_of_the_audit_log() -> None:
    words = catalogue("en", "staff")
    assert {action for action in said.recorded() if f"did_{action.replace('.', '_')}" not in words} == set()


def test_every_line_of_the_log_is_described() -> None:
    assert said.logged() >= {"rate_limit.hit", "audit.not_recorded", "delivery.retried"} | said.recorded()
    assert said.logged() - rows("logs.md") == set()


def test_all_that_is_kept_of_people_is_named() -> None:
    """By the words of the page: the plural of a field, its words apart."""
    page = " ".join((ROOT / "docs" / "reference" / "store.md").read_text(encoding="utf-8").split()).lower()
    words = {"email": "e-mail address", "address": "addresses"}
    kept = {words.get(field, field.replace("_", " ")) for field in Person.__struct_fields__}
    assert {name for name in kept if name not in page.partition("## what is kept")[2]} == set()


def test_all_that_the_browser_client_can_say_at_joining_is_described() -> None:
    # The client has an id of its own, and joins once by it: neither is for the page to say.
    fields = set(JoinRequest.__struct_fields__) - {"client_id", "idempotency_key"}
    page = (ROOT / "docs" / "reference" / "browser-client.md").read_text(encoding="utf-8")
    script = (said.SOURCE / "web" / "pages" / "static" / "fairline.js").read_text(encoding="utf-8")
    told = re.search(r"^\| `join` .*$", page, re.MULTILINE), re.search(r"\[join\][^@]*", script)
    for text in told:
        assert text
        assert {field for field in fields if not re.search(rf"\b{field}\b", text[0])} == set()


def test_every_test_that_the_threat_model_names_is_there() -> None:
    text = (ROOT / "docs/explanation/threat-model.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    for file, test in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{file}::{test}"


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve() if target else page
            assert found.exists(), (page, target)
            if anchor:
                assert anchor in _anchors(found), (page, f"{target}#{anchor}")


@cache
def _anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
