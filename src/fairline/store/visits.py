"""Who comes to the site inside."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: To start a session, to record activity in one, or both as needed.
Visit = Literal["start", "touch", "visit"]


class Visitor(NamedTuple):
    """Someone who comes to the site inside: the ticket, the digest of who it is, and the number of page views. With
    `joined`, only the ticket that was issued then: in a recreated queue its number is somebody else's.

    `by` has one part or two: a secret that only one client has, then the browser at its address. A session belongs to
    `by` if it was started by the same value, or by one that ends with it: a client without its secret is recognised by
    its browser. To start a session again takes the whole value."""

    number: int
    by: bytes
    views: int = 1
    joined: int | None = None
