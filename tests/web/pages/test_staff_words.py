"""The words of the dashboard: all that its scripts and templates ask for are there, and none is there for nothing."""

from __future__ import annotations

import re
from importlib.resources import files

from fairline.domain.events import EventType
from fairline.domain.preview import Why
from fairline.domain.ticket import Reason, Status
from fairline.store import Role
from fairline.web.dashboard.pages import PAGES
from fairline.web.dashboard.script_words import names_used, words_used
from fairline.web.pages.languages import STAFF_PARTS, catalogue, staff_language
from fairline.web.server.assets import Assets

PACKAGE = files("fairline.web")
SCRIPTS = {f.name: f.read_text() for f in (PACKAGE / "pages/static").iterdir() if re.match(r"admin.*\.js$", f.name)}
#: Where Python and the templates name words: as whole names in quotes, or as the beginning of one.
SOURCES = [
    file.read_text()
    for folder in ("pages/templates/admin", "dashboard", "admin", "pages/templates")
    for file in (PACKAGE / folder).iterdir()
    if file.name.endswith((".html", ".py"))
]


def test_every_word_that_a_script_asks_for_is_in_the_catalogue() -> None:
    names = staff_language("en").names
    for file, script in SCRIPTS.items():
        exact, beginnings = names_used(script)
        assert exact <= names, (file, exact - names)
        for beginning in beginnings:
            assert any(name.startswith(beginning) for name in names), (file, beginning)


def test_whatever_a_page_may_have_to_say_has_words() -> None:
    words = catalogue("en", "staff")
    for beginning, kinds in {"event": EventType, "reason": Reason, "state": Status, "flow_why": Why}.items():
        assert {f"{beginning}_{kind.value}" for kind in kinds} <= words.keys()
    assert {f"role_{role}" for role in Role} <= words.keys()


def test_a_script_names_its_words_where_it_asks_for_them() -> None:
    """Otherwise the server would not find them."""
    for file, script in SCRIPTS.items():
        if file != "admin-text.js":
            assert not re.findall(r"(?<![\w.])(?:t|count)\((?!\s*[\"`]\w)[^)]*\)?", script), file


def test_no_word_of_staff_is_there_for_nothing() -> None:
    used, beginnings = set[str](), set[str]()
    for script in SCRIPTS.values():
        exact, begun = names_used(script)
        used, beginnings = used | exact, beginnings | begun
    for source in SOURCES:
        used |= set(re.findall(r"""["'](\w+)["']""", source))
        beginnings |= set(re.findall(r"""(?<=["'])(\w+_)(?=["'] ~|\{)""", source))
    used |= {f"{name}_{end}" for name in used for end in ("title", "text")}  # of a notice
    for part in STAFF_PARTS:
        unused = [name for name in catalogue("en", part) if name not in used and not name.startswith(tuple(beginnings))]
        assert not unused


def test_a_page_gets_the_words_of_its_own_scripts_and_no_others() -> None:
    names, assets = staff_language("en").names, Assets()
    for page in PAGES:
        scripts = assets.scripts("admin.js", f"admin-{page}.js")
        assert "admin-frame.js" in scripts
        assert f"admin-{'keys' if page != 'keys' else 'audit'}.js" not in scripts
        words = words_used(scripts.values(), names)
        assert {"group", "try_again_now"} <= set(words)
        assert "needs_script" not in words
