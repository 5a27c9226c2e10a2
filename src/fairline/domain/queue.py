"""Queues: their settings with the allowed ranges, and what the store reports of one at a moment."""

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

#: The most room in line that a queue can be given.
LONGEST_LINE = 10_000_000
ID_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_ID = re.compile(ID_PATTERN, re.ASCII)
#: A series that ends with a letter can never be taken for another one with more digits.
SERIES = re.compile(r"[A-Z0-9]{0,3}[A-Z]", re.ASCII)
PREFIX = re.compile(r"[A-Z0-9]{0,12}", re.ASCII)


class QueueStatus(StrEnum):
    """`paused` takes joins and admits nobody; `maintenance` takes none."""

    ACTIVE = "active"
    PAUSED = "paused"
    MAINTENANCE = "maintenance"


class Admission(StrEnum):
    """Whether people are let in by the keeper or called by staff."""

    AUTO = "auto"
    MANUAL = "manual"


#: An Enum finds its members slowly before Python 3.12, and this one is asked for with every ticket.
_BY_HAND = Admission.MANUAL


class LabelRestart(StrEnum):
    """Whether labels are counted on for ever, or from 1 again each day."""

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
    """Whether the form at `/join/{queue}` asks for something, and whether it insists."""

    NO = "no"
    OPTIONAL = "optional"
    REQUIRED = "required"


#: For the same reason.
_REQUIRED = Ask.REQUIRED
#: What a queue may ask for: fields of a join.
_ASKED = ("name", "phone", "email", "party_size")

Text = Annotated[str, Meta(max_length=200)]
Message = Annotated[str, Meta(max_length=2000)]
Url = Annotated[str, Meta(max_length=2000)]
Source = Annotated[str, Meta(max_length=10_000)]
Rules = tuple[Text, ...]
Share = Annotated[float, Meta(ge=0, le=1)]


