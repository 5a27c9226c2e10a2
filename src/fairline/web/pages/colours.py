"""The colours of a page: those that an operator has set, corrected so that everything can be read."""

from __future__ import annotations

from collections.abc import Mapping

from fairline.domain.queue_settings import QueueSettings

#: The contrast that small text needs (WCAG 2.2, level AA), and a little more.
CONTRAST = 4.7
_BLACK, WHITE, _INK = (0, 0, 0), (255, 255, 255), (20, 24, 31)
#: The backgrounds in waiting.css.
_LIGHT, _DARK = (255, 255, 255), (16, 19, 26)
#: What a board says of a line that is stopped, before it is corrected.
_LOST = (163, 36, 31)

Colour = tuple[int, int, int]


def style(settings: QueueSettings) -> str:
    """The CSS variables of the page; empty if nothing is set."""
    rules: list[str] = []
    background = parsed(settings.background_colour) if settings.background_colour else None
    if background:
        ink, scheme = (WHITE, "dark") if _on(background) == WHITE else (_readable(_INK, background), "light")
        soft, line = _mixed(ink, background, 0.25), _mixed(ink, background, 0.82)
        variables = f"color-scheme:{scheme};--back:{_hex(background)};--ink:{_hex(ink)}"
        rules.append(f":root{{{variables};--soft:{_hex(_readable(soft, background))};--line:{_hex(line)}}}")
    if settings.accent_colour:
        accent = parsed(settings.accent_colour)
        rules.append(_accent(accent, background or _LIGHT))
        if background is None:
            rules.append("@media (prefers-color-scheme:dark){" + _accent(accent, _DARK) + "}")
    return "".join(rules)


def board_style(queues: Mapping[str, QueueSettings]) -> str:
    """The CSS variables of a board. Each queue has its accent colour. The screen has the background colour that they
    share, unless its address names a theme; with the theme of strong contrast it has none of these colours."""
    rules = [
        f':root:not([data-theme="contrast"]) [data-queue="{queue}"]{{{_panel(parsed(settings.accent_colour))}}}'
        for queue, settings in queues.items()
        if settings.accent_colour
    ]
    backgrounds = {settings.background_colour for settings in queues.values()}
    if len(backgrounds) == 1 and (shared := backgrounds.pop()):
        rules.append(f":root:not([data-theme]){{{_wall(parsed(shared))}}}")
    return "".join(rules)


def _panel(accent: Colour) -> str:
    """The panel with the number that is called now."""
    on = _on(accent)
    return f"--now:{_hex(accent)};--on-now:{_hex(on)};--on-now-soft:{_hex(_readable(_mixed(on, accent, 0.15), accent))}"


def _wall(background: Colour) -> str:
    """Everything around the panels."""
    on = _on(background)
    ink = WHITE if on == WHITE else _readable(_INK, background)
    variables = {
        "back": background,
        # Away from the ink, so that what can be read on the background can be read on a card too.
        "card": _mixed(background, _BLACK if on == WHITE else WHITE, 0.5),
        "ink": ink,
        "soft": _readable(_mixed(ink, background, 0.25), background),
        "line": _mixed(ink, background, 0.7),
        "lost": _readable(_LOST, background),
    }
    scheme = "dark" if on == WHITE else "light"
    return ";".join((f"color-scheme:{scheme}", *(f"--{name}:{_hex(colour)}" for name, colour in variables.items())))


def _on(background: Colour) -> Colour:
    """Black or white, whichever can be read better on a colour."""
    return WHITE if contrast(background, WHITE) >= contrast(background, _BLACK) else _BLACK


def _accent(accent: Colour, background: Colour) -> str:
    shown = _readable(accent, background)
    return f":root{{--accent:{_hex(shown)};--on-accent:{_hex(_on(shown))}}}"


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
