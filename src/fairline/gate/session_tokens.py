"""The pass: what it says, and whether it can be believed.

A pass is a JWT that the Fairline server has signed with Ed25519. The algorithm and the kind of token are fixed here: a
header that says anything else is refused before a key is looked for.
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

#: Longer than any pass.
LONGEST = 2048

FindKey = Callable[[str], Ed25519PublicKey | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionToken:
    """What a pass says."""

    queue: str
    ticket: int
    joined: int
    """When the ticket was taken: tells apart two of one number where a queue was deleted and created again."""
    label: str
    """The ticket's number as a counter prints it."""
    issued: float
    expires: float
    key: str
    """The id of the key that signed it."""
    client: str = ""
    """Which client it was handed to; empty in a link."""


class Checker:
    """Believes the passes of one queue, by the public keys of its server."""

    def __init__(self, queue: str, find_key: FindKey, *, issuer: str = "fairline", leeway: float = 5.0) -> None:
        self._queue = queue
        self._find_key = find_key
        self._issuer = issuer
        self._leeway = leeway

    def check(self, token: str, now: float) -> SessionToken:
        """What a pass says, or SessionTokenRefused; whatever looking for a key raises, too."""
        head, claims = self._believed(token)
        found = _session_token(claims, head["kid"])
        if claims.get("iss") != self._issuer:
            raise SessionTokenRefused(Refusal.INVALID, f"This pass is not from {self._issuer!r}.")
        if found.queue != self._queue:
            raise SessionTokenRefused(
                Refusal.OTHER_QUEUE, f"This pass is for queue {found.queue!r}, not {self._queue!r}."
            )
        if self.lapsed(found, now):
            raise SessionTokenRefused(Refusal.EXPIRED, "This pass has expired. Join the line again.")
        return found

    def lapsed(self, found: SessionToken, now: float) -> bool:
        """Whether its time is over."""
        return found.expires + self._leeway <= now

    def _believed(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        parts = token.split(".")
        if len(parts) != 3 or len(token) > LONGEST or not token.isascii():
            raise _damaged()
        head = _json(parts[0])
        kid = head.get("kid")
        # To the letter, as the server does it: no other algorithm, no other kind of token, nothing more to heed.
        if not isinstance(kid, str) or head != {"alg": "EdDSA", "kid": kid, "typ": "fairline-session"}:
            raise SessionTokenRefused(Refusal.INVALID, "This is no pass of a Fairline server.")
        key = self._find_key(kid)
        if key is None:
            raise SessionTokenRefused(
                Refusal.INVALID, f"This pass is signed with a key {kid!r:.20} that the server has not."
            )
        try:
            key.verify(_bytes(parts[2]), f"{parts[0]}.{parts[1]}".encode())
        except InvalidSignature:
            raise SessionTokenRefused(Refusal.INVALID, "The signature of this pass is wrong.") from None
        return head, _json(parts[1])


def _session_token(claims: dict[str, Any], key: str) -> SessionToken:
    try:
        return SessionToken(
            queue=str(claims["q"]),
            ticket=int(claims["n"]),
            joined=int(claims["j"]),
            label=str(claims["sub"]),
            issued=float(claims["iat"]),
            expires=float(claims["exp"]),
            key=key,
            client=str(claims.get("c", "")),
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
    return SessionTokenRefused(Refusal.INVALID, "This pass is damaged.")
