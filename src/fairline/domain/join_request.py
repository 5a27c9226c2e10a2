"""What people say when they join, checked before anything is done with it."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fairline.domain.branding import LANGUAGES, spoken
from fairline.domain.mail import LONGEST_ADDRESS, checked_address
from fairline.domain.phone import normalised
from fairline.domain.queue import QueueSettings, check_text
from fairline.errors import InvalidRequest

METADATA_BYTES = 4096
METADATA_DEPTH = 8
#: Staff put larger parties in line than people may by themselves; more than this is a slip of the finger.
LARGEST_BY_STAFF = 100
_LARGEST = 2**63
#: Control characters, halves of surrogate pairs, and breaks of lines and paragraphs.
_UNSHOWN = frozenset(("Cc", "Cs", "Zl", "Zp"))
#: What makes text run the other way up to an end that may not come. The marks for one letter may stay: names need them.
_TURNING = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_FIELD = re.compile(r"\$\.(\w+)")

Identifier = Annotated[str, Meta(min_length=1, max_length=200)]


class JoinRequest(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The body of a join. Nothing in it gives priority: that takes a signed pass, or staff."""

    client_id: Identifier | None = None
    """A secret of the client: whoever knows it is the holder."""
    user_id: Identifier | None = None
    """The site's own name for the person."""
    user_token: Annotated[str, Meta(min_length=1, max_length=2048)] | None = None
    """The same, signed by the site with the key of the queue: nobody else can join as this person."""
    priority_pass: Annotated[str, Meta(max_length=2048)] | None = None
    """The text of a priority pass."""
    name: Annotated[str, Meta(max_length=100)] | None = None
    phone: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    email: Annotated[str, Meta(min_length=1, max_length=LONGEST_ADDRESS)] | None = None
    """Where notices of this place are sent."""
    language: Annotated[str, Meta(max_length=35)] | None = None
    """In which language, such as `de`; by the browser's settings where it is left out."""
    party_size: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How many people come together; one where it is left out."""
    series: Annotated[str, Meta(max_length=4)] | None = None
    """Which of the queue's series the label counts in; the first where it is left out."""
    metadata: dict[str, Any] | None = None
    """Anything the site wants to find again; at most 4 KiB of JSON."""
    idempotency_key: Identifier | None = None
    """As the header `Idempotency-Key`. It counts for one client: by its id, its cookie, or its address."""


class JoinBody(JoinRequest, frozen=True):
    """The same, decoded from JSON that has no backslash in it: its types and lengths are checked, and what no store can
    keep (NUL, half of a surrogate pair) comes in escapes only."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(JoinRequest).decode


class Caller(Struct, frozen=True, kw_only=True):
    """Who makes a call, as the server sees it rather than as they say."""

    address: str | None = None
    user_agent: str | None = None
    visitor: str | None = None
    """The secret in the cookie we gave this browser: its client id where it names none itself."""
    holds: tuple[int, int, int] | None = None
    """A ticket of this queue that the caller has proved to hold, by our signed cookie: its number, when it was taken,
    and how often it had moved to another device."""
    staff: str | None = None
    """The id of the admin key, if it is staff who put someone in line."""
    priority: int = 0
    """A level that staff give."""
    form: bool = False
    """It is a form of ours that was sent: its idempotency key was made with it, and stands for it however it is filled
    in."""
    user_token: str | None = None
    """What their site says of who they are, by the cookie that a link of the site has left."""
    language: str | None = None
    """The one their browser asks for, of those the pages speak."""


def check_join(request: JoinRequest) -> None:
    """Refuse what no store can keep or nobody could mean, naming the field."""
    if not _is_plain(request):
        _check_fields(request)
    if request.language is not None and spoken(request.language) is None:
        raise InvalidRequest("language", f"must be one of {', '.join(LANGUAGES)}; got {request.language!r:.40}")


def _is_plain(request: JoinRequest) -> bool:
    """Seen at a glance, as nearly all are: it would come the same over the wire, with no odd character in it."""
    if request.metadata is not None:
        return False
    if type(request) is JoinBody:
        return True
    try:
        told = _encode(request)
        return b"\\u0000" not in told and _decode(told) == request
    except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, OverflowError):
        return False


def _check_fields(request: JoinRequest) -> None:
    told = msgspec.structs.asdict(request)
    try:
        msgspec.convert(told, JoinRequest)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")
        field = _FIELD.search(path)
        raise InvalidRequest(field[1] if field else "", problem) from None
    for name, value in told.items():
        if isinstance(value, str):
            check_text(name, value, InvalidRequest)
    if request.metadata is not None:
        check_metadata(request.metadata)


def normalised_join(request: JoinRequest, settings: QueueSettings, *, by_staff: bool = False) -> JoinRequest:
    """What someone says of themselves in the form it is kept in, by the rules of the queue: the name without space
    around it, the phone number as it is dialled from anywhere, the e-mail address as mail is sent there. Else an error
    that says what to type."""
    most = max(settings.max_party_size, LARGEST_BY_STAFF) if by_staff else settings.max_party_size
    if request.party_size is not None and request.party_size > most:
        instead = "A larger party joins in parts" + ("" if by_staff else ", or asks the staff")
        raise InvalidRequest(
            "party_size", f"must be a whole number from 1 to {most}; got {request.party_size}. {instead}"
        )
    if request.name is None and request.phone is None and request.email is None:
        return request
    name = request.name.strip() if request.name else None
    if name and not shows_as_written(name):
        raise InvalidRequest("name", "must be one line of text, without control characters")
    phone = normalised(request.phone, settings.phone_region) if request.phone else None
    email = checked_address(request.email) if request.email else None
    return msgspec.structs.replace(request, name=name or None, phone=phone, email=email)


def missing_field(request: JoinRequest, settings: QueueSettings) -> str:
    """A field that the queue requires and the request does not have; '' where there is none."""
    return next((field for field in settings.required if not getattr(request, field)), "")


def shows_as_written(name: str) -> bool:
    """Whether a name is one line that leaves the words beside it as they are, on the board and on a desk's page."""
    return not any(sign in _TURNING or unicodedata.category(sign) in _UNSHOWN for sign in name)


def check_metadata(metadata: dict[str, Any]) -> None:
    """Metadata is JSON of bounded size and depth that every store keeps as it came."""
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
                raise InvalidRequest("metadata", "must not have whole numbers beyond 64 bits")
        case float():
            if not math.isfinite(value):
                raise InvalidRequest("metadata", "must not have numbers that are infinite or not a number")
        case dict():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise InvalidRequest("metadata", "must have text for keys")
                check_text("metadata", key, InvalidRequest)
                _check_value(inner, depth - 1)
        case list():
            for inner in value:
                _check_value(inner, depth - 1)
        case _:
            raise InvalidRequest("metadata", f"must be JSON; got a {type(value).__name__}")
