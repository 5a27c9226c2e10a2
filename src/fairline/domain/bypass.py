"""Bypass rules: which requests a gate lets through without a session token, by path, user agent or address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from urllib.parse import unquote

from fairline.errors import InvalidSettings

MOST = 50
#: The shortest part of a name that may identify a user agent: a shorter one is in nearly every name.
SHORTEST_AGENT = 3
PATH = re.compile(r"[/*][!-~]*")


def check_bypass(paths: Sequence[str], agents: Sequence[str], addresses: Sequence[str]) -> None:
    """Raise InvalidSettings, with the name of the setting, for rules that make no sense."""
    for field, rules in (("bypass_paths", paths), ("bypass_agents", agents), ("bypass_addresses", addresses)):
        if len(rules) > MOST:
            raise InvalidSettings(field, f"must be at most {MOST}; got {len(rules)}")
    for path in paths:
        if not PATH.fullmatch(path):
            raise InvalidSettings("bypass_paths", f"must be patterns such as /static/* or *.css; got {path!r:.80}")
    for agent in agents:
        if len(agent.strip()) < SHORTEST_AGENT:
            raise InvalidSettings(
                "bypass_agents",
                f"must be parts of user agent names, with at least {SHORTEST_AGENT} letters; got {agent!r:.80}",
            )
    for address in addresses:
        try:
            _network(address)
        except ValueError:
            raise InvalidSettings(
                "bypass_addresses", f"must be addresses or networks such as 10.0.0.0/8; got {address!r:.80}"
            ) from None


def path_passes(path: str, patterns: Sequence[str]) -> bool:
    """Whether a decoded path matches one of the patterns and is not ambiguous."""
    return any(fnmatchcase(path, pattern) for pattern in patterns) and is_plain(path)


def is_plain(path: str) -> bool:
    """Whether every server reads this path the same way. `/static/../checkout` and its variants are ambiguous, and
    never bypass."""
    ambiguous = not path.isprintable() or "//" in path or any(mark in path for mark in "%\\;?#")
    return not ambiguous and not any(part in (".", "..") for part in path.split("/"))


def decoded(uri: str) -> str:
    """The path of a URI, decoded once, as a server does."""
    return unquote(uri.partition("?")[0], errors="surrogateescape")


def agent_passes(agent: str, parts: Sequence[str]) -> bool:
    """Whether the user agent contains one of the names. Any client can send any name."""
    agent = agent.lower()
    return any(part.strip().lower() in agent for part in parts)


def address_passes(address: str | None, networks: Sequence[str]) -> bool:
    """Whether the address is in one of the networks."""
    if not networks or address is None:
        return False
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in _network(network) for network in networks)


_network = lru_cache(maxsize=256)(partial(ip_network, strict=False))
