"""The limits of body fields that their types do not express, as JSON Schema: checks that the domain makes itself.

msgspec checks the types and describes them by itself. These further limits are checked in the domain, with error
messages of their own; here the same constants go into the description, so that a program knows them beforehand.
"""

from __future__ import annotations

import re
from typing import Any

from fairline.domain import branding, bypass, calendar
from fairline.domain.branding import LANGUAGES
from fairline.domain.join_request import METADATA_BYTES
from fairline.domain.notices import NoticeKind
from fairline.domain.queue import ID_PATTERN
from fairline.domain.queue_settings import PREFIX, SERIES

Schema = dict[str, Any]

WEB_ADDRESS: Schema = {"pattern": "^https?://[^/]", "format": "uri"}
MAIL_ADDRESS: Schema = {"pattern": "^[^@]+@[^@]+$", "format": "email"}
QUEUE: Schema = {"pattern": f"^{ID_PATTERN}$"}
_TEXT_NAMES = "|".join((*branding.TEXTS, *branding.NOTICE_TEXTS, branding.SERIES_TEXT.pattern))
_SOME_SETTINGS: Schema = {"$ref": "#/components/schemas/QueueChanges"}


def _whole(pattern: re.Pattern[str]) -> Schema:
    return {"pattern": f"^(?:{pattern.pattern})$"}


def _or_empty(pattern: str) -> Schema:
    return {"pattern": f"^(?:{pattern})?$"}


#: By type and field; a type that is derived from another one has its limits too.
LIMITS: dict[str, dict[str, Schema]] = {
    "Settings": {
        "target_url": _or_empty("https?://[^/].*"),
        "stock_url": _or_empty("https?://[^/].*"),
        "bypass_paths": {"maxItems": bypass.MOST, "items": _whole(bypass.PATH)},
        "bypass_agents": {"maxItems": bypass.MOST, "items": {"minLength": bypass.SHORTEST_AGENT}},
        "bypass_addresses": {"maxItems": bypass.MOST, "items": {"minLength": 1}},
        "priority_skip": {"prefixItems": [{"const": 0}]},
        "ticket_prefix": _whole(PREFIX),
        "series": {"uniqueItems": True, "items": _whole(SERIES)},
        "time_zone": {"minLength": 1},
        "opening_hours": {
            "maxProperties": len(calendar.WEEKDAYS),
            "propertyNames": {"enum": list(calendar.WEEKDAYS)},
            "additionalProperties": {"maxItems": calendar.MOST_SPANS, "items": _whole(calendar.SPAN)},
        },
        "closed_dates": {"maxItems": calendar.MOST_DATES, "items": {"format": "date"}},
        "desks": {"uniqueItems": True, "items": {"minLength": 1, "maxLength": 60}},
        "phone_region": _or_empty("[A-Z]{2}"),
        "notices": {"maxItems": len(NoticeKind), "uniqueItems": True},
        "logo": _or_empty(branding.IMAGE.pattern),
        "accent_colour": _or_empty(branding.COLOUR.pattern),
        "background_colour": _or_empty(branding.COLOUR.pattern),
        "texts": {
            "maxProperties": branding.MOST_TEXTS,
            "propertyNames": {"pattern": rf"^(?:{_TEXT_NAMES})(?:\.(?:{'|'.join(LANGUAGES)}))?$"},
        },
    },
    "NewQueue": {"id": QUEUE},
    "NewOpening": {"settings": _SOME_SETTINGS},
    "OpeningChanges": {"settings": _SOME_SETTINGS},
    "JoinRequest": {
        "email": MAIL_ADDRESS,
        "language": {"pattern": f"^(?:{'|'.join(LANGUAGES)})(?:-.*)?$"},
        "series": _whole(SERIES),
        "metadata": {"maxProperties": METADATA_BYTES // len('"":0,')},
    },
    "Transfer": {"queue": QUEUE},
    "MailTrial": {"to": MAIL_ADDRESS},
    "NewWebhook": {"url": WEB_ADDRESS, "queue": QUEUE},
    "WebhookChanges": {"url": WEB_ADDRESS},
}


def limit(schema: Schema, more: Schema) -> None:
    """Put limits into the schema of a field; if it may be null, into the other option."""
    own = next((option for option in schema.get("anyOf", ()) if option.get("type") != "null"), schema)
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(own.get(name), dict):
            limit(own[name], value)
        else:
            own[name] = value
