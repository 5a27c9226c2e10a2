"""Queues: their settings with the allowed ranges, and the snapshot of a queue at a moment."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, NewType, get_type_hints

import msgspec
from msgspec import Meta, Struct

from fairline.domain.address import IPV6_PREFIX, web_address
from fairline.domain.branding import check_branding
from fairline.domain.bypass import check_bypass
from fairline.domain.calendar import Calendar, check_hours
from fairline.domain.desk_name import desk_name
from fairline.domain.notices import NoticeKind
from fairline.domain.order import PriorityPolicy
from fairline.domain.phone import check_region
from fairline.domain.spelling import did_you_mean
from fairline.errors import Invalid, InvalidSettings

QueueId = NewType("QueueId", str)

#: The largest `max_queue_size`.
LONGEST_LINE = 10_000_000
ID_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_ID = re.compile(ID_PATTERN, re.ASCII)
#: A series ends with a letter, so that its labels cannot be confused with those of another series.
SERIES = re.compile(r"[A-Z0-9]{0,3}[A-Z]", re.ASCII)
PREFIX = re.compile(r"[A-Z0-9]{0,12}", re.ASCII)


class QueueStatus(StrEnum):
    """The status of a queue: `paused` accepts joins and admits nobody; `maintenance` accepts no joins."""

    ACTIVE = "active"
    PAUSED = "paused"
    MAINTENANCE = "maintenance"


class Admission(StrEnum):
    """Whether people are let in by the keeper or called by staff."""

    AUTO = "auto"
    MANUAL = "manual"


#: Looking up an Enum member is slow before Python 3.12, and this one is needed for every ticket.
_BY_HAND = Admission.MANUAL


class LabelRestart(StrEnum):
    """Whether labels start again from 1 each day or never."""

    NEVER = "never"
    DAILY = "daily"


class OnePer(StrEnum):
    """What makes two arrivals the same person."""

    CLIENT = "client"
    USER = "user"
    PHONE = "phone"
    IP = "ip"
    NONE = "none"


class Ask(StrEnum):
    """Whether the form at `/join/{queue}` asks for a detail, and whether the detail is required."""

    NO = "no"
    OPTIONAL = "optional"
    REQUIRED = "required"


#: A constant for the same reason.
_REQUIRED = Ask.REQUIRED
#: The fields of a join that a queue may ask for.
_ASKED = ("name", "phone", "email", "party_size")

Text = Annotated[str, Meta(max_length=200)]
Message = Annotated[str, Meta(max_length=2000)]
Url = Annotated[str, Meta(max_length=2000)]
Source = Annotated[str, Meta(max_length=10_000)]
Rules = tuple[Text, ...]
Share = Annotated[float, Meta(ge=0, le=1)]


class QueueSettings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """All settings of one queue. `checked` refuses values that are out of range or contradict each other."""

    name: Text = ""
    """The name that people see; the id if it is empty."""
    target_url: Url = ""
    """Where people go when they are let in, with the session token in the query."""
    status: QueueStatus = QueueStatus.ACTIVE
    """`paused` accepts joins and lets nobody in; `maintenance` accepts no joins."""
    admission: Admission = Admission.AUTO
    """`auto` lets people in automatically; with `manual`, staff call them."""
    admission_rate: Annotated[float, Meta(ge=0, le=100_000, description="people a second; 0 lets nobody in")] = 10.0
    burst: Annotated[float, Meta(ge=1, le=100_000, description="most let in at once; unset is the rate")] | None = None
    max_active: Annotated[int, Meta(ge=1, le=10_000_000)] = 1000
    """Capacity inside: how many people can be let in and not gone yet."""
    max_queue_size: Annotated[int, Meta(ge=1, le=LONGEST_LINE)] = 50_000
    """Capacity in line: how many people can wait."""
    stock: Annotated[int, Meta(ge=0, le=1_000_000_000, description="unset is unlimited")] | None = None
    stock_url: Url | None = None
    """An address that answers `{"seats": n}`, from which the stock is taken."""
    passthrough: bool = False
    """At the gate, visitors without a session token pass straight through while nobody waits and there is capacity."""
    bypass_paths: Rules = ()
    """Paths that need no session token, as patterns such as `/static/*`."""
    bypass_agents: Rules = ()
    """User agents that need no session token, by a part of their name. Any client can send any name."""
    bypass_addresses: Rules = ()
    """Addresses or networks that need no session token, such as `10.0.0.0/8`."""
    priority_policy: PriorityPolicy = PriorityPolicy.SKIP
    """`skip` moves a level ahead of a share of the line; `strict` serves higher levels first."""
    priority_skip: Annotated[tuple[Share, ...], Meta(min_length=4, max_length=4)] = (0.0, 0.1, 0.5, 1.0)
    """The share of the line that levels 0, 1, 2 and 3 go ahead of."""
    heartbeat_interval_seconds: Annotated[float, Meta(ge=1, le=3600)] = 10.0
    """How often clients are asked to send a heartbeat."""
    heartbeat_timeout_seconds: Annotated[float, Meta(ge=0, le=86_400, description="0 needs no heartbeats")] = 60.0
    grace_seconds: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """Extra time on top of the timeout, and how long a place is kept after its page was closed."""
    claim_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 300.0
    """How much time people have to come after they were let in."""
    session_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 3600.0
    """How long a session lasts without activity."""
    session_max_seconds: Annotated[float, Meta(ge=1, le=2_592_000)] = 14_400.0
    """How long a session lasts at most."""
    one_per: OnePer = OnePer.CLIENT
    """What makes two arrivals the same person, who gets one place."""
    require_user_token: bool = False
    """Accepts only people with a signed `user_token` of the site; staff may add others to the line."""
    join_limit_per_ip: Annotated[int, Meta(ge=0, le=100_000, description="a minute; 0 is no limit")] = 20
    join_limit_per_phone: Annotated[int, Meta(ge=0, le=1000, description="an hour; 0 is no limit")] = 3
    join_limit_per_email: Annotated[int, Meta(ge=0, le=1000, description="an hour; 0 is no limit")] = 3
    ipv6_prefix: Annotated[int, Meta(ge=32, le=128)] = IPV6_PREFIX
    """How many bits of an IPv6 address are compared, for `one_per` `ip` and `join_limit_per_ip`."""
    ticket_prefix: Annotated[str, Meta(max_length=12)] = ""
    """Follows the R at the start of every label: `OFF` makes `ROFF-000123`. Capital letters and digits; the id if it
    is empty."""
    series: Annotated[Rules, Meta(max_length=20)] = ()
    """The series in which labels are counted, such as `A` and `B`; the first is the default."""
    label_restart: LabelRestart = LabelRestart.NEVER
    """`daily` counts labels from 1 again each day, by `time_zone`. Tickets that wait over midnight keep their label,
    and a new ticket may have the same: set `opening_hours` and `clear_after_minutes`, so that the line is empty by
    then."""
    time_zone: Text = "UTC"
    """The time zone of the queue, such as `Europe/Zurich`: its days and its opening hours are in it."""
    opening_hours: dict[str, Rules] = {}
    """When it accepts people, by weekday, such as `{"monday": ["09:00-12:30", "13:30-18:00"]}`; empty is always."""
    closed_dates: Rules = ()
    """Dates on which it is closed all day, such as `2027-12-25`."""
    close_early: bool = True
    """Accepts nobody whose turn would come after closing time even if all goes well."""
    clear_after_minutes: Annotated[int, Meta(ge=0, le=1440, description="unset is never")] | None = None
    desks: Annotated[Rules, Meta(max_length=200)] = ()
    """The names of its desks; if empty, any name is allowed."""
    desk_idle_seconds: Annotated[float, Meta(ge=60, le=86_400)] = 900.0
    """A desk closes if it has not called anyone for this long."""
    wait_sample: Annotated[int, Meta(ge=3, le=200)] = 20
    """How many of the last calls the wait is estimated from, where staff call."""
    phone_region: Text = ""
    """The country, such as `KR`, whose phone numbers may be given without +; if empty, all numbers need +."""
    max_party_size: Annotated[int, Meta(ge=1, le=1000)] = 20
    """The largest party; staff may add parties of up to 100."""
    ask_name: Ask = Ask.OPTIONAL
    """Whether the join form asks for a name. Every join must have the details that are `required`, except joins by
    staff."""
    ask_phone: Ask = Ask.OPTIONAL
    """Whether the join form asks for a phone number."""
    ask_email: Ask = Ask.NO
    """Whether the join form asks for an e-mail address."""
    ask_party_size: Ask = Ask.NO
    """Whether the join form and the kiosk ask how many people come together."""
    retain_seconds: Annotated[float, Meta(ge=0, le=604_800)] = 3600.0
    """How long the record of an ended ticket is kept."""
    closed_message: Message = ""
    """What the page says while the queue is closed."""
    message: Message = ""
    """A message to everyone who waits."""
    notices: tuple[NoticeKind, ...] = ()
    """Which notices are sent by text message and e-mail: any of `joined`, `nearly`, `called`, `returned`,
    `transferred`."""
    notice_place: Annotated[int, Meta(ge=1, le=100)] = 3
    """From which position people receive the notice that it is nearly their turn."""
    opens_at: Annotated[str, Meta(max_length=40)] = ""
    """When a queue in maintenance is planned to open, such as `2027-01-15T09:00:00Z`; the page shows it."""
    logo: Source = ""
    """The page's logo: an image as a `data:` address, so that browsers need no request to the site for it."""
    accent_colour: Text = ""
    """The page's accent colour, such as `#0b6bcb`."""
    background_colour: Text = ""
    """The page's background colour, such as `#ffffff`; if empty, it follows the reader's light or dark mode."""
    texts: dict[str, Message] = {}
    """Texts of the page by name, such as `waiting_title`, or `waiting_title.de` for one language."""
    page_template: Source = ""
    """A Jinja2 template that replaces the whole page."""

    @property
    def stock_unknown(self) -> bool:
        """Whether the stock has not been read from `stock_url` yet: until then, nobody is let in."""
        return self.stock_url is not None and self.stock is None

    @property
    def by_hand(self) -> bool:
        """Whether staff call people, so that nobody is let in automatically."""
        return self.admission is _BY_HAND

    @property
    def is_walk_in(self) -> bool:
        """Whether people are called to a desk: staff call them, and there is no site that they continue to."""
        return self.by_hand and not self.target_url

    @property
    def required(self) -> tuple[str, ...]:
        """The fields that every join must have."""
        asked = (self.ask_name, self.ask_phone, self.ask_email, self.ask_party_size)
        return tuple(field for field, ask in zip(_ASKED, asked, strict=True) if ask is _REQUIRED)

    @property
    def calendar(self) -> Calendar:
        """The calendar: the days and the opening hours."""
        return Calendar(self.time_zone, self.opening_hours, self.closed_dates)

    @property
    def needs_calendar(self) -> bool:
        """Whether joins depend on the date or the time of day."""
        return self.label_restart is LabelRestart.DAILY or any(self.opening_hours.values()) or bool(self.closed_dates)

    @property
    def bucket(self) -> float:
        """The size of the token bucket that limits admission."""
        return self.burst if self.burst is not None else max(1.0, self.admission_rate)


