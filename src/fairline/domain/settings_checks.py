"""Checks the settings of a queue, and says what each of them allows."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

from fairline.domain.address import web_address
from fairline.domain.branding import check_branding
from fairline.domain.bypass import check_bypass
from fairline.domain.calendar import check_hours
from fairline.domain.desk_name import desk_name
from fairline.domain.phone import check_region
from fairline.domain.queue_settings import PREFIX, SERIES, SETTINGS, QueueSettings, Rules
from fairline.domain.settings_groups import setting_types
from fairline.domain.spelling import did_you_mean
from fairline.domain.storable_text import check_text
from fairline.errors import InvalidSettings


def checked(changes: dict[str, Any], base: QueueSettings | None = None) -> QueueSettings:
    """Return the settings after `changes`, or raise InvalidSettings with the field and what it allows."""
    unknown = [field for field in changes if field not in SETTINGS]
    if unknown:
        name = str(unknown[0])[:80]
        hint = did_you_mean(name, SETTINGS) or " 'fairline queue set --help' and /docs of the server list them."
        raise InvalidSettings(name, f"is not a queue setting.{hint}")
    merged = {**msgspec.structs.asdict(base or QueueSettings()), **changes}
    for field, value in merged.items():
        for text in _texts_in(value):
            check_text(field, text, InvalidSettings)
    try:
        settings = msgspec.convert(merged, QueueSettings)
    except msgspec.ValidationError as error:
        field = _field_of(error)
        raise InvalidSettings(field, f"{allowed(field)}; got {merged.get(field)!r:.80}") from None
    _check_together(settings)
    return settings


def stored_settings(fields: dict[str, Any]) -> QueueSettings:
    """Build settings from a stored record: removed settings are ignored, and new ones have their default."""
    known = QueueSettings.__struct_fields__
    return msgspec.convert({name: fields[name] for name in known if name in fields}, QueueSettings)


def _texts_in(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts_in(inner)]
    if isinstance(value, dict):
        return [text for pair in value.items() for text in _texts_in(pair)]
    return [value] if isinstance(value, str) else []


def allowed(field: str) -> str:
    """What a setting allows, as text: 'must be a number from 0 to 100,000'."""
    kind, optional = setting_types()[field]
    return f"must be {_words(kind)}" + (" or null" if optional else "")


def _words(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata(extra={"allowed": str(words)}):
            return words
        case inspect.Metadata(type=inner):
            return _words(inner)
        case inspect.EnumType(cls=enum):
            return f"one of {', '.join(enum)}"
        case inspect.StrType(max_length=int(longest)):
            return f"text of at most {longest:,} characters"
        case inspect.IntType(ge=least, le=most):
            return f"a whole number from {least:,} to {most:,}"
        case inspect.FloatType(ge=least, le=most):
            return f"a number from {least:,} to {most:,}"
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType(item_type=inspect.EnumType(cls=enum)):
            return f"a list with any of {', '.join(enum)}"
        case inspect.VarTupleType(item_type=inspect.FloatType(ge=least, le=most), min_length=int(many)):
            return f"a list of {many} numbers from {least:,} to {most:,}"
    raise TypeError(f"{kind} needs words for what it allows")


def _field_of(error: msgspec.ValidationError) -> str:
    found = re.search(r"\$\.(\w+)", str(error))
    return found.group(1) if found else ""


def _check_together(settings: QueueSettings) -> None:
    """Raise InvalidSettings if settings that are valid alone contradict each other."""
    shares = settings.priority_skip
    if shares[0] != 0 or list(shares) != sorted(shares):
        raise InvalidSettings("priority_skip", f"must begin with 0 and never decrease; got {list(shares)}")
    timeout, interval = settings.heartbeat_timeout_seconds, settings.heartbeat_interval_seconds
    if 0 < timeout < interval:
        raise InvalidSettings(
            "heartbeat_timeout_seconds",
            f"must be 0 (no timeout) or at least heartbeat_interval_seconds ({interval:g}); got {timeout:g}",
        )
    if settings.session_max_seconds < settings.session_seconds:
        raise InvalidSettings(
            "session_max_seconds",
            f"must be at least session_seconds ({settings.session_seconds:g}); got {settings.session_max_seconds:g}",
        )
    for field in ("target_url", "stock_url"):
        url = getattr(settings, field)
        if url and web_address(url) is None:
            raise InvalidSettings(field, f"must be an http:// or https:// address; got {url!r:.80}")
    if not PREFIX.fullmatch(settings.ticket_prefix):
        raise InvalidSettings(
            "ticket_prefix", f"must be at most 12 capital letters or digits; got {settings.ticket_prefix!r}"
        )
    for name in settings.series:
        if not SERIES.fullmatch(name):
            rule = "1 to 4 capital letters or digits, the last one a letter"
            raise InvalidSettings("series", f"must have names of {rule}; got {name!r:.80}")
    for name in settings.desks:
        if desk_name(name, "desks", InvalidSettings) != name:
            raise InvalidSettings("desks", f"must have names without spaces at the ends; got {name!r:.80}")
    _check_once("series", settings.series)
    _check_once("desks", settings.desks)
    if len(set(settings.notices)) < len(settings.notices):
        raise InvalidSettings("notices", f"must not have a kind twice; got {', '.join(settings.notices)}")
    check_hours(settings.time_zone, settings.opening_hours, settings.closed_dates)
    check_region(settings.phone_region)
    check_bypass(settings.bypass_paths, settings.bypass_agents, settings.bypass_addresses)
    check_branding(
        opens_at=settings.opens_at,
        logo=settings.logo,
        colours={name: getattr(settings, name) for name in ("accent_colour", "background_colour")},
        texts=settings.texts,
    )


def _check_once(field: str, names: Rules) -> None:
    if len(set(names)) < len(names):
        raise InvalidSettings(field, f"must not have a name twice; got {', '.join(names):.200}")
