"""Durations in words, for the pages of staff that the server writes."""

from __future__ import annotations

from fairline.web.pages.languages import Language


def span_in_words(t: Language, seconds: float) -> str:
    """A duration for people: 45 s, 12 min, 1 h 05 min."""
    whole = round(seconds)
    if whole < 90:
        return t("span_s", s=whole)
    minutes = round(whole / 60)
    return t("span_min", m=minutes) if minutes < 90 else t("span_h_min", h=minutes // 60, m=f"{minutes % 60:02}")
