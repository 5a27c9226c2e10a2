"""QR codes: an address as a picture that a phone reads."""

from __future__ import annotations

import io
import re

import segno

from fairline.caches import SHARES, cached
from fairline.errors import InvalidRequest
from fairline.web.pages.colours import WHITE, contrast, parsed

#: Pixels a side.
SMALLEST, USUAL, LARGEST = 64, 400, 4096
#: Less than this against white, and cameras begin to miss it.
READABLE = 3.0
#: The quiet border that readers need, in modules.
BORDER = 4
COLOUR = re.compile(r"#?([0-9a-fA-F]{6})")
_SIZE = re.compile(r"[0-9]{1,4}", re.ASCII)


def asked_size(text: str) -> int:
    """The size a query asks for."""
    if not text:
        return USUAL
    if not _SIZE.fullmatch(text) or not SMALLEST <= int(text) <= LARGEST:
        raise InvalidRequest("size", f"must be a whole number of pixels from {SMALLEST} to {LARGEST}; got {text!r:.80}")
    return int(text)


def asked_colour(text: str) -> str:
    """The colour a query asks for; on white it has to be dark enough for a camera."""
    found = COLOUR.fullmatch(text or "#000000")
    if found is None:
        raise InvalidRequest("colour", f"must be a colour such as 0b6bcb; got {text!r:.80}")
    colour = f"#{found[1]}"
    if contrast(parsed(colour), WHITE) < READABLE:
        raise InvalidRequest("colour", f"must be darker, so that a camera can read it on white; got {colour}")
    return colour


def picture(text: str, size: int = USUAL, colour: str = "#000000") -> bytes:
    """The code as an SVG file, with its own white ground: it can be read in dark mode too."""
    return _picture((text, size, colour))


def _drawn(wanted: tuple[str, int, str]) -> bytes:
    text, size, colour = wanted
    code = segno.make_qr(text, error="m")
    out = io.BytesIO()
    code.save(out, kind="svg", border=BORDER, dark=colour, light="#ffffff", omitsize=True, xmldecl=False, svgclass=None)
    return out.getvalue().replace(b"<svg ", b'<svg width="%d" height="%d" ' % (size, size), 1)


def embedded(text: str) -> str:
    """The code as an address with the picture in it."""
    return _embedded(text)


def _as_address(text: str) -> str:
    # A long one is read off a screen or fresh paper: coarser is worth more there than room for scratches.
    code = segno.make_qr(text, error="m" if len(text) < 120 else "l")
    return str(code.svg_data_uri(border=BORDER, light="#ffffff", omitsize=True))


_picture = cached(SHARES["codes"] // 2, _drawn)
_embedded = cached(SHARES["codes"] // 2, _as_address)
