"""Whatever is sent, the answer says what is wrong with it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from tests.web.admin.desk import (
    CALLS,
    Join,
)

BAD_BODIES: list[tuple[str, Any, str]] = [
    ("POST /queues", {}, "id"),
    ("POST /queues", {"id": 5}, "id"),
    ("POST /queues", {"id": "a b"}, "id"),
    ("POST /queues", {"id": ""}, "id"),
    ("POST /queues", {"id": "x" * 65}, "id"),
    ("POST /queues", {"id": "new", "colour": "red"}, "colour"),
    ("POST /queues", {"id": "new", "admission_rate": -1}, "admission_rate"),
    ("PATCH /queues/{queue}", {"id": "other"}, "id"),
    ("PATCH /queues/{queue}", {"version": 3}, "version"),
    ("PATCH /queues/{queue}", {"name": None}, "name"),
    ("PATCH /queues/{queue}", {"name": "x" * 201}, "name"),
    ("PATCH /queues/{queue}", {"name": "a\x00b"}, "name"),
    ("PATCH /queues/{queue}", {"name": ["x"]}, "name"),
    ("PATCH /queues/{queue}", {"max_active": 1.5}, "max_active"),
    ("PATCH /queues/{queue}", {"max_active": "10"}, "max_active"),
    ("PATCH /queues/{queue}", {"max_active": True}, "max_active"),
    ("PATCH /queues/{queue}", {"max_active": 10**30}, "max_active"),
    ("PATCH /queues/{queue}", {"burst": 0.5}, "burst"),
    ("PATCH /queues/{queue}", {"time_zone": "Nowhere"}, "time_zone"),
    ("PATCH /queues/{queue}", {"opening_hours": {"monday": ["9-5"]}}, "opening_hours"),
    ("PATCH /queues/{queue}", {"desks": ["A", "A"]}, "desks"),
    ("PATCH /queues/{queue}", {"phone_region": "kr"}, "phone_region"),
    ("POST /queues/{queue}/desks", {"name": "", "open": True}, "name"),
    ("POST /queues/{queue}/desks", {"name": " ", "open": True}, "name"),
    ("POST /queues/{queue}/desks", {"name": "A"}, "open"),
    ("POST /queues/{queue}/join", {"phone": "12"}, "phone"),
    ("POST /queues/{queue}/join", {"series": "Z"}, "series"),
    ("POST /queues/{queue}/join", {"party_size": 101}, "party_size"),
    ("PATCH /queues/{queue}", {"stock": -1}, "stock"),
    ("PATCH /queues/{queue}", {"status": "closed"}, "status"),
    ("PATCH /queues/{queue}", {"priority_skip": [0, 1]}, "priority_skip"),
    ("PATCH /queues/{queue}", {"priority_skip": [0, 0.9, 0.5, 1]}, "priority_skip"),
    ("PATCH /queues/{queue}", {"target_url": "ftp://x"}, "target_url"),
    ("PATCH /queues/{queue}", {"session_seconds": 50, "session_max_seconds": 10}, "session_max_seconds"),
    ("PATCH /queues/{queue}", {"heartbeat_timeout_seconds": 5}, "heartbeat_timeout_seconds"),
    ("PATCH /queues/{queue}", {"ticket_prefix": "lower"}, "ticket_prefix"),
    ("POST /queues/{queue}/call-next", {"count": 0}, "count"),
    ("POST /queues/{queue}/call-next", {"count": 101}, "count"),
    ("POST /queues/{queue}/call-next", {"count": "2"}, "count"),
    ("POST /queues/{queue}/call-next", {"desk": "x" * 61}, "desk"),
    ("POST /queues/{queue}/call-next", {"desk": "a\x00"}, "desk"),
    ("POST /queues/{queue}/call-next", {"desk": "  "}, "desk"),
    ("POST /queues/{queue}/call-next", {"desk": "a\nb"}, "desk"),
    ("POST /queues/{queue}/call-next", {"desk": "\u202eabc"}, "desk"),
    ("POST /queues/{queue}/call-next", {"desk": "a\u2028b"}, "desk"),
    ("POST /queues/{queue}/tickets/{ticket}/call", {"desk": "a\tb"}, "desk"),
    ("POST /queues/{queue}/desks", {"name": "a\u200bb", "open": True}, "name"),
    ("POST /queues/{queue}/desks", {"name": "a\nb", "open": False}, "name"),
    ("POST /queues/{queue}/call-next", {"counter": "1"}, "counter"),
    ("POST /queues/{queue}/tickets/{ticket}/call", {"desk": 3}, "desk"),
    ("POST /queues/{queue}/tickets/{ticket}/complete", {"force": True}, "force"),
    ("POST /queues/{queue}/tickets/{ticket}/start", {"force": True}, "force"),
    ("POST /queues/{queue}/tickets/{ticket}/prioritise", {}, "level"),
    ("POST /queues/{queue}/tickets/{ticket}/prioritise", {"level": 0}, "level"),
    ("POST /queues/{queue}/tickets/{ticket}/prioritise", {"level": 4}, "level"),
    ("POST /queues/{queue}/join", {"priority": 4}, "priority"),
    ("POST /queues/{queue}/join", {"priority": -1}, "priority"),
    ("POST /queues/{queue}/join", {"party_size": 0}, "party_size"),
    (
        "POST /queues/{queue}/join",
        {"metadata": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {}}}}}}}}}}},
        "metadata",
    ),
    ("POST /queues/{queue}/join", {"metadata": {"a": "x" * 5000}}, "metadata"),
    ("POST /queues/{queue}/join", {"phone": ""}, "phone"),
    ("POST /queues/{queue}/join", {"nmae": "x"}, "nmae"),
    ("POST /queues/{queue}/revoke", {"reason": "x"}, "ticket"),
    ("POST /queues/{queue}/revoke", {"ticket": 1}, "reason"),
    ("POST /queues/{queue}/revoke", {"ticket": 1, "reason": ""}, "reason"),
    ("POST /queues/{queue}/revoke", {"ticket": 1, "reason": "x" * 201}, "reason"),
    ("POST /queues/{queue}/revoke", {"ticket": 0, "reason": "x"}, "ticket"),
    ("POST /queues/{queue}/revoke", {"ticket": 2**53, "reason": "x"}, "ticket"),
    ("POST /queues/{queue}/stock", {}, "total"),
    ("POST /queues/{queue}/stock", {"total": -1}, "total"),
    ("POST /queues/{queue}/stock", {"total": 1.5}, "total"),
    ("POST /queues/{queue}/message", {}, "text"),
    ("POST /queues/{queue}/message", {"text": None}, "text"),
    ("POST /queues/{queue}/message", {"text": "x" * 2001}, "text"),
    ("POST /queues/{queue}/passes", {}, "level"),
    ("POST /queues/{queue}/passes", {"level": 0}, "level"),
    ("POST /queues/{queue}/passes", {"level": 1, "uses": 0}, "uses"),
    ("POST /queues/{queue}/passes", {"level": 1, "expires_in_seconds": 0}, "expires_in_seconds"),
    ("POST /queues/{queue}/passes", {"level": 1, "expires_in_seconds": 1e300}, "expires_in_seconds"),
    ("POST /keys", {}, "role"),
    ("POST /keys", {"role": "root"}, "role"),
    ("POST /keys", {"role": "viewer", "name": "x" * 101}, "name"),
    ("POST /keys", {"role": "viewer", "name": "a\x00b"}, "name"),
]


@pytest.mark.parametrize(("call", "body", "field"), BAD_BODIES)
def test_a_bad_field_is_refused_by_its_name(
    admin: httpx.Client, queue: str, join: Join, call: str, body: Any, field: str
) -> None:
    join(queue)
    method, path = call.format(queue=queue, ticket=1, version=1).split()
    before = admin.get(f"/queues/{queue}").json()
    answer = admin.request(method, path, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["field"] == field
    assert field in answer.json()["detail"]
    assert admin.get(f"/queues/{queue}").json() == before


UNKNOWN_FIELDS = {
    ("POST /queues", "max_activ"): "Did you mean max_active",
    ("PATCH /queues/{queue}", "what"): "'fairline queue set --help' and /docs of the server list them.",
    ("POST /queues/{queue}/call-next", "what"): "There are: count, desk.",
    ("POST /queues/{queue}/join", "what"): "idempotency_key, priority.",
    ("POST /queues/{queue}/passes", "what"): "There are: level, uses, expires_in_seconds.",
    ("POST /queues/{queue}/tickets/{ticket}/recall", "what"): "There are: none.",
}


def test_an_unknown_field_is_told_with_those_there_are(admin: httpx.Client, queue: str) -> None:
    for (call, name), known in UNKNOWN_FIELDS.items():
        method, path = call.format(queue=queue, ticket=1, version=1).split()
        answer = admin.request(method, path, json={"id": "new", name: 1} if path == "/queues" else {name: 1})
        assert (answer.status_code, answer.json()["field"]) == (422, name), call
        assert known in answer.json()["detail"], call


NESTED = [b"[" * depth + b"]" * depth for depth in (600, 900, 960, 980, 1000, 4000)]
JUNK = [
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"\xff\xfe",
    b'{"a":1}{',
    b'{"name":"\\ud800"}',
    b'{"\\ud800":1}',
    b'{"count":1e999}',
    b'{"count":' + b"9" * 5000 + b"}",
    *NESTED,
    *(b'{"name":' + nested + b"}" for nested in NESTED),
    *(b'{"metadata":{"a":' + nested + b"}}" for nested in NESTED),
    *(b'{"x":' * depth + b"1" + b"}" * depth for depth in (900, 980, 2500)),
]


@pytest.mark.parametrize("call", [call for call in CALLS if call.startswith(("POST", "PATCH"))])
def test_junk_is_refused_and_never_our_fault(admin: httpx.Client, queue: str, call: str) -> None:
    named = {"webhook": "none", "delivery": "none", "opening": "none"}
    method, path = call.format(queue=queue, ticket=1, version=1, **named).split()
    for junk in JUNK:
        answer = admin.request(method, path, content=junk)
        assert answer.status_code == 422, (junk[:40], answer.text)
    answer = admin.request(method, path, content=b'{"name":"' + b"x" * 17_000 + b'"}')
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.0", "01", "1e3", "9" * 16, "9" * 400, "%00", "١", " 1", "+1"])
def test_what_is_no_ticket_number_is_refused(admin: httpx.Client, queue: str, number: str) -> None:
    for method, path in (("GET", ""), ("POST", "/call"), ("POST", "/start"), ("POST", "/cancel")):
        answer = admin.request(method, f"/queues/{queue}/tickets/{number}{path}")
        assert (answer.status_code, answer.json()["field"]) == (422, "ticket"), answer.text


@pytest.mark.parametrize(
    ("path", "query", "field", "allowed"),
    [
        ("tickets", {"status": "asleep"}, "status", "waiting, admitted, active, completed, expired"),
        ("tickets", {"limit": "0"}, "limit", "from 1 to 500"),
        ("tickets", {"limit": "501"}, "limit", "from 1 to 500"),
        ("tickets", {"limit": "-5"}, "limit", "from 1 to 500"),
        ("tickets", {"limit": "ten"}, "limit", "from 1 to 500"),
        ("tickets", {"limit": "9" * 5000}, "limit", "from 1 to 500"),
        ("tickets", {"cursor": "x"}, "cursor", "the cursor of a page"),
        ("tickets", {"cursor": "1:1.2.3"}, "cursor", "the cursor of a page"),
        ("tickets", {"cursor": "9:1"}, "cursor", "the cursor of a page"),
        ("tickets", {"cursor": "1:nan"}, "cursor", "the cursor of a page"),
        ("tickets", {"cursor": "1:\x00"}, "cursor", "the cursor of a page"),
        ("tickets", {"search": "x" * 101}, "search", "1 to 100 characters"),
        ("tickets", {"search": "  "}, "search", "1 to 100 characters"),
        ("tickets", {"search": "a\x00b"}, "search", "NUL"),
        ("tickets", {"search": "x", "cursor": "~x"}, "cursor", "a search answered"),
        ("tickets", {"search": "x", "cursor": "9:1~1"}, "cursor", "the cursor of a page"),
        ("tickets", {"cursor": "1:1~1"}, "cursor", "the cursor of a page"),
        ("history", {"limit": "201"}, "limit", "from 1 to 200"),
        ("history", {"before": "0"}, "before", "a version of the settings"),
        ("history", {"before": "9" * 30}, "before", "a version of the settings"),
        ("/audit", {"before": "x"}, "before", "the id of an entry"),
        ("/audit", {"limit": "501"}, "limit", "from 1 to 500"),
        ("events", {"limit": "501"}, "limit", "from 1 to 500"),
        ("events", {"limit": "x"}, "limit", "from 1 to 500"),
        ("events", {"after": "x"}, "after", "the id of an event"),
        ("events", {"after": "1-2-3"}, "after", "the id of an event"),
        ("events", {"after": "9" * 30}, "after", "the id of an event"),
        ("events", {"after": "\x00\udcff"}, "after", "the id of an event"),
    ],
)
def test_a_bad_query_is_refused_with_what_is_allowed(
    admin: httpx.Client, queue: str, path: str, query: dict[str, str], field: str, allowed: str
) -> None:
    text = urlencode(query, errors="surrogateescape")
    answer = admin.get(f"{path if path.startswith('/') else f'/queues/{queue}/{path}'}?{text}")
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert allowed in answer.json()["detail"]


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_bad_idempotency_key_is_refused(admin: httpx.Client, queue: str, key: str, join: Join) -> None:
    join(queue)
    answer = admin.post(f"/queues/{queue}/call-next", headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["field"]) == (422, "idempotency_key")
    assert admin.get(f"/queues/{queue}").json()["waiting"] == 1
