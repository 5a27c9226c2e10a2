"""Codes that people type to move a ticket to another device: for devices without a camera, and browsers without
scripts.

A code is the number of the ticket and eight characters of a keyed digest, such as `18332-K2Q9-XM4D`. It is not stored:
the digest covers how often the ticket has moved, so a code works once, and the time.
"""

from __future__ import annotations

import hmac
import re

from fairline.domain.queue import QueueId

#: The characters of the digest: none of them looks like another one.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LOOK_ALIKES = str.maketrans("OIL", "011")
_LENGTH = 8
_TYPED = re.compile(rf"([0-9]{{1,15}})([{_ALPHABET}]{{{_LENGTH}}})")
_BETWEEN = re.compile(r"[\s-]+")
#: Longer than any code with blanks in it.
_LONGEST = 60


def typed_code(key: bytes, queue: QueueId, number: int, joined: int, moved: int, period: int) -> str:
    """The code of a ticket in a period of time, as it is shown."""
    digest = hmac.digest(key, f"{queue} {number} {joined} {moved} {period}".encode(), "sha256")
    value = int.from_bytes(digest[:5], "big")
    text = "".join(_ALPHABET[value >> 5 * place & 31] for place in range(_LENGTH))
    return f"{number}-{text[:4]}-{text[4:]}"


def read_typed(text: str) -> tuple[int, str] | None:
    """The number in a code that somebody typed, and the code as it is shown; None if it cannot be one."""
    if len(text) > _LONGEST:
        return None
    plain = _BETWEEN.sub("", text).upper()
    found = _TYPED.fullmatch(plain[:-_LENGTH] + plain[-_LENGTH:].translate(_LOOK_ALIKES))
    if found is None:
        return None
    number, digest = found.groups()
    return int(number), f"{int(number)}-{digest[:4]}-{digest[4:]}"
