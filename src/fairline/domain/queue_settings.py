"""The settings of a queue: each is defined here once, with its type, its range, its default and what it means.

The columns on PostgreSQL, the form of the dashboard, the help of `fairline queue set`, OpenAPI, `/docs` and the tables
in docs/reference/queue-settings.md are made from this. `settings_checks.py` checks values.

A `title` is the label of the form, where the name of the setting alone does not say enough. `allowed` says in words
what a setting allows, where its type does not, and `control` how the form asks for it.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from fairline.domain import bypass, calendar
from fairline.domain.address import IPV6_PREFIX
from fairline.domain.branding import MOST_TEXTS
from fairline.domain.calendar import Calendar
from fairline.domain.desk_name import LONGEST_NAME
from fairline.domain.notices import NoticeKind
from fairline.domain.opening import HELD_BACK, Opening, Phase
from fairline.domain.order import PriorityPolicy

#: The largest `max_queue_size`.
LONGEST_LINE = 10_000_000
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


def _allowed(words: str, control: str = "") -> Meta:
    return Meta(extra={"allowed": words, "control": control})


Text = Annotated[str, Meta(max_length=200)]
Message = Annotated[str, Meta(max_length=2000)]
Source = Annotated[str, Meta(max_length=10_000)]
Url = Annotated[Message, _allowed("an http:// or https:// address of at most 2,000 characters")]
Colour = Annotated[Text, _allowed("a colour, as # and six hexadecimal digits", "colour")]
Rules = tuple[Text, ...]
Share = Annotated[float, Meta(ge=0, le=1)]


class Settings(Struct, kw_only=True, forbid_unknown_fields=True, frozen=True):
    """All settings of one queue. `checked` refuses values that are out of range or contradict each other."""

    # General

    name: Text = ""
    """The name that people see; the id if it is empty."""
    target_url: Annotated[Url, Meta(title="Destination URL")] = ""
    """Where people go when they are let in, with the session token in the query."""
    status: QueueStatus = QueueStatus.ACTIVE
    """`paused` accepts joins and lets nobody in; `maintenance` accepts no joins."""
    retain_seconds: Annotated[float, Meta(ge=0, le=604_800, title="Keep the record of an ended ticket for")] = 3600.0
    """How long the record of an ended ticket is kept."""

    # Pace

    admission: Annotated[Admission, Meta(title="How people are let in")] = Admission.AUTO
    """`auto` lets people in automatically; with `manual`, staff call them."""
    admission_rate: Annotated[float, Meta(ge=0, le=100_000, title="Admission rate, people per second")] = 10.0
    """How many people are let in each second, at most; 0 lets nobody in."""
    burst: Annotated[float, Meta(ge=1, le=100_000, title="Most people let in at once after a quiet time")] | None = None
    """How many people may be let in at once after a time in which nobody waited for the rate; unset is the rate, but at
    least 1. While people wait for the rate, each tick lets in as many as the rate allows, even if `burst` is less."""
    max_active: Annotated[int, Meta(ge=1, le=10_000_000, title="Capacity inside")] = 1000
    """The most people inside, counting those who were let in and are on their way."""
    max_queue_size: Annotated[int, Meta(ge=1, le=LONGEST_LINE, title="Capacity in line")] = 50_000
    """The most people who wait: with this many in line, joins are refused with `queue_full`."""
    stock: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    """How much there is to sell in all; unset is unlimited."""
    stock_url: Annotated[Url, Meta(title="URL that answers the stock")] | None = None
    """An address that answers `{"seats": n}`, from which the stock is read while it is unset."""

    # Presence

    heartbeat_interval_seconds: Annotated[float, Meta(ge=1, le=3600, title="Heartbeat interval")] = 10.0
    """How often clients are asked to send a heartbeat."""
    heartbeat_timeout_seconds: Annotated[
        float, Meta(ge=0, le=86_400, title="Place is lost without a heartbeat for")
    ] = 60.0
    """How long a place is kept without a heartbeat, at least `heartbeat_interval_seconds`. 0 keeps it for ever, as in a
    walk-in line."""
    grace_seconds: Annotated[float, Meta(ge=0, le=3600, title="Extra grace")] = 30.0
    """Extra time on top of the timeout, and how long a place is kept after someone leaves the line, to undo it."""
    closed_page_seconds: Annotated[float, Meta(ge=0, le=86_400, title="Place is kept after the page closed")] = 300.0
    """How long a place is kept, at least, after its page was closed or put into the background."""
    claim_seconds: Annotated[float, Meta(ge=1, le=86_400, title="Time to come in")] = 300.0
    """How much time people have to come after they were let in."""
    session_seconds: Annotated[float, Meta(ge=1, le=604_800, title="Session ends without activity after")] = 3600.0
    """How long a session lasts without activity."""
    session_max_seconds: Annotated[float, Meta(ge=1, le=2_592_000, title="Longest session")] = 14_400.0
    """How long a session lasts at most; no less than `session_seconds`."""

    # People

    one_per: Annotated[OnePer, Meta(title="One place per")] = OnePer.CLIENT
    """What makes two arrivals the same person, who gets one place. A change applies to people who join after it."""
    require_user_token: Annotated[bool, Meta(title="Require a user token from your site")] = False
    """Accepts only people with a `user_token`, in which the site signs who they are. Staff may add others to the
    line."""
    join_limit_per_ip: Annotated[int, Meta(ge=0, le=100_000, title="Joins per address and minute")] = 20
    """How many joins a minute come from one address, at most; 0 is no limit."""
    join_limit_per_phone: Annotated[int, Meta(ge=0, le=1000, title="Joins per phone and hour")] = 3
    """How many joins an hour have the same phone number, at most; 0 is no limit."""
    join_limit_per_email: Annotated[int, Meta(ge=0, le=1000, title="Joins per e-mail address and hour")] = 3
    """How many joins an hour have the same e-mail address, at most; 0 is no limit. `ada+shop@` counts as `ada@`, and
    dots do not count at Gmail."""
    ipv6_prefix: Annotated[int, Meta(ge=32, le=128, title="Bits of IPv6 that count as one address")] = IPV6_PREFIX
    """How many bits of an IPv6 address count as one address, for `one_per` `ip` and `join_limit_per_ip`. 128 is a
    single address."""
    phone_region: Annotated[
        Text, _allowed("a country in two capital letters"), Meta(title="Country of phone numbers without +")
    ] = ""
    """The country, such as `KR`, whose phone numbers may be given without +; if it is empty, all numbers need +."""
    max_party_size: Annotated[int, Meta(ge=1, le=1000, title="Largest party")] = 20
    """The largest party; staff may add parties of up to 100."""
    group_size: Annotated[int, Meta(ge=0, le=20, title="Largest group that waits together")] = 0
    """How many people may wait as a group: each joins on a device of their own with the link of the first, they stand
    beside each other in line, and all go in together. 0 is off."""
    ask_name: Annotated[Ask, Meta(title="Ask for a name")] = Ask.OPTIONAL
    """Whether the join form asks for a name. Every join must have the details that are `required`, except joins by
    staff."""
    ask_phone: Annotated[Ask, Meta(title="Ask for a phone number")] = Ask.OPTIONAL
    """Whether the join form asks for a phone number."""
    ask_email: Annotated[Ask, Meta(title="Ask for an e-mail address")] = Ask.NO
    """Whether the join form asks for an e-mail address, to which notices are sent."""
    ask_party_size: Annotated[Ask, Meta(title="Ask for the number of people")] = Ask.NO
    """Whether the join form asks how many people come together. The kiosk asks too, with buttons for up to 20."""
    priority_policy: PriorityPolicy = PriorityPolicy.SKIP
    """`skip` moves a level ahead of a share of the line; `strict` serves higher levels first."""
    priority_skip: Annotated[
        tuple[Share, ...], Meta(min_length=4, max_length=4, title="Share of the line that each level skips")
    ] = (0.0, 0.1, 0.5, 1.0)
    """The share of the line that levels 0, 1, 2 and 3 go ahead of. The first is 0, and they never decrease."""

    # Labels

    ticket_prefix: Annotated[
        str, Meta(max_length=12, title="Prefix of labels, after R"), _allowed("at most 12 capital letters or digits")
    ] = ""
    """Follows the R at the start of every label: `OFF` makes `ROFF-000123`. If it is empty, the id of the queue in
    capitals does."""
    series: Annotated[
        Rules,
        Meta(max_length=20, title="Series of labels"),
        _allowed("a list of at most 20 names of 1 to 4 capital letters or digits, the last a letter"),
    ] = ()
    """The series in which labels are counted separately, such as `A` for `ROFF-A0123`. A join names one, or takes the
    first."""
    label_restart: Annotated[LabelRestart, Meta(title="Restart labels")] = LabelRestart.NEVER
    """`daily` counts labels from 1 again each day, by `time_zone`. Tickets that wait over midnight keep their label,
    and a new ticket may have the same: set `opening_hours` and `clear_after_minutes`, so that the line is empty by
    then."""

    # Opening hours

    time_zone: Annotated[Text, _allowed("the name of a time zone", "zone")] = "UTC"
    """The time zone of the queue, such as `Europe/Zurich`: its days and its opening hours are in it."""
    opening_hours: Annotated[
        dict[str, Rules],
        _allowed(f"an object with lists of at most {calendar.MOST_SPANS} spans by weekday", "hours"),
    ] = {}
    """When people can join, by weekday, such as `{"monday": ["09:00-12:30", "13:30-18:00"]}`; empty is always."""
    closed_dates: Annotated[
        Rules, Meta(title="Closed on"), _allowed(f"a list of at most {calendar.MOST_DATES} dates", "dates")
    ] = ()
    """Dates on which the queue is closed all day, such as `2027-12-25`."""
    close_early: Annotated[bool, Meta(title="Stop joins when the line would outlast the day")] = True
    """Accepts nobody whose turn would come after closing time even if all goes well."""
    clear_after_minutes: Annotated[int, Meta(ge=0, le=1440, title="Clear the line after closing, minutes")] | None = (
        None
    )
    """This many minutes after closing time, tickets that still wait end as `closed`; unset is never."""

    # Desks

    desks: Annotated[
        Rules, Meta(max_length=200), _allowed(f"a list of at most 200 names of 1 to {LONGEST_NAME} visible characters")
    ] = ()
    """The names of its desks: a call by any other desk is refused. If there are none, any name is accepted."""
    desk_idle_seconds: Annotated[
        float, Meta(ge=60, le=86_400, title="A desk counts as open after its last call for")
    ] = 900.0
    """A desk closes if it has not called anyone for this long."""
    wait_sample: Annotated[int, Meta(ge=3, le=200, title="Number of calls used to measure the wait")] = 20
    """How many of the last calls the wait is estimated from, where staff call."""
    usual_service_minutes: Annotated[float, Meta(ge=0, le=1440, title="Usual minutes for a person at a desk")] = 0.0
    """How long a person usually takes at a desk: the wait is estimated from it until enough calls were measured. 0 is
    not known, and then no wait is shown until desks have called a few times."""

    # Page

    message: Annotated[Message, Meta(title="Message to everyone who waits")] = ""
    """A message to everyone who waits."""
    closed_message: Annotated[Message, Meta(title="Message while closed")] = ""
    """What the page says while the queue accepts nobody."""
    opens_at: Annotated[str, Meta(max_length=40), _allowed("a time with its offset", "moment")] = ""
    """When a queue in maintenance opens by itself, such as `2027-01-15T09:00:00Z`; the page counts down to it."""
    logo: Annotated[
        Source,
        _allowed("a PNG, JPEG, WebP, GIF or SVG image as a data: address of at most 10,000 characters", "image"),
    ] = ""
    """The page's logo: an image as a `data:` address, so that browsers need no request to the site for it."""
    accent_colour: Colour = ""
    """The page's accent colour, such as `#0b6bcb`."""
    background_colour: Colour = ""
    """The page's background colour, such as `#ffffff`; if it is empty, it follows the reader's light or dark mode."""
    texts: Annotated[
        dict[str, Message],
        Meta(title="Texts of the page"),
        _allowed(f"an object with at most {MOST_TEXTS} texts by name, of at most 2,000 characters each", "texts"),
    ] = {}
    """Texts of the page and of the notices, in place of the built-in ones: by name, such as `waiting_title`, or
    `waiting_title.de` for one language."""
    page_template: Annotated[Source, Meta(title="Custom template")] = ""
    """A Jinja2 template that replaces the whole page, tried before it is saved."""

    # Gate

    passthrough: Annotated[bool, Meta(title="Let people straight in while nobody waits")] = False
    """At the gate, visitors without a session token pass straight through while nobody waits and there is capacity."""
    bypass_paths: Annotated[
        Rules,
        Meta(title="Paths that need no session token"),
        _allowed(f"a list of at most {bypass.MOST} patterns"),
    ] = ()
    """Paths that need no session token at the gate, as patterns such as `/static/*`."""
    bypass_agents: Annotated[
        Rules,
        Meta(title="User agents that need no session token"),
        _allowed(f"a list of at most {bypass.MOST} parts of names, of {bypass.SHORTEST_AGENT} letters or more"),
    ] = ()
    """User agents that need no session token at the gate, by a part of their name. Any client can send any name."""
    bypass_addresses: Annotated[
        Rules,
        Meta(title="IP addresses that need no session token"),
        _allowed(f"a list of at most {bypass.MOST} addresses or networks"),
    ] = ()
    """Addresses or networks that need no session token at the gate, such as `10.0.0.0/8`."""

    # Notices

    notices: Annotated[tuple[NoticeKind, ...], Meta(title="Notify people when")] = ()
    """Which notices are sent by text message and e-mail."""
    notice_place: Annotated[int, Meta(ge=1, le=100, title="Nearly their turn from position")] = 3
    """From which position people receive the notice that it is nearly their turn."""

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
    def needs_form(self) -> bool:
        """Whether the queue gives places only through the form."""
        return self.is_walk_in or bool(self.required)

    @property
    def has_join_form(self) -> bool:
        """Whether anyone can take a place with the form: it is what a queue needs, and no site has to name its users
        first."""
        return self.needs_form and not self.require_user_token

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


class QueueSettings(Settings, frozen=True, kw_only=True):
    """The settings of one queue with its openings, which are kept and have versions together."""

    openings: tuple[Opening, ...] = ()
    """The scheduled starts, by when they begin."""
    phase: Phase = Phase.NONE
    """What the opening in progress does to the queue; empty if there is none."""

    @property
    def held_back(self) -> bool:
        """Whether nobody is let in, called or given a position now, because an opening has not started yet."""
        return self.phase in HELD_BACK


SETTINGS = Settings.__struct_fields__
