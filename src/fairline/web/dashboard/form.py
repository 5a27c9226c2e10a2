"""The settings of a queue as a form: in groups, each with a label, what it means and what it allows.

What a setting means and allows is told by the type that checks it (`queue.QueueSettings`); only the order, the groups
and the labels are kept here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from fairline.domain.queue import SETTINGS, QueueSettings
from fairline.web.description.schemas import Schema, Schemas

#: Groups of settings in the order of the form.
GROUPS: dict[str, tuple[str, ...]] = {
    "Queue": ("name", "target_url", "status"),
    "Letting in": ("admission", "admission_rate", "burst", "max_active", "max_queue_size", "stock", "stock_url"),
    "Who joins": (
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
    "The form for a number": ("ask_name", "ask_phone", "ask_email", "ask_party_size"),
    "Opening hours": ("time_zone", "opening_hours", "closed_dates", "close_early", "clear_after_minutes"),
    "Staying in line": ("heartbeat_interval_seconds", "heartbeat_timeout_seconds", "grace_seconds"),
    "Inside": ("claim_seconds", "session_seconds", "session_max_seconds", "retain_seconds"),
    "At the gate": ("passthrough", "bypass_paths", "bypass_agents", "bypass_addresses"),
    "Notices": ("notices", "notice_place"),
    "The waiting page": (
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
#: Settings that no group names: there are none, but a new one is shown rather than lost.
REST = "More"

_LABELS = {
    "target_url": "Address behind the line",
    "admission": "How people are let in",
    "admission_rate": "Let in, people a second",
    "burst": "Most let in at once",
    "max_active": "Room inside",
    "max_queue_size": "Room in line",
    "stock_url": "Address that tells the stock",
    "one_per": "One place per",
    "require_user_token": "Only people whose site says who they are",
    "join_limit_per_ip": "Joins per address and minute",
    "join_limit_per_phone": "Joins per phone and hour",
    "join_limit_per_email": "Joins per e-mail address and hour",
    "ipv6_prefix": "Bits of IPv6 that count as one address",
    "priority_skip": "Share each level goes ahead of",
    "heartbeat_interval_seconds": "Sign of life every",
    "heartbeat_timeout_seconds": "Place is lost after silence of",
    "grace_seconds": "Grace on top",
    "claim_seconds": "Time to come in",
    "session_seconds": "Session without activity",
    "session_max_seconds": "Session at most",
    "retain_seconds": "Keep the record of an ended ticket",
    "passthrough": "Straight through while nobody waits",
    "bypass_paths": "Paths that need no pass",
    "bypass_agents": "User agents that need no pass",
    "bypass_addresses": "Addresses that need no pass",
    "phone_region": "Country of phones without +",
    "max_party_size": "Largest party",
    "ask_name": "Ask for a name",
    "ask_phone": "Ask for a phone number",
    "ask_email": "Ask for an e-mail address",
    "ask_party_size": "Ask how many they are",
    "desks": "Desks",
    "desk_idle_seconds": "A desk counts as open after its last call for",
    "wait_sample": "Calls the wait is measured from",
    "ticket_prefix": "Labels begin with R and",
    "series": "Series of labels",
    "label_restart": "Labels start again",
    "closed_dates": "Closed on",
    "close_early": "Close when the line would outlast the day",
    "clear_after_minutes": "Clear the line after closing, minutes",
    "notices": "Tell people when",
    "notice_place": "Nearly their turn from position",
    "closed_message": "Message while closed",
    "message": "Message to all who wait",
    "texts": "Words of the page",
    "page_template": "Own template",
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
    found |= {told: own[word] for word, told in limits.items() if word in own}
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
