"""Compresses answers, where that pays and gives nothing away.

Someone who can read the length of a compressed answer, and have text of their own in it, can guess what else is in it:
a guess that is right makes the answer shorter (the attack is called BREACH). So each row of the table of operations
says whether its answers are compressed: `NEVER`, unless the row says otherwise, wherever a secret may be in one body
with the text of a stranger. Streams and the calls of the fast path are never compressed.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fairline.web.server.http import Request, Response, Sent, SlowHandler

if TYPE_CHECKING:
    from fairline.web.server.operations import Operation

#: Bytes: a shorter body fits into one packet with its headers, compressed or not.
SMALLEST = 1024
#: Bytes: compressing a longer body takes more than a millisecond, and is done in a thread.
LARGE = 32 * 1024
#: Of gzip, for a body that is compressed once, and for one that is compressed for each request.
_BEST, _QUICK = 9, 4
#: What the fixed answers of a server are: the documentation and the description of the API.
_FIXED_ANSWERS = 4
#: The names of the cookies of this server begin with this.
_OWN_COOKIES = "fairline_"
_GZIP = re.compile(rb"(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q\s*=\s*([\d.]+)\s*)?(?:,|$)", re.IGNORECASE)

VARIES = (b"vary", b"Accept-Encoding")
GZIP = (b"content-encoding", b"gzip")


class Compression(Enum):
    """Whether the answers of an operation are compressed."""

    NEVER = auto()
    """There may be a secret and the text of a stranger in one body; or compression does not pay."""
    FOR_STRANGERS = auto()
    """Only for a request without any credential: there is no secret in the answer to it."""
    EACH = auto()
    """There is no secret in it, or no text of a stranger."""
    ONCE = auto()
    """The same for everyone as long as the server runs, without a secret: compressed for the first request alone."""


def compressed(row: Operation) -> Operation:
    """The same operation, which compresses its answers if its row says so."""
    how, slow = row.compression, row.slow
    return (
        row if slow is None or how is Compression.NEVER else msgspec.structs.replace(row, slow=_compressing(slow, how))
    )


def accepts_gzip(request: Request) -> bool:
    """Whether the client says that it can read gzip."""
    header = request.header(b"accept-encoding")
    found = _GZIP.search(header) if header else None
    return found is not None and (found[1] or b"1").strip(b"0.") != b""


def _compressing(slow: SlowHandler, how: Compression) -> SlowHandler:
    async def answer(request: Request) -> Sent:
        sent = await slow(request)
        if not isinstance(sent, Response) or len(sent.body) < SMALLEST:
            return sent
        varying = sent.with_headers(VARIES)
        if not accepts_gzip(request) or (how is Compression.FOR_STRANGERS and _has_credential(request)):
            return varying
        pack = _once if how is Compression.ONCE else _quickly
        body = pack(sent.body) if len(sent.body) < LARGE else await asyncio.to_thread(pack, sent.body)
        return msgspec.structs.replace(varying, body=body, headers=(*varying.headers, GZIP))

    return answer


def _has_credential(request: Request) -> bool:
    """Whether a request says who makes it, so that its answer may have what nobody else may read."""
    if request.header(b"authorization") is not None or any(
        "token" in name or "session" in name for name in request.args
    ):
        return True
    return any(name.startswith(_OWN_COOKIES) for name in request.cookies)


def _quickly(body: bytes) -> bytes:
    return gzip.compress(body, _QUICK, mtime=0)


@lru_cache(maxsize=_FIXED_ANSWERS)
def _once(body: bytes) -> bytes:
    return gzip.compress(body, _BEST, mtime=0)
