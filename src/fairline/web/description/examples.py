"""Example bodies and answers, for the page `/docs` and the OpenAPI document."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

#: Example request bodies, by the name of the type. A type that is missing here is sent without a body.
BODIES: dict[str, dict[str, Any]] = {
    "JoinRequest": {"client_id": "4f1d0c6e-a-secret-of-yours", "name": "Ada", "party_size": 2},
    "LeaveRequest": {"final": True},
    "NewQueue": {"id": "sale", "name": "Summer sale", "target_url": "https://shop.example/sale", "admission_rate": 25},
    "QueueChanges": {"admission_rate": 50, "status": "active"},
    "NewOpening": {
        "name": "Friday night",
        "prequeue_at": "2027-01-15T08:30:00Z",
        "starts_at": "2027-01-15T09:00:00Z",
        "draw": "random",
        "settings": {"admission_rate": 40},
    },
    "OpeningChanges": {"starts_at": "2027-01-15T10:00:00Z"},
    "CallNext": {"count": 1, "desk": "Desk 2"},
    "CallOne": {"desk": "Desk 2"},
    "Prioritise": {"level": 2},
    "StaffJoin": {"name": "Ada", "phone": "+41 44 668 18 00", "priority": 1},
    "StepBack": {"places": 2},
    "StepBackRequest": {"places": 1, "position": 3},
    "Transfer": {"queue": "passports"},
    "SetDesk": {"name": "Desk 2", "open": True},
    "PushRequest": {
        "endpoint": "https://push.example/send/4f1d0c6e",
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        "place": 3,
    },
    "MailRequest": {"email": "ada@example.com", "place": 3, "language": "en"},
    "MovedRequest": {"code": "eyJhbGciOiJIUzI1NiIs…"},
    "Revoke": {"ticket": 123, "reason": "abuse_detected"},
    "Stock": {"total": 500},
    "Say": {"text": "Doors open at eight. Thank you for waiting."},
    "NewKiosk": {"print": True},
    "NewPass": {"level": 2, "uses": 1, "expires_in_seconds": 86400},
    "NewKey": {"role": "viewer", "name": "Dashboard"},
    "NewWebhook": {"url": "https://shop.example/fairline", "queue": "demo", "events": ["admitted", "expired"]},
    "WebhookChanges": {"active": False},
    "MailTrial": {"to": "ada@example.com"},
}

#: The values in the path and the query of an example.
PATH = {
    "queue": "demo",
    "queues": "demo",
    "ticket": "123",
    "pass_id": "9f86d081884c7d65",
    "key_id": "2c26b46b68ff",
    "version": "7",
    "opening": "1f0c9a77b2",
    "draw": "demo.1f0c9a77b2",
    "webhook": "6b86b273ff34",
    "delivery": "d4735e3a265e16eee03f59718b9b5d03",
}
QUERY = {"queue": "demo", "status": "waiting", "limit": "50"}

#: Fields that the answer of one call has and others of the same type do not, by the last part of the path.
ALSO: dict[str, dict[str, Any]] = {
    "join": {"token": "eyJhbGciOiJIUzI1NiIs…"},
    "heartbeat": {"next_heartbeat_seconds": 10},
}

#: Example values of fields, by name.
_FIELDS: dict[str, Any] = {
    "queue": "demo",
    "ticket": 123,
    "label": "RDEMO-000123",
    "status": "waiting",
    "position": 17,
    "queue_length": 40,
    "estimated_wait_seconds": 12,
    "estimated_wait_range": [9, 20],
    "queue_status": "active",
    "priority": 0,
    "heartbeat_interval_seconds": 10,
    "id": "demo",
    "name": "Demo",
    "admission_rate": 10,
    "now_serving": 120,
    "message": "",
    "version": 7,
    "waiting": 40,
    "admitted": 8,
    "active": 112,
    "desk": "Desk 2",
    "code": "eyJhbGciOiJIUzI1NiIs…",
    "level": 2,
    "pass": "eyJhbGciOiJIUzI1NiIs…",
    "key": "fl_Zx3…",
    "role": "viewer",
    "uses": 1,
    "used": 0,
    "cursor": None,
    "party_size": 2,
    "generation": 2,
    "url": "https://shop.example/fairline",
}
_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#: Example values of fields, by type and name; they come before those by name alone.
_FIELDS_OF_TYPES = {
    ("SessionAnswer", "status"): "active",
    ("GroupAnswer", "url"): "/q/demo?group=eyJhbGciOiJIUzI1NiIs…",
    ("MoveAnswer", "url"): "/join/demo/move#eyJhbGciOiJIUzI1NiIs…",
    ("BoardAnswer", "status"): "active",
    ("ServingAnswer", "status"): "called",
    ("Health", "status"): "ok",
    ("Readiness", "status"): "ready",
    ("Readiness", "checks"): {"store": "ok", "keeper": "ok"},
    ("KeySet", "keys"): [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "…", "x": "…"}],
    ("AdminQueue", "status"): "active",
    ("QueueAnswer", "status"): "active",
    ("Glance", "status"): "active",
    ("FloorAnswer", "status"): "active",
    ("FloorAnswer", "named_desks"): ["Desk 1", "Desk 2"],
    ("FloorAnswer", "series"): ["A", "B"],
    ("FloorAnswer", "series_texts"): {"B": "Beards"},
    ("DeskAnswer", "name"): "Desk 2",
    ("DeskFiguresAnswer", "name"): "Desk 2",
    ("ReportAnswer", "time_zone"): "Europe/Zurich",
    ("Glance", "ticket_prefix"): "DEMO",
    ("SessionInfo", "id"): PATH["key_id"],
    ("SessionInfo", "name"): "Dashboard",
    ("AdminTicket", "name"): "Ada",
    ("EventAnswer", "id"): "1794780194383-0",
    ("EventList", "after"): "1794780194383-0",
    ("EventAnswer", "type"): "admitted",
    ("PassAnswer", "id"): PATH["pass_id"],
    ("IssuedPass", "id"): PATH["pass_id"],
    ("KeyAnswer", "id"): PATH["key_id"],
    ("MadeKey", "id"): PATH["key_id"],
    ("KeyAnswer", "name"): "Dashboard",
    ("MadeKey", "name"): "Dashboard",
    ("RevisionAnswer", "by"): {"id": PATH["key_id"], "name": "Night shift"},
    ("RevisionAnswer", "changes"): {"admission_rate": {"from": 10, "to": 20}},
    ("EntryAnswer", "id"): "1794780194383-0",
    ("EntryAnswer", "key"): {"id": PATH["key_id"], "name": "Night shift", "role": "operator"},
    ("EntryAnswer", "action"): "queue.configured",
    ("EntryAnswer", "ticket"): None,
    ("EntryAnswer", "detail"): {"settings": ["admission_rate"], "version": 7},
    ("EntryAnswer", "request_id"): "1267-2a",
    ("StoreHealth", "kind"): "valkey",
    ("StoreHealth", "round_trip_ms"): 0.4,
    ("StoreHealth", "cautions"): [],
    ("WorkerHealth", "name"): "web-1:4711",
    ("WorkerHealth", "part"): "web",
    ("WebhookAnswer", "id"): PATH["webhook"],
    ("MadeWebhook", "id"): PATH["webhook"],
    ("WebhookAnswer", "active"): True,
    ("MadeWebhook", "active"): True,
    ("MadeWebhook", "secret"): "whsec_Zx3…",
    ("DeliveryAnswer", "id"): PATH["delivery"],
    ("DeliveryAnswer", "type"): "notice",
    ("DeliveryAnswer", "notice"): "called",
    ("MailAnswer", "sender"): "The Shop <line@shop.example>",
    ("DeliveryAnswer", "error"): "answered 500",
    ("Settings", "status"): "active",
    ("OpeningAnswer", "id"): PATH["opening"],
    ("OpeningAnswer", "name"): "Friday night",
    ("OpeningAnswer", "draw"): "random",
    ("OpeningAnswer", "settings"): {"admission_rate": 40},
    ("CheckAnswer", "name"): "stock",
    ("DrawAnswer", "id"): PATH["draw"],
    ("DrawAnswer", "opening"): PATH["opening"],
    ("DrawAnswer", "scheme"): "fairline-draw-1",
    ("DrawAnswer", "commitment"): _HASH,
    ("ReceiptAnswer", "draw"): PATH["draw"],
    ("ReceiptAnswer", "label"): "123",
    ("ReceiptAnswer", "nonce"): _HASH[:32],
    ("ReceiptAnswer", "leaf"): _HASH,
    ("ReceiptAnswer", "path"): [["left", _HASH]],
    ("ReceiptAnswer", "value"): _HASH,
    ("ReceiptAnswer", "level"): 0,
    ("ReceiptAnswer", "rank"): 1204,
    ("ReceiptAnswer", "count"): 18_332,
}
_TIME = "2026-07-01T08:00:00Z"


def sample(schema: Schema, components: dict[str, Schema]) -> Any:
    """A realistic value that a schema allows; fields that are not always present are left out."""
    return _sample(schema, components, "", "")


def plain(value: Any) -> Any:
    """The same value with whole numbers written without a decimal point."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sample(schema: Schema, components: dict[str, Schema], owner: str, field: str) -> Any:
    if "$ref" in schema:
        owner = schema["$ref"].rpartition("/")[2]
        return _sample(components[owner], components, owner, field)
    if schema.get("type") == "object" and "properties" in schema:
        return {
            name: _field(owner, name, inner, components)
            for name, inner in schema["properties"].items()
            if name in schema.get("required", ()) or "default" in inner
        }
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        nullable = any(option.get("type") == "null" for option in schema["anyOf"])
        return None if nullable else _sample(schema["anyOf"][0], components, owner, field)
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return [_sample(item, components, owner, field) for item in schema["prefixItems"]]
        case "array":
            return [_sample(schema["items"], components, owner, field)] if isinstance(schema.get("items"), dict) else []
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "string":
            return _TIME if schema.get("format") == "date-time" else next(iter(schema.get("enum", [""])))
    return {}


def _field(owner: str, name: str, schema: Schema, components: dict[str, Schema]) -> Any:
    if (owner, name) in _FIELDS_OF_TYPES:
        return _FIELDS_OF_TYPES[owner, name]
    if name in _FIELDS:
        return _FIELDS[name]
    return _sample(schema, components, owner, name)
