"""A token that this server has not signed, for this use and until now, is worth nothing on any call that takes one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct
from msgspec.structs import replace

from fairline.domain.tokens import AdminClaims, Keyring, KioskClaims, MoveClaims, PriorityClaims
from tests.attack.conftest import MakeQueue
from tests.web.raw import slow
from tests.web.running import RunningServer

TICKET_CALLS = (
    "POST /api/v1/heartbeat",
    "GET /api/v1/status",
    "POST /api/v1/leave",
    "POST /api/v1/step-back",
    "POST /api/v1/move",
    "GET /api/v1/stream",
)
SESSION_CALLS = (
    "POST /api/v1/session/start",
    "POST /api/v1/session/activity",
    "POST /api/v1/session/complete",
    "POST /api/v1/session/leave",
    "GET /api/v1/session/verify",
)


#: Each in every way a request can carry it; in short, the ways take turns.
LONG = bool(os.environ.get("FAIRLINE_LONG"))


class Good(Struct):
    """A queue with someone in line and someone let in, and a good token of each kind."""

    queue: str
    ticket: str
    session: str
    keyring: Keyring

    @property
    def others(self) -> dict[str, str]:
        """A good token of each kind that is neither a ticket's nor a session's."""
        until, ring = int(time.time()) + 3600, self.keyring
        claims = ring.tickets.check(self.ticket, time.time())
        known: dict[str, Any] = {"queue": self.queue, "number": claims.number, "joined": claims.joined}
        return {
            "move": ring.moves.sign(MoveClaims(expires=until, moved=0, **known)),
            "kiosk": ring.kiosks.sign(KioskClaims(queue=self.queue, expires=until, by="x")),
            "priority": ring.priorities.sign(PriorityClaims(queue=self.queue, expires=until, id="x", level=3)),
            "admin": ring.admins.sign(AdminClaims(key="x", session="x", expires=until)),
        }


@pytest.fixture
def good(server: RunningServer, make_queue: MakeQueue, operator: httpx.Client) -> Good:
    lasting = {"heartbeat_timeout_seconds": 0, "claim_seconds": 86_400}  # however long all the forgeries take
    queue = make_queue(admission="manual", join_limit_per_ip=0, target_url="https://shop.test/", **lasting)
    inside, waiting = (httpx.post(f"{server.base_url}/api/v1/queues/{queue}/join").json() for _ in range(2))
    operator.post(f"/api/v1/admin/queues/{queue}/call-next").raise_for_status()
    proof = {"authorization": f"Bearer {inside['token']}"}
    session = httpx.get(f"{server.base_url}/api/v1/status", headers=proof).json()["session_token"]
    secret = (server.data / "secret").read_text(encoding="utf-8").strip()
    return Good(queue, waiting["token"], session, Keyring(secret.encode()))


def part(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def content(token: str, at: int) -> dict[str, Any]:
    text = token.split(".")[at]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


def signed(header: dict[str, Any], body: str, key: bytes) -> str:
    """A token by HS256."""
    start = f"{part(header)}.{body}"
    return f"{start}.{part(hmac.digest(key, start.encode(), hashlib.sha256))}"


def forged(token: str, keyring: Keyring) -> Iterator[tuple[str, str]]:
    """A good token in every way that has opened a door somewhere."""
    head, body, signature = token.split(".")
    header, claims = content(token, 0), content(token, 1)
    for algorithm in ("none", "None", "NONE", "nOnE", ""):
        for last in ("", signature):
            yield f"algorithm {algorithm!r}", f"{part(header | {'alg': algorithm})}.{body}.{last}"
    yield "no signature", f"{head}.{body}."
    yield "no signature, no dot", f"{head}.{body}"
    yield "a signature of nothing", f"{head}.{body}.{part(bytes(64))}"
    for jwk in keyring.jwks()["keys"]:
        raw = base64.urlsafe_b64decode(jwk["x"] + "=")
        public = Ed25519PublicKey.from_public_bytes(raw)
        formats = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        for key in (raw, jwk["x"].encode(), public.public_bytes(*formats), json.dumps(jwk).encode()):
            yield "HS256 with the public key", signed(header | {"alg": "HS256"}, body, key)
            yield (
                "HS256 with the public key, by its id",
                signed(header | {"alg": "HS256", "kid": jwk["kid"]}, body, key),
            )
    for key in (b"", b"secret", b"\0" * 32, b"fairline"):
        yield "an easy key", signed(header | {"alg": "HS256"}, body, key)
        for kid in ("", "/dev/null", "../../../dev/null", "x' UNION SELECT ''", None, ["a"], {"a": 1}, 0):
            yield f"the key {kid!r}", signed(header | {"alg": "HS256", "kid": kid}, body, key)
    own = Ed25519PrivateKey.generate()
    x = part(own.public_key().public_bytes_raw())
    for more in ({"jwk": {"kty": "OKP", "crv": "Ed25519", "x": x}}, {"jku": "https://evil.test/jwks"}, {"x5u": "//e"}):
        start = f"{part(header | {'alg': 'EdDSA'} | more)}.{body}"
        yield f"a key of one's own by {list(more)}", f"{start}.{part(own.sign(start.encode()))}"
    start = f"{head}.{body}"
    yield "another one's signature", f"{start}.{part(own.sign(start.encode()))}"
    for name, value in {"q": "demo", "n": 1, "j": 1, "m": 7, "exp": 2**40, "iat": 0, "sub": "RX-1", "c": ""}.items():
        yield f"another {name}", f"{head}.{part(claims | {name: value})}.{signature}"
    twice = json.dumps(claims)[:-1] + ', "n": 1}'
    yield "twice the same claim", f"{head}.{part(twice.encode())}.{signature}"
    yield "another type", f"{part(header | {'typ': 'JWT'})}.{body}.{signature}"
    yield "more in the header", f"{part(header | {'crit': ['exp']})}.{body}.{signature}"
    yield "its header with a space", f"{part(json.dumps(header, indent=1).encode())}.{body}.{signature}"
    for cut in (1, 8, len(token) // 2, len(token) - 1):
        yield f"its first {cut}", token[:cut]
    yield "one letter less", token[:-1]
    yield "one letter more", f"{token}A"
    yield "padding", f"{token}="
    yield "another part", f"{token}.{body}"
    yield "upside down", token[::-1]
    yield "the other case", token.swapcase()
    yield "a long claim", f"{head}.{part(claims | {'x': 'a' * 3000})}.{signature}"
    yield "only letters, very many", "A" * 7000
    yield "only dots", "." * 100


def expired(good: Good) -> tuple[str, str]:
    """A ticket's and a session's token, good until a second ago."""
    now = time.time()
    ticket = good.keyring.tickets.check(good.ticket, now)
    session = good.keyring.sessions.check(good.session, now)
    gone = int(now) - 1
    return (
        good.keyring.tickets.sign(replace(ticket, expires=gone)),
        good.keyring.sessions.sign(replace(session, expires=gone)),
    )


def ways(token: str, cookie: str, query: str) -> list[dict[str, Any]]:
    """How a request carries a token."""
    return [
        {"headers": {"authorization": f"Bearer {token}"}},
        {"headers": {"cookie": f"{cookie}={token}"}},
        {"params": {query: token}},
    ]


def ticket_status(operator: httpx.Client, queue: str) -> Any:
    """What an attack could have changed."""
    tickets = operator.get(f"/api/v1/admin/queues/{queue}/tickets").json()["tickets"]
    return [{name: each[name] for name in ("ticket", "status", "position", "leaving")} for each in tickets]


def test_a_forged_token_is_refused_on_every_call(server: RunningServer, operator: httpx.Client, good: Good) -> None:
    before = ticket_status(operator, good.queue)
    old_ticket, old_session = expired(good)
    foreign = Keyring(b"another server's secret, long enough")
    now = time.time()
    for calls, token, cookie, query, wrong in (
        (
            TICKET_CALLS,
            good.ticket,
            f"fairline_ticket_{good.queue}",
            "token",
            {
                "a session's": good.session,
                "expired": old_ticket,
                "another server's": foreign.tickets.sign(good.keyring.tickets.check(good.ticket, now)),
            },
        ),
        (
            SESSION_CALLS,
            good.session,
            "fairline_session",
            "fairline_session",
            {
                "a ticket's": good.ticket,
                "expired": old_session,
                "another server's": foreign.sessions.sign(good.keyring.sessions.check(good.session, now)),
            },
        ),
    ):
        table = [*forged(token, good.keyring), *wrong.items(), *good.others.items()]
        with httpx.Client(base_url=server.base_url) as client:
            for number, (name, forgery) in enumerate(table):
                for turn, call in enumerate(calls):
                    method, path = call.split()
                    address = path if number % 2 else slow(path)
                    found = ways(forgery, cookie, query)
                    for way in found if LONG else [found[(number + turn) % len(found)]]:
                        answer = client.request(method, address, **way)
                        assert answer.status_code == 401, (call, name, way, answer.text)
                        assert answer.json()["code"] == ("token_expired" if name == "expired" else "token_invalid")
    assert ticket_status(operator, good.queue) == before


def test_a_good_session_opens_no_other_queue(server: RunningServer, make_queue: MakeQueue, good: Good) -> None:
    proof = {"authorization": f"Bearer {good.session}"}
    answer = httpx.get(f"{server.base_url}/api/v1/session/verify?queue={make_queue()}", headers=proof)
    assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")
    own = httpx.get(f"{server.base_url}/api/v1/session/verify?queue={good.queue}", headers=proof)
    assert own.status_code == 200


def test_what_else_is_signed_cannot_be_forged_either(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue, good: Good
) -> None:
    """Links to another device, priority passes, kiosks and the cookie of the dashboard."""
    before = ticket_status(operator, good.queue)
    base, others = server.base_url, good.others
    for kind, token in others.items():
        wrong = {name: other for name, other in others.items() if name != kind}
        wrong |= {"ticket": good.ticket, "session": good.session}
        for name, forgery in (*forged(token, good.keyring), *wrong.items()):
            match kind:
                case "move":
                    answer = httpx.post(f"{base}/api/v1/moved", json={"code": forgery[:2048]})
                    expected = {401}
                case "priority":
                    answer = httpx.post(
                        f"{base}/api/v1/queues/{good.queue}/join", json={"priority_pass": forgery[:2048]}
                    )
                    expected = {403}
                case "kiosk":
                    answer = httpx.get(f"{base}/join/{good.queue}/kiosk?token={quote(forgery)}")
                    expected = {403}
                case _:
                    answer = httpx.get(f"{base}/api/v1/admin/queues", headers={"cookie": f"fairline_admin={forgery}"})
                    expected = {401}
            assert answer.status_code in expected, (kind, name, answer.text[:500])
    assert ticket_status(operator, good.queue) == before
