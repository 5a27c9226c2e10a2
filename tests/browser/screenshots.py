"""Draws every state of the waiting page at phone and desktop width: `make screenshots`, or with names of states.

The pictures go to docs/images/waiting-page, for the documentation and for whoever changes the look: look at them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import a_browser, a_venue
from tests.browser.scenes import SCENES
from tests.browser.venue import Venue, person

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "waiting-page"
SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 800}}
#: Some as they look to others: name of the picture, state, language, colour scheme.
MORE = [
    ("waiting-dark", "waiting", "en", "dark"),
    ("waiting-ar", "waiting", "ar", "light"),
    ("waiting-ja", "waiting", "ja", "light"),
    ("waiting-ko", "waiting", "ko", "light"),
    ("message-dark", "message", "de", "dark"),
    ("not_open-fr", "not_open", "fr", "light"),
]


def main(names: list[str]) -> None:
    """Draw all pictures, or those of some states."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pictures = [(state, state, "en", "light") for state in SCENES] + MORE
    with a_browser() as browser, tempfile.TemporaryDirectory() as folder, a_venue(browser, Path(folder)) as venue:
        for name, state, lang, scheme in pictures:
            if not names or name in names:
                draw(venue, name, state, lang, scheme)


def draw(venue: Venue, name: str, state: str, lang: str, scheme: str) -> None:
    """One state at both widths."""
    with person(venue, viewport=SIZES["phone"], color_scheme=scheme, reduced_motion="reduce") as someone:
        page = SCENES[state](venue, someone, lang)
        for size, viewport in SIZES.items():
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
            _take(page, FOLDER / f"{name}-{size}.png")


def _take(page: Page, file: Path) -> None:
    page.screenshot(path=file, animations="disabled", caret="hide")
    sys.stdout.write(f"{file.name}  {file.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
