"""The body of a join request, its validation, and who makes the request."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fairline.domain.branding import LANGUAGES, spoken
from fairline.domain.mail import LONGEST_ADDRESS, checked_address
from fairline.domain.phone import normalised
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.storable_text import check_text
from fairline.errors import InvalidRequest

METADATA_BYTES = 4096
METADATA_DEPTH = 8
#: Staff may add larger parties than people may themselves. A larger number than this is a typing error.
LARGEST_BY_STAFF = 100
_LARGEST = 2**63
#: Unicode categories of control characters, surrogates, and line and paragraph separators.
_NOT_SHOWN = frozenset(("Cc", "Cs", "Zl", "Zp"))
#: Characters that change the text direction until an end mark that may be missing. Marks for a single letter are
#: allowed, because names need them.
_DIRECTION_CHANGES = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_FIELD = re.compile(r"\$\.(\w+)")

Identifier = Annotated[str, Meta(min_length=1, max_length=200)]


class JoinRequest(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The body of a join. No field of it grants priority: that takes a signed priority pass, or staff."""

    client_id: Identifier | None = None
    """A secret of the client. A client that knows it is the holder of the ticket."""
    user_id: Identifier | None = None
    """The site's id of the person."""
    user_token: Annotated[str, Meta(min_length=1, max_length=2048)] | None = None
    """The user id, signed by the site with the key of the queue, so that nobody else can join as this person."""
    priority_pass: Annotated[str, Meta(max_length=2048)] | None = None
    """The text of a priority pass."""
    name: Annotated[str, Meta(max_length=100)] | None = None
    phone: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    email: Annotated[str, Meta(min_length=1, max_length=LONGEST_ADDRESS)] | None = None
    """The address that notices about this ticket are sent to."""
    language: Annotated[str, Meta(max_length=35)] | None = None
    """The language of the person's pages and notices, such as `de`; by default the browser's language."""
    party_size: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How many people come together; one by default."""
    series: Annotated[str, Meta(max_length=4)] | None = None
    """The series of the queue that the label counts in; by default the first one."""
    group: Annotated[str, Meta(min_length=1, max_length=2048)] | None = None
    """The code of the group to wait with. It goes with no priority pass."""
    metadata: dict[str, Any] | None = None
    """Any data of the site about this ticket; at most 4 KiB of JSON."""
    idempotency_key: Identifier | None = None
    """The same as the header `Idempotency-Key`. A key is valid for one client: by its id, its cookie, or its
    address."""


class JoinBody(JoinRequest, frozen=True):
    """A join request decoded from JSON without a backslash. The decoder has checked its types and lengths, and the
    characters that no store can keep (NUL, half of a surrogate pair) can only come as escapes. So it is not checked
    again, which would take 10 % more instructions for a join."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(JoinRequest).decode


class Caller(Struct, frozen=True, kw_only=True):
    """The caller of a request: what the server knows about it, not what the request body claims."""

    address: str | None = None
    user_agent: str | None = None
    visitor: str | None = None
    """The secret in the server's cookie for this browser. It is the client id if the request has none."""
    holds: tuple[int, int, int] | None = None
    """A ticket of this queue that the caller has proved to hold with a signed cookie: its number, when it joined, and
    how often it had moved to another device."""
    staff: str | None = None
    """The id of the admin key, if staff add someone to the line."""
    priority: int = 0
    """The priority level that staff give."""
    form: bool = False
    """Whether the call comes from a join form of the server. The idempotency key was then created with the form, and
    the same key is the same join even if the form was filled in differently."""
    user_token: str | None = None
    """The user token from the cookie that a link of the site has set."""
    language: str | None = None
    """The language that the browser asks for, one of the pages' languages."""


def check_join(request: JoinRequest) -> None:
    """Raise InvalidRequest, with the name of the field, for a value that no store can keep or that makes no sense."""
    if not _is_plain(request):
        _check_fields(request)
    if request.language is not None and spoken(request.language) is None:
        raise InvalidRequest("language", f"must be one of {', '.join(LANGUAGES)}; got {request.language!r:.40}")


