"""What a client's address, scheme and host are when requests may come through proxies: forwarded headers are believed
from the proxies of the setting `trusted_proxies` only."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from fairline.domain.address import counted_address
from fairline.web.server.http import Request


class TrustedProxies:
    """The networks whose forwarded headers are believed."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(network, strict=False) for network in networks]

    def address(self, request: Request) -> str | None:
        """The address of the client. X-Forwarded-For is read from the right, and only as far as trusted proxies wrote
        it."""
        address = request.peer
        if not self._networks or address is None or not self._trusted(address):
            return address
        for hop in reversed((request.text(b"x-forwarded-for") or "").split(",")):
            hop = hop.strip()
            try:
                ip_address(hop)
            except ValueError:
                return address
            address = hop
            if not self._trusted(address):
                break
        return address

    def counted_address(self, request: Request) -> str:
        """The address that the server's limits count a call by; empty where it is not known."""
        return counted_address(self.address(request))

    def is_https(self, request: Request) -> bool:
        """Whether the client used https, as far as a trusted proxy or the connection says. In a list, the last entry
        counts: the proxy next to this server wrote it."""
        if self._networks and request.peer is not None and self._trusted(request.peer):
            scheme = (request.text(b"x-forwarded-proto") or "").rpartition(",")[2].strip()
            return scheme == "https" or request.secure
        return request.secure

    def host(self, request: Request) -> str:
        """The host that the client asked for, with its port: from a trusted proxy, or else from the request itself."""
        if self._networks and request.peer is not None and self._trusted(request.peer):
            host = (request.text(b"x-forwarded-host") or "").rpartition(",")[2].strip()
            return host or request.text(b"host") or ""
        return request.text(b"host") or ""

    def trusts(self, request: Request) -> bool:
        """Whether a trusted proxy sent the request."""
        return bool(self._networks) and request.peer is not None and self._trusted(request.peer)

    def _trusted(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)
