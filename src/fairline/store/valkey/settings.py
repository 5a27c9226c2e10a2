"""Packs and unpacks the settings of a queue as fields of its hash, so that scripts can read single ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fairline.domain.queue_settings import QueueSettings
from fairline.store.arrivals import JoinCalendar
from fairline.store.values import Configured

#: Settings that are neither text nor a number: kept as JSON.
_FIELDS = QueueSettings.__struct_fields__
_AS_JSON = {name for name in _FIELDS if isinstance(getattr(QueueSettings(), name), tuple | dict)}

#: No setting has this value: check_text refuses it.
UNSET = "\0"


def pack_settings(settings: QueueSettings) -> list[str | bytes]:
    """Settings as the scripts take them: all as JSON, for the history, then field by field. UNSET removes the
    field."""
    packed: list[str | bytes] = [msgspec.json.encode(settings)]
    for field in settings_fields(settings).items():
        packed += field
    return packed


def settings_fields(settings: QueueSettings) -> dict[str, str]:
    """The fields of a queue's hash; UNSET for a setting that is unset."""
    return {name: _field(value) for name, value in msgspec.structs.asdict(settings).items()}


def _field(value: Any) -> str:
    if value is None:
        return UNSET
    return str(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def unpack_settings(fields: Mapping[bytes, bytes]) -> Configured | None:
    """The settings in the fields of a queue's hash; None if there is no queue."""
    kept = {name.decode(): value for name, value in fields.items()}
    if "version" not in kept:
        return None
    found: dict[str, Any] = {name: kept[name].decode() for name in _FIELDS if name in kept}
    for name in _AS_JSON & found.keys():
        found[name] = msgspec.json.decode(found[name])
    return Configured(msgspec.convert(found, QueueSettings, strict=False), int(kept["version"]))


def pack_join_calendar(calendar: JoinCalendar | None) -> list[Any]:
    """The calendar as the script takes it."""
    if calendar is None:
        return ["", "", "", ""]
    spans = "" if calendar.open is None else ",".join(f"{begin}-{end}" for begin, end in calendar.open) or "never"
    days = ",".join(map(str, calendar.days))
    return [calendar.version, days, spans, "" if calendar.longest is None else calendar.longest]