SETTINGS = QueueSettings.__struct_fields__
_TYPES = get_type_hints(QueueSettings, include_extras=True)


@lru_cache(maxsize=1024)
def queue_id(text: str) -> QueueId:
    """Return the text as a queue id, or raise InvalidSettings: an id becomes part of keys and addresses."""
    if not _ID.fullmatch(text):
        rule = "1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        raise InvalidSettings("id", f"must be {rule}; got {text!r:.80}")
    return QueueId(text)


def checked(changes: dict[str, Any], base: QueueSettings | None = None) -> QueueSettings:
    """Return the settings after `changes`, or raise InvalidSettings with the field and what it allows."""
    unknown = [field for field in changes if field not in SETTINGS]
    if unknown:
        name = str(unknown[0])[:80]
        hint = did_you_mean(name, SETTINGS) or " 'fairline queue set --help' and /docs of the server list them."
        raise InvalidSettings(name, f"is not a queue setting.{hint}")
    merged = {**msgspec.structs.asdict(base or QueueSettings()), **changes}
    for field, value in merged.items():
        for text in _texts_in(value):
            check_text(field, text)
    try:
        settings = msgspec.convert(merged, QueueSettings)
    except msgspec.ValidationError as error:
        field = _field_of(error)
        raise InvalidSettings(field, f"{allowed(field)}; got {merged.get(field)!r:.80}") from None
    _check_together(settings)
    return settings


