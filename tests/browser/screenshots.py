"""Draws every state of the waiting page at phone and desktop width, and the pages of a counter at their real sizes:
`make screenshots`, or with names of pictures.

The pictures go to docs/images, for the documentation and for whoever changes the look: look at them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import a_browser, a_venue
from tests.browser.counters import COUNTER_SCENES, errors, form, kiosk_taken
from tests.browser.scenes import SCENES
from tests.browser.venue import Venue, person

IMAGES = Path(__file__).parents[2] / "docs" / "images"
FOLDER = IMAGES / "waiting-page"
COUNTER = IMAGES / "counter"
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
    COUNTER.mkdir(parents=True, exist_ok=True)
    pictures = [(state, state, "en", "light") for state in SCENES] + MORE
    with a_browser() as browser, tempfile.TemporaryDirectory() as folder, a_venue(browser, Path(folder)) as venue:
        for name, state, lang, scheme in pictures:
            if not names or name in names:
                draw(venue, name, state, lang, scheme)
        for name in (*COUNTER_SCENES, "form-ar", "errors-ko", "receipt"):
            if not names or f"counter-{name}" in names:
                draw_counter(venue, name)


def draw(venue: Venue, name: str, state: str, lang: str, scheme: str) -> None:
    """One state at both widths."""
    with person(venue, viewport=SIZES["phone"], color_scheme=scheme, reduced_motion="reduce") as someone:
        page = SCENES[state](venue, someone, lang)
        for size, viewport in SIZES.items():
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
            _take(page, FOLDER / f"{name}-{size}.png")


def draw_counter(venue: Venue, name: str) -> None:
    """One page of a counter; the receipt as it comes out of the printer."""
    scene, _, lang = name.partition("-") if name in ("form-ar", "errors-ko") else (name, "", "en")
    size = COUNTER_SCENES["kiosk-taken" if name == "receipt" else scene][0]
    with person(venue, viewport=size, device_scale_factor=1, reduced_motion="reduce") as someone:
        if name == "receipt":
            page = kiosk_taken(venue, someone)
            page.emulate_media(media="print")
            page.locator(".receipt").screenshot(path=COUNTER / "receipt.png")
            return
        page = (
            {"form": form, "errors": errors}[scene](venue, someone, lang)
            if lang != "en"
            else COUNTER_SCENES[scene][1](venue, someone)
        )
        page.screenshot(path=COUNTER / f"{name}.png", animations="disabled", caret="hide", full_page=True)


def _take(page: Page, file: Path) -> None:
    page.screenshot(path=file, animations="disabled", caret="hide")
    sys.stdout.write(f"{file.name}  {file.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
