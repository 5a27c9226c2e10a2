"""The head of a request, everything before its body: method, path, query and headers, and what is parsed from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from sys import getsizeof
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, unquote

#: The most fields in a query: a call refuses more, a page ignores the rest.
MOST_FIELDS = 50

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_BEARER = b"bearer "
#: Headers that may come in several lines, and the separator that joins them. A proxy may add a line of its own.
_JOINED_HEADERS = {b"x-forwarded-for": b", ", b"x-forwarded-proto": b", ", b"x-forwarded-host": b", ", b"cookie": b"; "}
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Head:
    """A request up to its body: method, path, query and headers. Requests with equal bytes share one Head (see
    fast_path): it holds nothing that belongs to a single request, and what is parsed for the first is ready for the
    next."""

    __slots__ = (
        "_args",
        "_bearer",
        "_cookies",
        "_first",
        "given_id",
        "method",
        "params",
        "path",
        "query",
        "query_allowed",
        "understood",
    )

    def __init__(
        self,
        method: str,
        path: str,
        query: bytes = b"",
        headers: Sequence[tuple[bytes, bytes]] = (),
        params: Mapping[str, str] = _NOTHING,
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.params = params
        """The parameters in the path."""
        self._first = first = dict(reversed(headers))
        if len(first) != len(headers):
            _join_lines(first, headers)
        given = self._first.get(b"x-request-id")
        self.given_id = given.decode() if given is not None and _ID.fullmatch(given) else None
        self._args: Mapping[str, str] | None = None
        self._cookies: Mapping[str, str] | None = None
        self._bearer: str | None = None
        self.query_allowed = False
        """Whether its query is known to be one that its call takes."""
        self.understood: Any = None
        """What its handler derived from the head alone, if the handler keeps it for the next equal request."""

    def without_cookies(self) -> Head:
        """The same head without its cookies."""
        headers = [each for each in self._first.items() if each[0] != b"cookie"]
        return Head(self.method, self.path, self.query, headers, self.params)

    def weight(self) -> int:
        """How many bytes of memory it takes, with everything that is or may be derived from it."""
        texts = sum(map(_text_weight, (self._first, self._args, self._cookies, self.params)))
        return _OWN_WEIGHT + texts + 2 * (len(self.path) + len(self.query)) + len(self._bearer or "")

    def header(self, name: bytes) -> bytes | None:
        """The first header of this name (in lower case)."""
        return self._first.get(name)

    def text(self, name: bytes) -> str | None:
        """A header as text."""
        value = self._first.get(name)
        return None if value is None else value.decode("utf-8", "replace")

    @property
    def args(self) -> Mapping[str, str]:
        """The fields of the query; the last of a name wins."""
        if self._args is None:
            self._args = args_of(self.query)
        return self._args

    @property
    def cookies(self) -> Mapping[str, str]:
        """The cookies sent; the first of a name wins, as browsers send the most exact one first."""
        if self._cookies is None:
            header = self.text(b"cookie")
            self._cookies = cookies_of(header) if header else _NOTHING
        return self._cookies

    @property
    def bearer(self) -> str | None:
        """The token in the Authorization header."""
        if self._bearer is None:
            value = self._first.get(b"authorization")
            is_bearer = value is not None and value[:7].lower() == _BEARER
            self._bearer = value[7:].strip().decode("utf-8", "replace") if value is not None and is_bearer else ""
        return self._bearer or None


#: The bytes of a head without its texts, including what its handler may keep with it.
_OWN_WEIGHT = 800


def _text_weight(texts: Mapping[Any, Any] | None) -> int:
    if not texts:
        return 0
    # A dict that may be a third full, and its read-only proxy.
    return 200 + sum(getsizeof(name) + getsizeof(value) + 100 for name, value in texts.items())


def _join_lines(first: dict[bytes, bytes], headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Join headers that a client or the proxies on the way may have sent in several lines (RFC 9110, section 5.3). Of
    any other header the first line counts."""
    for name, separator in _JOINED_HEADERS.items():
        if name in first:
            first[name] = separator.join([value for each, value in headers if each == name])


def cookies_of(header: str) -> Mapping[str, str]:
    """The cookies of a Cookie header; the first of a name wins."""
    found: dict[str, str] = {}
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        found.setdefault(name, unquote(value))
    return MappingProxyType(found)


def args_of(query: bytes) -> Mapping[str, str]:
    """The fields of a query; the last of a name wins. Fields after the first MOST_FIELDS are ignored."""
    if query.count(b"&") >= MOST_FIELDS:
        query = b"&".join(query.split(b"&", MOST_FIELDS)[:MOST_FIELDS])
    return MappingProxyType(dict(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)))