def stored_settings(fields: dict[str, Any]) -> QueueSettings:
    """Build settings from a stored record: removed settings are ignored, and new ones have their default."""
    return msgspec.convert({name: fields[name] for name in SETTINGS if name in fields}, QueueSettings)


def _texts_in(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts_in(inner)]
    if isinstance(value, dict):
        return [text for pair in value.items() for text in _texts_in(pair)]
    return [value] if isinstance(value, str) else []


def check_text(field: str, text: str, error: type[Invalid] = InvalidSettings) -> None:
    """Raise `error` for text that no store can keep: NUL characters and halves of surrogate pairs."""
    if "\x00" in text:
        raise error(field, "must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(field, "must be valid Unicode; it contains half of a surrogate pair") from None


def allowed(field: str) -> str:
    """What a setting allows, as text: 'must be a number from 0 to 100,000'."""
    hint = _TYPES.get(field)
    options = [option for option in getattr(hint, "__args__", (hint,)) if option is not type(None)]
    optional = len(options) < len(getattr(hint, "__args__", (hint,)))
    if hasattr(hint, "__metadata__") or getattr(hint, "__origin__", None) in (dict, tuple):
        options, optional = [hint], False
    base, meta = getattr(options[0], "__origin__", options[0]), getattr(options[0], "__metadata__", [Meta()])[0]
    words = _words(getattr(base, "__origin__", base), meta)
    if base is dict and getattr(hint, "__args__", ("", ""))[1] == Rules:
        words = "an object with lists of texts by name"
    if hint == tuple[NoticeKind, ...]:
        words = f"a list with any of {', '.join(NoticeKind)}"
    return f"must be {words}" + (" or null" if optional else "")


def _words(base: Any, meta: Meta) -> str:
    if isinstance(base, type) and issubclass(base, StrEnum):
        return f"one of {', '.join(base)}"
    if base is str:
        return f"text of at most {meta.max_length} characters"
    if base in (int, float):
        kind = "a whole number" if base is int else "a number"
        return f"{kind} from {meta.ge:,} to {meta.le:,}"
    if base is bool:
        return "true or false"
    if base is dict:
        return "an object with texts by name"
    if base is tuple and meta.min_length is None:
        many = f"at most {meta.max_length} " if meta.max_length else ""
        return f"a list of {many}texts of at most 200 characters"
    return f"a list of {meta.min_length} numbers from 0 to 1"


def _field_of(error: msgspec.ValidationError) -> str:
    found = re.search(r"\$\.(\w+)", str(error))
    return found.group(1) if found else ""


def _check_together(settings: QueueSettings) -> None:
    """Raise InvalidSettings if settings that are valid alone contradict each other."""
    shares = settings.priority_skip
    if shares[0] != 0 or list(shares) != sorted(shares):
        raise InvalidSettings("priority_skip", f"must begin with 0 and never decrease; got {list(shares)}")
    timeout, interval = settings.heartbeat_timeout_seconds, settings.heartbeat_interval_seconds
    if 0 < timeout < interval:
        raise InvalidSettings(
            "heartbeat_timeout_seconds",
            f"must be 0 (no timeout) or at least heartbeat_interval_seconds ({interval:g}); got {timeout:g}",
        )
    if settings.session_max_seconds < settings.session_seconds:
        raise InvalidSettings(
            "session_max_seconds",
            f"must be at least session_seconds ({settings.session_seconds:g}); got {settings.session_max_seconds:g}",
        )
    for field in ("target_url", "stock_url"):
        url = getattr(settings, field)
        if url and web_address(url) is None:
            raise InvalidSettings(field, f"must be an http:// or https:// address; got {url!r:.80}")
    if not PREFIX.fullmatch(settings.ticket_prefix):
        raise InvalidSettings(
            "ticket_prefix", f"must be at most 12 capital letters or digits; got {settings.ticket_prefix!r}"
        )
    for name in settings.series:
        if not SERIES.fullmatch(name):
            rule = "1 to 4 capital letters or digits, the last one a letter"
            raise InvalidSettings("series", f"must have names of {rule}; got {name!r:.80}")
    for name in settings.desks:
        if desk_name(name, "desks", InvalidSettings) != name:
            raise InvalidSettings("desks", f"must have names without spaces at the ends; got {name!r:.80}")
    _check_once("series", settings.series)
    _check_once("desks", settings.desks)
    if len(set(settings.notices)) < len(settings.notices):
        raise InvalidSettings("notices", f"must not have a kind twice; got {', '.join(settings.notices)}")
    check_hours(settings.time_zone, settings.opening_hours, settings.closed_dates)
    check_region(settings.phone_region)
    check_bypass(settings.bypass_paths, settings.bypass_agents, settings.bypass_addresses)
    check_branding(
        opens_at=settings.opens_at,
        logo=settings.logo,
        colours={name: getattr(settings, name) for name in ("accent_colour", "background_colour")},
        texts=settings.texts,
    )


def _check_once(field: str, names: Rules) -> None:
    if len(set(names)) < len(names):
        raise InvalidSettings(field, f"must not have a name twice; got {', '.join(names):.200}")


class QueueSnapshot(Struct, frozen=True):
    """A queue at a moment, read by the store in the same step as its answer. Estimates are made from it."""

    now: int
    """The store's clock, in milliseconds."""
    stopped: int
    """How long this queue's clock has been stopped by outages, in milliseconds; below 0 after the store's clock was set
    back: see docs/explanation/time.md."""
    version: int
    """The version of the settings; each change raises it."""
    waiting: int
    admitted: int
    active: int
    completed: int
    stay_seconds: float
    """Mean stay of the people who have come out; 0 while nobody has."""
    leave_rate: float
    """Share of the line that gives up each second."""
    call_rate: float
    """Measured admissions a second."""
    out_rate: float = 0.0
    """Measured share of the people inside that comes out each second."""
    stays_seen: float = 0.0
    """How many people have come out; older ones count less."""
    on_hold: int = 0
    """How many people wait on hold; `waiting` does not include them."""
    desks_open: int = 0
    """Open desks, where staff call."""
    cycles: int = 0
    """How many calls `cycle_seconds` is the mean of."""
    cycle_seconds: float = 0.0
    """How long a desk takes from one call to the next while people wait; 0 until it was measured."""
    calls_seen: float = 0.0
    """How many admissions `call_rate` is measured from; older ones count less."""

    @property
    def inside(self) -> int:
        """How many people take up capacity: let in and on the way, or inside."""
        return self.admitted + self.active

    def stock_left(self, stock: int | None) -> int | None:
        """The stock that is left: derived from the states, never counted up or down."""
        return None if stock is None else stock - self.completed - self.inside

    def sold_out(self, stock: int | None) -> bool:
        """Whether everything is sold for good: nobody inside can return anything."""
        return stock is not None and self.completed >= stock