class QueueSettings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """Everything an operator can set of one queue. `checked` refuses what is out of range or at odds with itself."""

    name: Text = ""
    """What people read; the id where it is empty."""
    target_url: Url = ""
    """Where whoever is let in goes, with the pass in the query."""
    status: QueueStatus = QueueStatus.ACTIVE
    """`paused` takes joins and lets nobody in; `maintenance` takes no joins."""
    admission: Admission = Admission.AUTO
    """`auto` lets people in by itself; with `manual` staff call them."""
    admission_rate: Annotated[float, Meta(ge=0, le=100_000, description="people a second; 0 lets nobody in")] = 10.0
    burst: Annotated[float, Meta(ge=1, le=100_000, description="most let in at once; unset is the rate")] | None = None
    max_active: Annotated[int, Meta(ge=1, le=10_000_000)] = 1000
    """Room inside: people let in and not gone yet."""
    max_queue_size: Annotated[int, Meta(ge=1, le=LONGEST_LINE)] = 50_000
    """Room in line."""
    stock: Annotated[int, Meta(ge=0, le=1_000_000_000, description="unset sells without end")] | None = None
    stock_url: Url | None = None
    """An address that answers `{"seats": n}`, from which the stock is taken."""
    passthrough: bool = False
    """At the gate, whoever has no pass goes straight through while there is room and nobody waits."""
    bypass_paths: Rules = ()
    """Paths that need no pass, as patterns such as `/static/*`."""
    bypass_agents: Rules = ()
    """User agents that need no pass, by a part of their name. Anyone can call themselves so."""
    bypass_addresses: Rules = ()
    """Addresses or networks that need no pass, such as `10.0.0.0/8`."""
    priority_policy: PriorityPolicy = PriorityPolicy.SKIP
    """`skip` moves a level ahead of its share of the line; `strict` serves higher levels first."""
    priority_skip: Annotated[tuple[Share, ...], Meta(min_length=4, max_length=4)] = (0.0, 0.1, 0.5, 1.0)
    """The share of the line that levels 0, 1, 2 and 3 go ahead of."""
    heartbeat_interval_seconds: Annotated[float, Meta(ge=1, le=3600)] = 10.0
    """How often clients are asked to give a sign of life."""
    heartbeat_timeout_seconds: Annotated[float, Meta(ge=0, le=86_400, description="0: no need to stay in touch")] = 60.0
    grace_seconds: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """What is added to the timeout; and how long a closed page has to come back."""
    claim_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 300.0
    """How long whoever is let in has to come."""
    session_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 3600.0
    """How long a session lasts without activity."""
    session_max_seconds: Annotated[float, Meta(ge=1, le=2_592_000)] = 14_400.0
    """How long a session lasts at most."""
    one_per: OnePer = OnePer.CLIENT
    """What makes two arrivals the same person, who has one place."""
    require_user_token: bool = False
    """Takes only people whose site says who they are, by a signed `user_token`; staff may put others in line."""
    join_limit_per_ip: Annotated[int, Meta(ge=0, le=100_000, description="a minute; 0 is no limit")] = 20
    join_limit_per_phone: Annotated[int, Meta(ge=0, le=1000, description="an hour; 0 is no limit")] = 3
    join_limit_per_email: Annotated[int, Meta(ge=0, le=1000, description="an hour; 0 is no limit")] = 3
    ipv6_prefix: Annotated[int, Meta(ge=32, le=128)] = IPV6_PREFIX
    """How many bits of an IPv6 address count as one address, for `one_per` `ip` and `join_limit_per_ip`."""
    ticket_prefix: Annotated[str, Meta(max_length=12)] = ""
    """Follows the R that all labels begin with: `OFF` makes `ROFF-000123`. Capital letters and digits; the id where it
    is empty."""
    series: Annotated[Rules, Meta(max_length=20)] = ()
    """Names of series that labels are counted in, such as `A` and `B`; the first is the usual one."""
    label_restart: LabelRestart = LabelRestart.NEVER
    """`daily` counts labels from 1 again each day, by `time_zone`. Who waits over midnight keeps theirs, and someone
    new may have the same: set `opening_hours` and `clear_after_minutes`, so that the line is empty by then."""
    time_zone: Text = "UTC"
    """Where the queue is, such as `Europe/Zurich`: when its days begin, and what its hours mean."""
    opening_hours: dict[str, Rules] = {}
    """When it takes people, by weekday, such as `{"monday": ["09:00-12:30", "13:30-18:00"]}`; empty is always."""
    closed_dates: Rules = ()
    """Dates on which it is closed all day, such as `2027-12-25`."""
    close_early: bool = True
    """Takes nobody any more whose turn would come after closing time even if all goes well."""
    clear_after_minutes: Annotated[int, Meta(ge=0, le=1440, description="unset is never")] | None = None
    desks: Annotated[Rules, Meta(max_length=200)] = ()
    """The names of its desks; with none, any name will do."""
    desk_idle_seconds: Annotated[float, Meta(ge=60, le=86_400)] = 900.0
    """A desk that has not called for so long is not open any more."""
    wait_sample: Annotated[int, Meta(ge=3, le=200)] = 20
    """From how many of the last calls the wait is told, where staff call."""
    phone_region: Text = ""
    """How phone numbers without + are read, as a country such as `KR`; empty takes only those with +."""
    max_party_size: Annotated[int, Meta(ge=1, le=1000)] = 20
    """The most people who come together; staff may add parties of up to 100."""
    ask_name: Ask = Ask.OPTIONAL
    """Whether the form for taking a number asks for a name. What is `required`, every join must bring, but for those by
    staff."""
    ask_phone: Ask = Ask.OPTIONAL
    """Whether it asks for a phone number."""
    ask_email: Ask = Ask.NO
    """Whether it asks for an e-mail address."""
    ask_party_size: Ask = Ask.NO
    """Whether it asks how many come together; the kiosk asks too."""
    retain_seconds: Annotated[float, Meta(ge=0, le=604_800)] = 3600.0
    """How long the record of an ended ticket is kept."""
    closed_message: Message = ""
    """What the page says while the queue takes nobody."""
    message: Message = ""
    """What everyone who waits is shown."""
    notices: tuple[NoticeKind, ...] = ()
    """What people are told by text message and e-mail: any of `joined`, `nearly`, `called`, `returned`,
    `transferred`."""
    notice_place: Annotated[int, Meta(ge=1, le=100)] = 3
    """From which position on someone is told that it is nearly their turn."""
    opens_at: Annotated[str, Meta(max_length=40)] = ""
    """When a queue in maintenance means to open, as `2027-01-15T09:00:00Z`: the page says so."""
    logo: Source = ""
    """The page's logo: an image as a `data:` address, so that no browser has to ask the site for it."""
    accent_colour: Text = ""
    """The page's colour for what matters, as `#0b6bcb`."""
    background_colour: Text = ""
    """The page's background, as `#ffffff`; empty follows the reader's light or dark mode."""
    texts: dict[str, Message] = {}
    """Words of the page by name, such as `waiting_title`, or `waiting_title.de` for one language."""
    page_template: Source = ""
    """A whole own page, as a Jinja2 template."""

    @property
    def stock_unknown(self) -> bool:
        """Whether the stock is still to be had from `stock_url`: nobody is let in until it is."""
        return self.stock_url is not None and self.stock is None

    @property
    def by_hand(self) -> bool:
        """Whether staff call people in, and nobody else lets them in."""
        return self.admission is _BY_HAND

    @property
    def is_walk_in(self) -> bool:
        """Whether people are called to a counter: staff call them, and there is no site for them to go on to."""
        return self.by_hand and not self.target_url

    @property
    def required(self) -> tuple[str, ...]:
        """What nobody is taken without, as fields of a join."""
        asked = (self.ask_name, self.ask_phone, self.ask_email, self.ask_party_size)
        return tuple(field for field, ask in zip(_ASKED, asked, strict=True) if ask is _REQUIRED)

    @property
    def calendar(self) -> Calendar:
        """Its days and its opening hours."""
        return Calendar(self.time_zone, self.opening_hours, self.closed_dates)

    @property
    def needs_calendar(self) -> bool:
        """Whether the time of the day decides anything."""
        return self.label_restart is LabelRestart.DAILY or any(self.opening_hours.values()) or bool(self.closed_dates)

    @property
    def bucket(self) -> float:
        """The most tokens the bucket holds."""
        return self.burst if self.burst is not None else max(1.0, self.admission_rate)


