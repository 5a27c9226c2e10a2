"""The settings of a queue as a form: in groups, each setting with a label, a description and its limits.

The descriptions and limits come from the type that checks the settings (`queue.QueueSettings`). Only the groups, the
order and the labels are defined here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from fairline.domain.queue import SETTINGS, QueueSettings
from fairline.web.description.schemas import Schema, Schemas

#: The groups of settings, in the order of the form.
GROUPS: dict[str, tuple[str, ...]] = {
    "Queue": ("name", "target_url", "status"),
    "Admission": ("admission", "admission_rate", "burst", "max_active", "max_queue_size", "stock", "stock_url"),
    "Joining": (
        "one_per",
        "require_user_token",
        "join_limit_per_ip",
        "join_limit_per_phone",
        "join_limit_per_email",
        "ipv6_prefix",
        "phone_region",
        "max_party_size",
        "priority_policy",
        "priority_skip",
    ),
    "Desks and numbers": ("desks", "desk_idle_seconds", "wait_sample", "ticket_prefix", "series", "label_restart"),
    "Join form": ("ask_name", "ask_phone", "ask_email", "ask_party_size"),
    "Opening hours": ("time_zone", "opening_hours", "closed_dates", "close_early", "clear_after_minutes"),
    "Staying in line": ("heartbeat_interval_seconds", "heartbeat_timeout_seconds", "grace_seconds"),
    "Inside": ("claim_seconds", "session_seconds", "session_max_seconds", "retain_seconds"),
    "Gate": ("passthrough", "bypass_paths", "bypass_agents", "bypass_addresses"),
    "Notices": ("notices", "notice_place"),
    "Waiting page": (
        "message",
        "closed_message",
        "opens_at",
        "logo",
        "accent_colour",
        "background_colour",
        "texts",
        "page_template",
    ),
}
#: The group of settings that no other group names. There are none now; a new one would be shown here.
REST = "More"

_LABELS = {
    "target_url": "Destination URL",
    "admission": "How people are let in",
    "admission_rate": "Admission rate, people per second",
    "burst": "Most people let in at once",
    "max_active": "Capacity inside",
    "max_queue_size": "Capacity in line",
    "stock_url": "URL that answers the stock",
    "one_per": "One place per",
    "require_user_token": "Require a user token from your site",
    "join_limit_per_ip": "Joins per address and minute",
    "join_limit_per_phone": "Joins per phone and hour",
    "join_limit_per_email": "Joins per e-mail address and hour",
    "ipv6_prefix": "Bits of IPv6 that count as one address",
    "priority_skip": "Share of the line that each level skips",
    "heartbeat_interval_seconds": "Heartbeat interval",
    "heartbeat_timeout_seconds": "Place is lost without a heartbeat for",
    "grace_seconds": "Extra grace",
    "claim_seconds": "Time to come in",
    "session_seconds": "Session ends without activity after",
    "session_max_seconds": "Longest session",
    "retain_seconds": "Keep the record of an ended ticket for",
    "passthrough": "Let people straight in while nobody waits",
    "bypass_paths": "Paths that need no session token",
    "bypass_agents": "User agents that need no session token",
    "bypass_addresses": "IP addresses that need no session token",
    "phone_region": "Country of phone numbers without +",
    "max_party_size": "Largest party",
    "ask_name": "Ask for a name",
    "ask_phone": "Ask for a phone number",
    "ask_email": "Ask for an e-mail address",
    "ask_party_size": "Ask for the number of people",
    "desks": "Desks",
    "desk_idle_seconds": "A desk counts as open after its last call for",
    "wait_sample": "Number of calls used to measure the wait",
    "ticket_prefix": "Prefix of labels, after R",
    "series": "Series of labels",
    "label_restart": "Restart labels",
    "closed_dates": "Closed on",
    "close_early": "Stop joins when the line would outlast the day",
    "clear_after_minutes": "Clear the line after closing, minutes",
    "notices": "Notify people when",
    "notice_place": "Nearly their turn from position",
    "closed_message": "Message while closed",
    "message": "Message to everyone who waits",
    "texts": "Texts of the page",
    "page_template": "Custom template",
}


@cache
def form() -> list[dict[str, Any]]:
    """The groups of the form, with their fields."""
    schemas = Schemas([QueueSettings])
    properties = schemas.components["QueueSettings"]["properties"]
    defaults = msgspec.to_builtins(QueueSettings())
    grouped = {name for names in GROUPS.values() for name in names}
    rest = tuple(name for name in SETTINGS if name not in grouped)
    groups = GROUPS | ({REST: rest} if rest else {})
    return [
        {
            "title": title,
            "fields": [_field(name, properties[name], schemas.components, defaults[name]) for name in names],
        }
        for title, names in groups.items()
    ]


def _field(name: str, schema: Schema, components: dict[str, Schema], default: Any) -> dict[str, Any]:
    options = schema.get("anyOf", [schema])
    own: Schema = next(option for option in options if option.get("type") != "null")
    if "$ref" in own:
        own = components[own["$ref"].rpartition("/")[2]]
    found: dict[str, Any] = {
        "name": name,
        "label": _LABELS.get(name, name.removesuffix("_seconds").replace("_", " ").capitalize()),
        "about": schema.get("description", ""),
        "kind": "text" if name.endswith("_url") else _kind(own),
        "optional": len(options) > 1,
        "default": default,
    }
    limits = {"minimum": "min", "maximum": "max", "maxLength": "longest", "enum": "choices"}
    found |= {attribute: own[keyword] for keyword, attribute in limits.items() if keyword in own}
    if name.endswith("_seconds"):
        found["unit"] = "seconds"
    return found


def _kind(schema: Schema) -> str:
    match schema.get("type"):
        case "string" if "enum" in schema:
            return "choice"
        case "string":
            return "long" if schema.get("maxLength", 0) >= 2000 else "text"
        case "array" if schema.get("minItems"):
            return "numbers"
        case "array":
            return "lines"
        case "object":
            return "object"
    return str(schema["type"])
