"""Session tokens: their claims, and the check of their signature.

A session token is a JWT that the Fairline server has signed with Ed25519. The algorithm and the type are fixed here: a
token whose header says anything else is refused before a key is looked up.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from fairline.gate.errors import Refusal, SessionTokenRefused

#: Longer than any session token.
LONGEST = 2048

FindKey = Callable[[str], Ed25519PublicKey | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionToken:
    """The claims of a session token."""

    queue: str
    ticket: int
    joined: int
    """When the ticket was taken. It tells apart two tickets with the same number if a queue was recreated."""
    label: str
    """The ticket's number as it is shown to people."""
    issued: float
    expires: float
    key: str
    """The id of the key that signed it."""
    client: str = ""
    """The client that received it; empty in the token of a link."""


class Checker:
    """Checks the session tokens of one queue with the public keys of its server."""

    def __init__(self, queue: str, find_key: FindKey, *, issuer: str = "fairline", leeway: float = 5.0) -> None:
        self._queue = queue
        self._find_key = find_key
        self._issuer = issuer
        self._leeway = leeway

    def check(self, token: str, now: float) -> SessionToken:
        """Return the claims of a session token, or raise SessionTokenRefused. Errors of the key lookup pass through."""
        head, payload = self._verified(token)
        claims = _session_token(payload, head["kid"])
        if payload.get("iss") != self._issuer:
            raise SessionTokenRefused(Refusal.INVALID, f"This session token is not from {self._issuer!r}.")
        if claims.queue != self._queue:
            raise SessionTokenRefused(
                Refusal.OTHER_QUEUE, f"This session token is for queue {claims.queue!r}, not {self._queue!r}."
            )
        if self.expired(claims, now):
            raise SessionTokenRefused(Refusal.EXPIRED, "This session token has expired. Join the line again.")
        return claims

    def expired(self, claims: SessionToken, now: float) -> bool:
        """Whether its time is over."""
        return claims.expires + self._leeway <= now

    def _verified(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        parts = token.split(".")
        if len(parts) != 3 or len(token) > LONGEST or not token.isascii():
            raise _damaged()
        head = _json(parts[0])
        kid = head.get("kid")
        # The header must be exactly this, as on the server: no other algorithm, no other type, no further fields.
        if not isinstance(kid, str) or head != {"alg": "EdDSA", "kid": kid, "typ": "fairline-session"}:
            raise SessionTokenRefused(Refusal.INVALID, "This is not a session token of a Fairline server.")
        key = self._find_key(kid)
        if key is None:
            raise SessionTokenRefused(
                Refusal.INVALID, f"This session token is signed with key {kid!r:.20}, which the server does not have."
            )
        try:
            key.verify(_bytes(parts[2]), f"{parts[0]}.{parts[1]}".encode())
        except InvalidSignature:
            raise SessionTokenRefused(Refusal.INVALID, "The signature of this session token is wrong.") from None
        return head, _json(parts[1])


def _session_token(payload: dict[str, Any], key: str) -> SessionToken:
    try:
        return SessionToken(
            queue=str(payload["q"]),
            ticket=int(payload["n"]),
            joined=int(payload["j"]),
            label=str(payload["sub"]),
            issued=float(payload["iat"]),
            expires=float(payload["exp"]),
            key=key,
            client=str(payload.get("c", "")),
        )
    except (KeyError, TypeError, ValueError):
        raise _damaged() from None


def _json(part: str) -> dict[str, Any]:
    try:
        found = json.loads(_bytes(part))
    except (ValueError, RecursionError):
        raise _damaged() from None
    if not isinstance(found, dict):
        raise _damaged()
    return found


def _bytes(part: str) -> bytes:
    try:
        data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise _damaged() from None
    if urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise _damaged()
    return data


def _damaged() -> SessionTokenRefused:
    return SessionTokenRefused(Refusal.INVALID, "This session token is damaged.")
