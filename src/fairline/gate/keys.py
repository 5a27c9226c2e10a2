"""The public keys of the Fairline server: fetched once, renewed in the background, kept through an outage."""

from __future__ import annotations

import logging
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from functools import partial
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from fairline.gate.errors import ServerAway

log = logging.getLogger("fairline.gate")

#: The server is asked for an unknown key at most this often, so that invented key ids cannot cause endless calls.
LOOK_AGAIN_SECONDS = 5.0

Fetch = Callable[[], Any]
Later = Callable[[Callable[[], None]], None]


class PublicKeys:
    """The public keys by id. `later` runs a function in the background."""

    def __init__(self, fetch: Fetch, later: Later, seconds: float) -> None:
        self._fetch = fetch
        self._later = later
        self._seconds = seconds
        self._keys: dict[str, Ed25519PublicKey] = {}
        self._asked_at = self._fetched_at = float("-inf")
        self._lock = threading.Lock()

    def __contains__(self, kid: str) -> bool:
        return kid in self._keys

    def find(self, kid: str) -> Ed25519PublicKey | None:
        """The key of that id, or None. Asks the server if there are no keys yet or the id is new. Raises ServerAway if
        the server is needed and does not answer."""
        seen, found = self._fetched_at, self._keys.get(kid)
        if found is None and (not self._keys or self._age_of(self._asked_at) > LOOK_AGAIN_SECONDS):
            self._fetch_after(seen)
            found = self._keys.get(kid)
        self.renew()
        return found

    def renew(self) -> None:
        """Fetch old keys again in the background. They remain valid until then."""
        if self._age_of(self._fetched_at) > self._seconds and self._age_of(self._asked_at) > LOOK_AGAIN_SECONDS:
            self._asked_at = time.monotonic()
            self._later(partial(self._fetch_after, self._fetched_at))

    def _fetch_after(self, seen: float) -> None:
        """Ask the server. One thread asks at a time; threads that waited for it use its result."""
        with self._lock:
            if self._fetched_at != seen:
                return
            self._asked_at = time.monotonic()
            keys = _read(self._fetch())
            if not keys:
                # Keep the keys there are.
                raise ServerAway("The server published no Ed25519 keys at /.well-known/jwks.json.")
            self._keys = keys
            self._fetched_at = time.monotonic()

    def _age_of(self, moment: float) -> float:
        return time.monotonic() - moment


def _read(document: Any) -> dict[str, Ed25519PublicKey]:
    """The Ed25519 keys of a key set. Other entries are ignored."""
    keys = {}
    for jwk in document.get("keys", ()) if isinstance(document, dict) else ():
        try:
            if jwk["kty"] == "OKP" and jwk["crv"] == "Ed25519":
                raw = urlsafe_b64decode(jwk["x"] + "=" * (-len(jwk["x"]) % 4))
                keys[str(jwk["kid"])] = Ed25519PublicKey.from_public_bytes(raw)
        except (KeyError, TypeError, ValueError):
            log.warning("A key of the Fairline server cannot be read: %.200r", jwk)
    return keys