SETTINGS = QueueSettings.__struct_fields__
_TYPES = get_type_hints(QueueSettings, include_extras=True)


@lru_cache(maxsize=1024)
def queue_id(text: str) -> QueueId:
    """A checked queue id: it becomes part of keys and addresses."""
    if not _ID.fullmatch(text):
        rule = "1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        raise InvalidSettings("id", f"must be {rule}; got {text!r:.80}")
    return QueueId(text)


def checked(changes: dict[str, Any], base: QueueSettings | None = None) -> QueueSettings:
    """The settings after `changes`, or InvalidSettings that names the field and what it allows."""
    unknown = [field for field in changes if field not in SETTINGS]
    if unknown:
        name = str(unknown[0])[:80]
        hint = did_you_mean(name, SETTINGS) or " 'fairline queue set --help' lists them, and /docs of the server."
        raise InvalidSettings(name, f"is no setting of a queue.{hint}")
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


def stored_settings(found: dict[str, Any]) -> QueueSettings:
    """Settings as they were once kept: what is no setting any more is left out, and what is new has its default."""
    return msgspec.convert({name: found[name] for name in SETTINGS if name in found}, QueueSettings)


def _texts_in(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts_in(inner)]
    if isinstance(value, dict):
        return [text for pair in value.items() for text in _texts_in(pair)]
    return [value] if isinstance(value, str) else []


