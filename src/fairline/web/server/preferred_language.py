"""Chooses the language of a page for its reader."""

from __future__ import annotations

from functools import lru_cache

from fairline.domain.branding import LANGUAGES, spoken
from fairline.web.cookies import LANGUAGE_COOKIE
from fairline.web.server.http import Request


def preferred(request: Request) -> str:
    """The language that a reader asks for: with `?lang=`, or else with the browser's Accept-Language."""
    head = request.head
    asked = spoken(head.args.get("lang", "")) if head.query else None
    return asked or _accepted((head.header(b"accept-language") or b"")[:500])


def chosen(request: Request) -> str:
    """The language for a member of staff: the one asked for with `?lang=`, the one chosen on a page, or else the
    browser's."""
    asked = spoken(request.args.get("lang", "")) or spoken(request.cookies.get(LANGUAGE_COOKIE, ""))
    return asked or preferred(request)


@lru_cache(maxsize=256)
def _accepted(header: bytes) -> str:
    wanted = [_weighed(part) for part in header.decode("utf-8", "replace").split(",")]
    available = [(weight, code) for weight, code in wanted if code and weight > 0]
    return max(available, key=lambda each: each[0])[1] if available else LANGUAGES[0]


def _weighed(part: str) -> tuple[float, str | None]:
    """One entry of Accept-Language, such as `pt-BR;q=0.8`: its weight, and the language of our pages it matches."""
    tag, _, weight = part.strip().partition(";q=")
    try:
        wanted = float(weight) if weight else 1.0
    except ValueError:
        wanted = 0.0
    return wanted, spoken(tag)
