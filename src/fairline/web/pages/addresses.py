"""The addresses of the pages for people."""

from __future__ import annotations

from urllib.parse import quote, urlencode


def page_url(queue: str, lang: str = "", back_to: str = "", mark: str = "") -> str:
    """The address of a queue's waiting page; `back_to` is the page of the site that the visitor asked for, and `mark`
    says what the browser has just done."""
    return address(f"/q/{quote(queue, safe='')}", lang, back_to, mark)


def form_url(queue: str, lang: str = "", group: str = "") -> str:
    """The address of the form for taking a number; `group` is the code of the group to join."""
    path = address(f"/join/{quote(queue, safe='')}", lang)
    return path + ("&" if lang and group else "?" if group else "") + (urlencode({"group": group}) if group else "")


def arrival_url(queue: str, lang: str = "") -> str:
    """The address of the page that stands in for a queue's site."""
    return address(f"/arrived/{quote(queue, safe='')}", lang)


def draw_url(draw: str, lang: str = "") -> str:
    """The address of the page about a draw."""
    return address(f"/draws/{quote(draw, safe='')}", lang)


def address(path: str, lang: str, back_to: str = "", mark: str = "") -> str:
    """An address of a page with its query."""
    query = {name: value for name, value in (("lang", lang), ("return", back_to), (mark, "1" if mark else "")) if value}
    return path + (f"?{urlencode(query)}" if query else "")
