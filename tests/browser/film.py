"""Draws the picture of the README that moves: someone's place counts down, and then they are let in.

`make screenshots ARGS=film` puts it into docs/images/waiting.webp: real pages, one picture for each step.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from tests.browser.venue import Person, Queue, Venue, never_answer, person, shows

PLACES = (18, 14, 9, 5, 2, 1)
#: How long each step is shown, in milliseconds: the last ones are what it is about.
STEP, TURN, INSIDE = 900, 1800, 2600
SIZE = {"width": 390, "height": 660}
WIDTH = 300
SHOP = """<!doctype html><meta name="viewport" content="width=device-width"><title>Winter Sale</title>
<style>body{font:18px/1.5 system-ui,sans-serif;margin:0;background:#f2f7f4;color:#14231b;text-align:center}
h1{font-size:2rem;margin:22vh 0 .2rem}p{margin:0 2rem 1.4rem;color:#4b5f54}
b{display:inline-block;padding:.7em 1.6em;border-radius:.6em;background:#1f7a4d;color:#fff}</style>
<h1>Winter Sale</h1><p>You are in. Take your time.</p><b>Choose your size</b>"""


def draw(venue: Venue, file: Path) -> None:
    """The whole film, as an animated WebP."""
    venue.site.html["/shop"] = SHOP
    with person(venue, viewport=SIZE, reduced_motion="reduce", device_scale_factor=2) as someone:
        shots = [(_framed(picture), duration) for picture, duration in _shots(venue, someone)]
    pictures, durations = zip(*shots, strict=True)
    pictures[0].save(
        file, save_all=True, append_images=pictures[1:], duration=list(durations), loop=0, quality=82, method=6
    )


def _shots(venue: Venue, someone: Person) -> Iterator[tuple[bytes, int]]:
    queue = venue.queue(
        admission="auto", admission_rate=0.05, burst=1, heartbeat_timeout_seconds=0, ticket_prefix="SALE"
    )
    queue.others(PLACES[0] + 2)
    someone.context.route(f"{venue.site.url}/**", never_answer)
    page = someone.tab(f"{queue.url}?lang=en")
    shows(page, "heard").to_have_attribute("data-live", "yes")
    mine = queue.newest()["ticket"]
    queue.others(25)
    for place in PLACES:
        _move_up(queue, mine, place)
        shows(page, "position").to_have_text(str(place))
        yield _shot(page), STEP
    queue.call()
    page.wait_for_selector("html[data-state=admitted]")
    yield _shot(page), TURN
    someone.context.unroute(f"{venue.site.url}/**")
    page.goto(f"{venue.site.url}/shop")
    expect(page.locator("h1")).to_be_visible()
    yield _shot(page), INSIDE


def _move_up(queue: Queue, mine: int, place: int) -> None:
    """Let those in who are ahead; the rate lets in one by itself now and then."""
    ahead = queue.ticket(mine)["position"] - place
    if ahead > 0:
        queue.call(ahead)


def _shot(page: Page) -> bytes:
    return page.screenshot(animations="disabled", caret="hide")


def _framed(shot: bytes) -> Image.Image:
    """A shot in the frame of a phone, on white or dark pages alike."""
    screen = Image.open(io.BytesIO(shot)).convert("RGB")
    screen = screen.resize((WIDTH, round(WIDTH * screen.height / screen.width)), Image.Resampling.LANCZOS)
    edge, scale = 10, 4
    size = (screen.width + 2 * edge, screen.height + 2 * edge)
    body = Image.new("RGBA", (size[0] * scale, size[1] * scale))
    ImageDraw.Draw(body).rounded_rectangle((0, 0, body.width - 1, body.height - 1), 34 * scale, fill="#1c2430")
    glass = Image.new("L", (screen.width * scale, screen.height * scale))
    ImageDraw.Draw(glass).rounded_rectangle((0, 0, glass.width - 1, glass.height - 1), 26 * scale, fill=255)
    framed = body.resize(size, Image.Resampling.LANCZOS)
    framed.paste(screen, (edge, edge), glass.resize(screen.size, Image.Resampling.LANCZOS))
    return framed
