"""Branding: the logo, colours and texts of a queue's pages that an operator can set, and their checks."""

from __future__ import annotations

import re
from datetime import datetime

from fairline.domain.notices import NoticeKind
from fairline.domain.opening import YEARS, in_known_years
from fairline.errors import InvalidSettings

#: The languages of the pages. The first is used if a browser asks for none of them.
LANGUAGES = ("en", "ko", "es", "fr", "de", "ja", "pt", "ar")
#: The pages that have their own title and text.
PAGES = (
    "form",
    "joining",
    "prequeue",
    "prequeue_draw",
    "drawing",
    "waiting",
    "paused",
    "on_hold",
    "admitted",
    "not_open",
    "maintenance",
    "ended",
    "closed",
    "full",
    "sold_out",
    "expired",
    "inside",
    "finished",
)
#: The texts that an operator may replace.
TEXTS = (*(f"{page}_{part}" for page in PAGES for part in ("title", "text")), "footer")
#: The notices whose texts an operator may replace.
NOTICE_TEXTS = tuple(f"notice_{kind}" for kind in NoticeKind)

#: The name of the text that says what a series is for, such as `series_A`; the form and the kiosk show it.
SERIES_TEXT = re.compile(r"series_[A-Z0-9]{0,3}[A-Z]", re.ASCII)
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
IMAGE = re.compile(r"data:image/(png|jpeg|webp|gif|svg\+xml)(;base64,[A-Za-z0-9+/]+={0,2}|(;charset=utf-8)?,[!-~]+)")
MOST_TEXTS = 50


def check_branding(*, opens_at: str, logo: str, colours: dict[str, str], texts: dict[str, str]) -> None:
    """Raise InvalidSettings, with the name of the setting, for a value that no page could show."""
    if opens_at and not in_known_years(opening_time(opens_at)):
        raise InvalidSettings("opens_at", f"must be in the years {YEARS[0]} to {YEARS[-1]}; got {opens_at!r:.80}")
    if logo and not IMAGE.fullmatch(logo):
        raise InvalidSettings(
            "logo", f"must be a PNG, JPEG, WebP, GIF or SVG image as a data: address; got {logo!r:.80}"
        )
    for name, colour in colours.items():
        if colour and not COLOUR.fullmatch(colour):
            raise InvalidSettings(name, f"must be a colour such as #0b6bcb; got {colour!r:.80}")
    if len(texts) > MOST_TEXTS:
        raise InvalidSettings("texts", f"must be at most {MOST_TEXTS}; got {len(texts)}")
    known = (*TEXTS, *NOTICE_TEXTS)
    for name in texts:
        text, _, language = name.partition(".")
        if not (text in known or SERIES_TEXT.fullmatch(text)) or (language not in LANGUAGES if "." in name else False):
            raise InvalidSettings(
                "texts",
                f"has no {name!r:.80}. Names are: {', '.join(known)}, and series_A for a series A; each alone, or "
                f"followed by '.' and one of {', '.join(LANGUAGES)}",
            )


def spoken(tag: str) -> str | None:
    """The language of a tag such as `pt-BR`, without its region; None if the pages do not have that language."""
    code = tag.strip().partition("-")[0].lower()
    return code if code in LANGUAGES else None


def opening_time(text: str) -> datetime:
    """Read `opens_at`: a time with an offset, or InvalidSettings."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidSettings("opens_at", f"must be a time such as 2027-01-15T09:00:00Z; got {text!r:.80}")
    return moment
