"""Addresses: checks of web addresses and origins, and network addresses as limits count them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from urllib.parse import SplitResult, urlsplit

_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
#: A host name or an IP address, and an optional port.
_HOST = re.compile(r"(?:\[[0-9a-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:]+)(?::\d*)?", re.IGNORECASE | re.ASCII)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}

#: One household or device gets at least a network of this prefix length, and can use any address in it.
IPV6_PREFIX = 64
#: IPv4 addresses as a translator presents them to an IPv6-only server (RFC 6052).
_TRANSLATED = IPv6Network("64:ff9b::/96")


def web_address(text: str) -> SplitResult | None:
    """The parts of an http:// or https:// address; None if the text is not one."""
    parts = _parts(text)
    return parts if parts is not None and parts.scheme in {"http", "https"} else None


def base_address(text: str) -> str | None:
    """A base address to which paths are appended, without a slash at the end; None if the text is not one."""
    parts = web_address(text)
    if parts is None or _has_more(parts):
        return None
    return _origin(parts) + parts.path.rstrip("/")


def origin(text: str) -> str | None:
    """An origin as browsers write it; None if the text is not one. Apps may use their own schemes."""
    parts = _parts(text)
    if parts is None or not parts.scheme or parts.path not in {"", "/"} or _has_more(parts):
        return None
    # Browsers write non-ASCII host names as xn--, and no host name contains a star.
    return _origin(parts) if text.isascii() and "*" not in text else None


def counted_address(address: str | None, ipv6_prefix: int = IPV6_PREFIX) -> str:
    """The address that limits count by: for IPv6 the network with this prefix length, for IPv4 the address itself. An
    IPv4 address inside an IPv6 address counts as IPv4. Other text stays as it is, and None becomes ''."""
    if address is None or ":" not in address:
        return address or ""
    try:
        found = IPv6Address(address)
    except ValueError:
        return address
    ipv4 = found.ipv4_mapped or found.sixtofour or (IPv4Address(found.packed[12:]) if found in _TRANSLATED else None)
    return str(ipv4 or IPv6Network((found.packed, ipv6_prefix), strict=False))


def _has_more(parts: SplitResult) -> bool:
    return bool(parts.query or parts.fragment or "@" in parts.netloc)


def _origin(parts: SplitResult) -> str:
    """The origin in lower case, without the default port of its scheme."""
    host = parts.netloc.lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, "")).removesuffix(":")
    return f"{parts.scheme}://{host}"


def _parts(text: str) -> SplitResult | None:
    if _BLANK.search(text):  # `urlsplit` would silently remove some of these characters
        return None
    try:
        text.encode()  # fails for half of a surrogate pair
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    return parts if port != 0 and _HOST.fullmatch(parts.netloc.rpartition("@")[2]) else None
