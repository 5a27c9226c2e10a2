"""Draws every state of the waiting page, of the dashboard, the desk, the board and the pages of a walk-in line at the
sizes they are used at: `make screenshots`, or with names of states (`waiting`, `board`, `walk-in-form`, `admin/now`,
or `admin` and `desk` for all of those; `film` is the picture of the README that moves).

The pictures go to docs/images, for the documentation and for those who change the design: view them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser import admin_scenes, desk_scenes, film
from tests.browser.boards import BOARD_SCENES
from tests.browser.conftest import a_browser, a_venue
from tests.browser.evening import after_an_evening, visitors
from tests.browser.scenes import SCENES
from tests.browser.venue import Venue, person
from tests.browser.walk_in_line import WALK_IN_SCENES, errors, form, kiosk_taken

IMAGES = Path(__file__).parents[2] / "docs" / "images"
FOLDER, ADMIN_FOLDER, DESK_FOLDER = IMAGES / "waiting-page", IMAGES / "admin", IMAGES / "desk"
FILM = IMAGES / "waiting.webp"
BOARDS, WALK_IN = IMAGES / "board", IMAGES / "walk-in"
SIZES: dict[str, ViewportSize] = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 800}}
#: The dashboard is used on larger screens, and has more to show.
ADMIN_SIZES: dict[str, ViewportSize] = SIZES | {"desktop": {"width": 1280, "height": 1090}}
#: Staff work with a tablet, or with their phone.
DESK_SIZES: dict[str, ViewportSize] = {"tablet": {"width": 1024, "height": 768}, "phone": SIZES["phone"]}
#: Some as others see them: name of the picture, state, language, colour scheme.
MORE = [
    ("waiting-dark", "waiting", "en", "dark"),
    ("waiting-ar", "waiting", "ar", "light"),
    ("waiting-ja", "waiting", "ja", "light"),
    ("waiting-ko", "waiting", "ko", "light"),
    ("message-dark", "message", "de", "dark"),
    ("not_open-fr", "not_open", "fr", "light"),
]
#: The board: name of the picture, scene, what the address says of its design, and at which sizes.
WALL, POCKET = {"width": 1920, "height": 1080}, {"width": 390, "height": 844}
SCREENS: list[tuple[str, str, str, dict[str, dict[str, int]]]] = [
    ("board", "busy", "theme=light", {"wall": WALL, "phone": POCKET}),
    ("board-dark", "busy", "theme=dark", {"wall": WALL}),
    ("board-contrast", "busy", "theme=contrast", {"wall": WALL}),
    ("board-ar", "busy", "theme=light&lang=ar", {"wall": WALL}),
    ("board-called", "called", "theme=dark", {"wall": WALL, "phone": POCKET}),
    ("board-quiet", "quiet", "theme=light&lang=de", {"wall": WALL, "phone": POCKET}),
    ("board-shop", "shop", "lang=en", {"wall": WALL, "phone": POCKET}),
    ("board-two", "two", "theme=dark", {"wall": WALL, "phone": POCKET}),
    ("board-six", "six", "theme=light", {"wall": WALL}),
    ("board-lost", "lost", "theme=light", {"wall": WALL}),
]


def main(names: list[str]) -> None:
    """Draw all pictures, or those of some states."""
    pictures = [(state, state, "en", "light") for state in SCENES] + MORE
    wanted = [picture for picture in pictures if not names or picture[0] in names]
    boards = [screen for screen in SCREENS if not names or screen[0] in names]
    walk_in = [
        name for name in (*WALK_IN_SCENES, "form-ar", "errors-ko", "receipt") if not names or f"walk-in-{name}" in names
    ]
    dashboard = [scene for scene in admin_scenes.SCENES if not names or {"admin", f"admin/{scene}"} & set(names)]
    desk = [scene for scene in desk_scenes.SCENES if not names or {"desk", f"desk/{scene}"} & set(names)]
    with a_browser() as browser, tempfile.TemporaryDirectory() as folder:
        moves = not names or "film" in names
        if wanted or boards or walk_in or moves:
            for images in (FOLDER, BOARDS, WALK_IN):
                images.mkdir(parents=True, exist_ok=True)
            with a_venue(browser, Path(folder)) as venue:
                for picture in wanted:
                    draw(venue, *picture)
                for screen in boards:
                    draw_board(venue, *screen)
                for name in walk_in:
                    draw_walk_in(venue, name)
                if moves:
                    film.draw(venue, FILM)
        if dashboard:
            draw_dashboard(browser, Path(folder) / "admin", dashboard)
        if desk:
            draw_desk(browser, Path(folder) / "desk", desk)


def draw_dashboard(browser: Browser, folder: Path, scenes: list[str]) -> None:
    """The dashboard after an evening, each scene at both widths, light and dark."""
    ADMIN_FOLDER.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    evening = visitors(admin_scenes.EVENING_PEOPLE, 2000)
    with after_an_evening(folder, evening, admin_scenes.EVENING_SECONDS) as server:
        operator = admin_scenes.Operator(server)
        operator.prepare()
        for scheme in ("light", "dark"):
            operator.set(status="active")
            for size, viewport in ADMIN_SIZES.items():
                state = None
                for scene in scenes:
                    context = browser.new_context(
                        viewport=viewport,
                        color_scheme=scheme,
                        locale="en-GB",
                        storage_state=state,
                        reduced_motion="reduce",
                    )
                    page = context.new_page()
                    admin_scenes.SCENES[scene](operator, page)
                    _take(page, ADMIN_FOLDER / f"{scene}{'-dark' if scheme == 'dark' else ''}-{size}.png")
                    state = context.storage_state()
                    context.close()


def draw_desk(browser: Browser, folder: Path, scenes: list[str]) -> None:
    """A desk of an office, each scene on a tablet and on a phone; one of them in the dark too."""
    DESK_FOLDER.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    with a_venue(browser, folder) as venue:
        office = desk_scenes.Office(venue.server)
        office.open()
        cookies: list[Any] = []
        for size, viewport in DESK_SIZES.items():
            for scene, scheme in [(scene, "light") for scene in scenes] + [("called", "dark")] * ("called" in scenes):
                with person(venue, viewport=viewport, color_scheme=scheme, reduced_motion="reduce") as someone:
                    someone.context.add_cookies(cookies)
                    page = someone.tab()
                    desk_scenes.SCENES[scene](office, page)
                    _take(page, DESK_FOLDER / f"{scene}{'-dark' if scheme == 'dark' else ''}-{size}.png")
                    cookies = someone.context.cookies()
        office.api.close()


def draw(venue: Venue, name: str, state: str, lang: str, scheme: str) -> None:
    """One state at both widths."""
    with person(venue, viewport=SIZES["phone"], color_scheme=scheme, reduced_motion="reduce") as someone:
        page = SCENES[state](venue, someone, lang)
        for size, viewport in SIZES.items():
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
            _take(page, FOLDER / f"{name}-{size}.png")


def draw_board(venue: Venue, name: str, scene: str, query: str, sizes: dict[str, dict[str, int]]) -> None:
    """One board at some sizes."""
    with person(venue, viewport=WALL, reduced_motion="reduce") as someone:
        page = BOARD_SCENES[scene](venue, someone, query)
        for size, viewport in sizes.items():
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
            _take(page, BOARDS / f"{name}-{size}.png")


def draw_walk_in(venue: Venue, name: str) -> None:
    """One page of a walk-in line; the receipt as it comes out of the printer."""
    scene, _, lang = name.partition("-") if name in ("form-ar", "errors-ko") else (name, "", "en")
    size = WALK_IN_SCENES["kiosk-taken" if name == "receipt" else scene][0]
    with person(venue, viewport=size, device_scale_factor=1, reduced_motion="reduce") as someone:
        if name == "receipt":
            page = kiosk_taken(venue, someone)
            page.emulate_media(media="print")
            page.locator(".receipt").screenshot(path=WALK_IN / "receipt.png")
            return
        page = (
            {"form": form, "errors": errors}[scene](venue, someone, lang)
            if lang != "en"
            else WALK_IN_SCENES[scene][1](venue, someone)
        )
        page.screenshot(path=WALK_IN / f"{name}.png", animations="disabled", caret="hide", full_page=True)


def _take(page: Page, file: Path) -> None:
    page.screenshot(path=file, animations="disabled", caret="hide")
    sys.stdout.write(f"{file.name}  {file.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
