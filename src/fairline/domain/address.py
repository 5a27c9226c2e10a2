"""Addresses: of the web, taken only where someone could go there; and of the network, as limits count them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from urllib.parse import SplitResult, urlsplit

_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
#: A name or an address, and perhaps a port.
_HOST = re.compile(r"(?:\[[0-9a-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:]+)(?::\d*)?", re.IGNORECASE | re.ASCII)
USUAL_PORTS = {"http": ":80", "https": ":443"}

#: What one household or one device is given of IPv6, at least: it can use any address in it.
IPV6_PREFIX = 64
#: IPv4 as a translator shows it to a server that has IPv6 only (RFC 6052).
_TRANSLATED = IPv6Network("64:ff9b::/96")


def web_address(text: str) -> SplitResult | None:
    """The parts of an http:// or https:// address; None where it is none."""
    parts = _parts(text)
    return parts if parts is not None and parts.scheme in {"http", "https"} else None


def base_address(text: str) -> str | None:
    """An address that paths are put behind, without a slash at its end; None where it is none."""
    parts = web_address(text)
    if parts is None or _has_more(parts):
        return None
    return _origin(parts) + parts.path.rstrip("/")


def origin(text: str) -> str | None:
    """An origin as browsers write it; None where it is none. Apps have schemes of their own."""
    parts = _parts(text)
    if parts is None or not parts.scheme or parts.path not in {"", "/"} or _has_more(parts):
        return None
    # Browsers write other letters as xn--, and no name has a star in it.
    return _origin(parts) if text.isascii() and "*" not in text else None


def counted_address(address: str | None, ipv6_prefix: int = IPV6_PREFIX) -> str:
    """The address that limits count someone by: of IPv6 the network of this many bits, of IPv4 the address itself. IPv4
    written as IPv6 is IPv4. What is no address stays as it is, and none is empty."""
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
    """In small letters, and without the port that is meant anyway."""
    host = parts.netloc.lower().removesuffix(USUAL_PORTS.get(parts.scheme, "")).removesuffix(":")
    return f"{parts.scheme}://{host}"


def _parts(text: str) -> SplitResult | None:
    if _BLANK.search(text):  # some of which `urlsplit` would leave out
        return None
    try:
        text.encode()  # or it came from somewhere in no proper letters
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    return parts if port != 0 and _HOST.fullmatch(parts.netloc.rpartition("@")[2]) else None
