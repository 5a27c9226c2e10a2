"""The options of the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Literal
from urllib.parse import urlsplit

OnError = Literal["open", "closed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """The options of the middlewares. docs/reference/gate.md explains each."""

    server: str
    """The URL at which the site reaches the Fairline server."""
    queue: str
    """The queue that guards the site."""
    public_url: str = ""
    """The URL at which visitors reach the Fairline server. Default: `server`."""
    on_error: OnError = "closed"
    """Whether visitors are let in while the server is needed and cannot be reached."""
    time_limit_seconds: float = 2.0
    """The longest that a visitor waits for the Fairline server."""
    report_seconds: float = 5.0
    """How often the activity of one session is reported, and so how soon an ended session is noticed."""
    confirm_seconds: float | None = None
    """A session token that was last confirmed longer ago than this is confirmed before the request goes on."""
    keys_seconds: float = 300.0
    """The age at which the public keys are fetched again."""
    leeway_seconds: float = 5.0
    """How far the clocks of the site and the server may differ."""
    bypass: Sequence[str] = ()
    """Paths that need no session token: `/healthz`, `/static/*`."""
    bypass_addresses: Sequence[str] = ()
    """IP addresses and networks that need no session token."""
    bypass_agents: Sequence[str] = ()
    """Parts of a User-Agent that need no session token. Anyone can send them."""
    secure: bool | None = None
    """Whether cookies are sent over https only. Default: true if the request came over https."""
    issuer: str = "fairline"
    """Who signs the session tokens (`iss`)."""
    report_limit: int = 10_000
    """The largest number of reports that wait to be sent."""

    def __post_init__(self) -> None:
        for name, value in (("server", self.server), ("public_url", self.public_url or self.server)):
            if not _is_web(value):
                raise ValueError(f"{name} must be an address such as http://127.0.0.1:8080; got {value!r}")
        if not self.queue:
            raise ValueError("queue must name the queue that guards the site; it is empty")
        if self.on_error not in {"open", "closed"}:
            raise ValueError(f'on_error must be "open" or "closed"; got {self.on_error!r}')
        for name in ("time_limit_seconds", "report_seconds", "keys_seconds", "report_limit"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0; got {getattr(self, name)!r}")
        for name in ("bypass", "bypass_addresses", "bypass_agents"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a list; got the text {getattr(self, name)!r}")
        for pattern in self.bypass:
            if not pattern.startswith("/"):
                raise ValueError(f"bypass: a path begins with /; got {pattern!r}")
        if not all(self.bypass_agents):
            raise ValueError("bypass_agents: an empty text would be part of every User-Agent")
        for network in self.bypass_addresses:
            ip_network(network, strict=False)


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