def check_text(field: str, text: str, error: type[Invalid] = InvalidSettings) -> None:
    """Refuse what no store can keep: NUL characters and halves of surrogate pairs."""
    if "\x00" in text:
        raise error(field, "must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(field, "must be proper Unicode; it has half of a surrogate pair") from None


def allowed(field: str) -> str:
    """What a setting may be, in words: 'must be a number from 0 to 100,000'."""
    hint = _TYPES.get(field)
    options = [option for option in getattr(hint, "__args__", (hint,)) if option is not type(None)]
    optional = len(options) < len(getattr(hint, "__args__", (hint,)))
    if hasattr(hint, "__metadata__") or getattr(hint, "__origin__", None) in (dict, tuple):
        options, optional = [hint], False
    base, meta = getattr(options[0], "__origin__", options[0]), getattr(options[0], "__metadata__", [Meta()])[0]
    words = _words(getattr(base, "__origin__", base), meta)
    if base is dict and getattr(hint, "__args__", ("", ""))[1] == Rules:
        words = "an object of lists of texts by their names"
    if hint == tuple[NoticeKind, ...]:
        words = f"a list of some of {', '.join(NoticeKind)}"
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
        return "an object of texts by their names"
    if base is tuple and meta.min_length is None:
        many = f"at most {meta.max_length} " if meta.max_length else ""
        return f"a list of {many}texts of at most 200 characters"
    return f"a list of {meta.min_length} numbers from 0 to 1"


def _field_of(error: msgspec.ValidationError) -> str:
    found = re.search(r"\$\.(\w+)", str(error))
    return found.group(1) if found else ""


def _check_together(settings: QueueSettings) -> None:
    """What each field allows by itself may still contradict another."""
    shares = settings.priority_skip
    if shares[0] != 0 or list(shares) != sorted(shares):
        raise InvalidSettings("priority_skip", f"must begin with 0 and never fall; got {list(shares)}")
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
            raise InvalidSettings("desks", f"must have names without space at the ends; got {name!r:.80}")
    _check_once("series", settings.series)
    _check_once("desks", settings.desks)
    if len(set(settings.notices)) < len(settings.notices):
        raise InvalidSettings("notices", f"must have each kind once; got {', '.join(settings.notices)}")
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
        raise InvalidSettings(field, f"must have each name once; got {', '.join(names):.200}")


class QueueSnapshot(Struct, frozen=True):
    """One queue at a moment, as the store saw it in the step that answered: what an estimate is made from."""

    now: int
    """The store's clock, in milliseconds."""
    stopped: int
    """How long this queue's clock has stood still in outages, in milliseconds; below 0 after the store's clock was set
    back: see docs/explanation/time.md."""
    version: int
    """Counts changes of the settings."""
    waiting: int
    admitted: int
    active: int
    completed: int
    stay_seconds: float
    """Mean stay of those who have left the inside; 0 while nobody has."""
    leave_rate: float
    """Share of the line that gives up each second."""
    call_rate: float
    """Admissions a second, measured."""
    out_rate: float = 0.0
    """Share of the inside that comes out each second, measured."""
    stays_seen: float = 0.0
    """How many were seen to come out, those long ago for less."""
    on_hold: int = 0
    """Those who wait but are put aside; they are not among `waiting`."""
    desks_open: int = 0
    """Desks that call, where staff do."""
    cycles: int = 0
    """Of how many calls the next is the mean."""
    cycle_seconds: float = 0.0
    """How long a desk takes from one call to the next while people wait; 0 while none was measured."""
    calls_seen: float = 0.0
    """How many admissions `call_rate` is measured from, those long ago for less."""

    @property
    def inside(self) -> int:
        """Those who take up room: let in and on the way, or inside."""
        return self.admitted + self.active

    def stock_left(self, stock: int | None) -> int | None:
        """What is left to sell: derived from states, never counted up or down."""
        return None if stock is None else stock - self.completed - self.inside

    def sold_out(self, stock: int | None) -> bool:
        """Whether all is sold for good: nobody inside can give anything back."""
        return stock is not None and self.completed >= stock
