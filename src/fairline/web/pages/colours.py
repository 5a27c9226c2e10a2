"""The colours of a page: those that an operator has set, corrected so that everything can be read."""

from __future__ import annotations

from fairline.domain.queue_settings import QueueSettings

#: The contrast that small text needs (WCAG 2.2, level AA), and a little more.
CONTRAST = 4.7
_BLACK, WHITE, _INK = (0, 0, 0), (255, 255, 255), (20, 24, 31)
#: The backgrounds in waiting.css.
_LIGHT, _DARK = (255, 255, 255), (16, 19, 26)

Colour = tuple[int, int, int]


def style(settings: QueueSettings) -> str:
    """The CSS variables of the page; empty if nothing is set."""
    rules: list[str] = []
    background = parsed(settings.background_colour) if settings.background_colour else None
    if background:
        is_dark = contrast(background, WHITE) >= contrast(background, _BLACK)
        ink, scheme = (WHITE, "dark") if is_dark else (_readable(_INK, background), "light")
        soft, line = _mixed(ink, background, 0.25), _mixed(ink, background, 0.82)
        variables = f"color-scheme:{scheme};--back:{_hex(background)};--ink:{_hex(ink)}"
        rules.append(f":root{{{variables};--soft:{_hex(_readable(soft, background))};--line:{_hex(line)}}}")
    if settings.accent_colour:
        accent = parsed(settings.accent_colour)
        rules.append(_accent(accent, background or _LIGHT))
        if background is None:
            rules.append("@media (prefers-color-scheme:dark){" + _accent(accent, _DARK) + "}")
    return "".join(rules)


def _accent(accent: Colour, background: Colour) -> str:
    shown = _readable(accent, background)
    on = WHITE if contrast(shown, WHITE) >= contrast(shown, _BLACK) else _BLACK
    return f":root{{--accent:{_hex(shown)};--on-accent:{_hex(on)}}}"


def _readable(colour: Colour, background: Colour) -> Colour:
    """The colour, moved towards black or white until it can be read."""
    towards = _BLACK if contrast(background, _BLACK) > contrast(background, WHITE) else WHITE
    for step in range(21):
        moved = _mixed(colour, towards, step / 20)
        if contrast(moved, background) >= CONTRAST:
            return moved
    return towards


def parsed(text: str) -> Colour:
    """A colour such as #0b6bcb."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _mixed(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