def _is_plain(request: JoinRequest) -> bool:
    """A fast check that nearly all requests pass: encoding and decoding gives the same request, and there is no NUL
    character in it."""
    if request.metadata is not None:
        return False
    if type(request) is JoinBody:
        return True
    try:
        encoded = _encode(request)
        return b"\\u0000" not in encoded and _decode(encoded) == request
    except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, OverflowError):
        return False


def _check_fields(request: JoinRequest) -> None:
    fields = msgspec.structs.asdict(request)
    try:
        msgspec.convert(fields, JoinRequest)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")
        field = _FIELD.search(path)
        raise InvalidRequest(field[1] if field else "", problem) from None
    for name, value in fields.items():
        if isinstance(value, str):
            check_text(name, value, InvalidRequest)
    if request.metadata is not None:
        check_metadata(request.metadata)


def normalised_join(request: JoinRequest, settings: QueueSettings, *, by_staff: bool = False) -> JoinRequest:
    """Return the request with its details in the form they are stored in, by the rules of the queue: the name and the
    e-mail address without surrounding spaces, the phone number in international form. Raise InvalidRequest, which says
    what to type, if a detail is not valid."""
    largest = max(settings.max_party_size, LARGEST_BY_STAFF) if by_staff else settings.max_party_size
    if request.party_size is not None and request.party_size > largest:
        advice = "Split a larger party into several tickets" + ("" if by_staff else ", or ask the staff")
        raise InvalidRequest(
            "party_size", f"must be a whole number from 1 to {largest}; got {request.party_size}. {advice}"
        )
    if request.name is None and request.phone is None and request.email is None:
        return request
    name = request.name.strip() if request.name else None
    if name and not shows_as_written(name):
        raise InvalidRequest("name", "must be one line of text, without control characters")
    phone = normalised(request.phone, settings.phone_region) if request.phone else None
    email = checked_address(request.email) if request.email else None
    return msgspec.structs.replace(request, name=name or None, phone=phone, email=email)


def missing_field(request: JoinRequest, required: Sequence[str]) -> str:
    """The first field that the queue requires and the request lacks; '' if there is none."""
    return next((field for field in required if not getattr(request, field)), "") if required else ""


def shows_as_written(name: str) -> bool:
    """Whether a name is one line that does not change the text next to it, on the board or on a desk's page."""
    return not any(char in _DIRECTION_CHANGES or unicodedata.category(char) in _NOT_SHOWN for char in name)


def check_metadata(metadata: dict[str, Any]) -> None:
    """Raise InvalidRequest if the metadata is too large or too deep, or not JSON that every store keeps unchanged."""
    _check_value(metadata, METADATA_DEPTH)
    size = len(msgspec.json.encode(metadata))
    if size > METADATA_BYTES:
        raise InvalidRequest("metadata", f"must be at most {METADATA_BYTES:,} bytes as JSON; got {size:,}")


def _check_value(value: Any, depth: int) -> None:
    if depth < 0:
        raise InvalidRequest("metadata", f"must be at most {METADATA_DEPTH} levels deep")
    match value:
        case str():
            check_text("metadata", value, InvalidRequest)
        case bool() | None:
            pass
        case int():
            if not -_LARGEST <= value < _LARGEST:
                raise InvalidRequest("metadata", "must not contain whole numbers beyond 64 bits")
        case float():
            if not math.isfinite(value):
                raise InvalidRequest("metadata", "must not contain Infinity or NaN")
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise InvalidRequest("metadata", "must only have text as keys")
                check_text("metadata", key, InvalidRequest)
                _check_value(inner, depth - 1)
        case list():
            for inner in value:
                _check_value(inner, depth - 1)
        case _:
            raise InvalidRequest("metadata", f"must be JSON; got a {type(value).__name__}")
