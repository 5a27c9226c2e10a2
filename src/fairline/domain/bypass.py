"""Who passes a gate without a pass: assets, health checks, crawlers, addresses that an operator names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from urllib.parse import unquote

from fairline.errors import InvalidSettings

MOST = 50
#: The least of a name that a user agent is known by: less is in nearly every one.
SHORTEST_AGENT = 3
PATH = re.compile(r"[/*][!-~]*")


def check_bypass(paths: Sequence[str], agents: Sequence[str], addresses: Sequence[str]) -> None:
    """Refuse rules that could not mean anything, naming the setting."""
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
                f"must be parts of names, of {SHORTEST_AGENT} letters or more; got {agent!r:.80}",
            )
    for address in addresses:
        try:
            _network(address)
        except ValueError:
            raise InvalidSettings(
                "bypass_addresses", f"must be addresses or networks such as 10.0.0.0/8; got {address!r:.80}"
            ) from None


def path_passes(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path, as a server decodes it, is one of the named ones and means the same to everyone."""
    return any(fnmatchcase(path, pattern) for pattern in patterns) and is_plain(path)


def is_plain(path: str) -> bool:
    """Whether a path means the same to everyone. `/static/../checkout` and its disguises do not, and never bypass."""
    doubtful = not path.isprintable() or "//" in path or any(mark in path for mark in "%\\;?#")
    return not doubtful and not any(part in (".", "..") for part in path.split("/"))


def decoded(uri: str) -> str:
    """The path of an address, as a server decodes it: once."""
    return unquote(uri.partition("?")[0], errors="surrogateescape")


def agent_passes(agent: str, parts: Sequence[str]) -> bool:
    """Whether a browser or robot calls itself by one of the names. Anyone can call themselves so."""
    agent = agent.lower()
    return any(part.strip().lower() in agent for part in parts)


def address_passes(address: str | None, networks: Sequence[str]) -> bool:
    """Whether someone comes from one of the addresses."""
    if not networks or address is None:
        return False
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in _network(network) for network in networks)


_network = lru_cache(maxsize=256)(partial(ip_network, strict=False))
