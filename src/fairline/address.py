"""Addresses of the web that operators name: taken only where someone could go there."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
#: A name or an address, and perhaps a port.
_HOST = re.compile(r"(?:\[[0-9a-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:]+)(?::\d*)?", re.IGNORECASE | re.ASCII)


def web_address(text: str) -> SplitResult | None:
    """The parts of an http:// or https:// address; None where it is none."""
    parts = _parts(text)
    return parts if parts is not None and parts.scheme in {"http", "https"} else None


def _parts(text: str) -> SplitResult | None:
    if _BLANK.search(text):  # some of which `urlsplit` would leave out
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    return parts if port != 0 and _HOST.fullmatch(parts.netloc.rpartition("@")[2]) else None
