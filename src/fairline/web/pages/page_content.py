"""What a page shows: one state of one queue for one reader, in words and numbers. Templates get this object."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from msgspec import UNSET, Struct, UnsetType

from fairline.domain.branding import LANGUAGES
from fairline.domain.next_start import NextStart, has_ended, next_start
from fairline.domain.opening import milliseconds
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Reason, Status
from fairline.web.api.wire import TicketAnswer
from fairline.web.pages.addresses import address, draw_url, form_url, page_url
from fairline.web.pages.languages import Language, catalogue
from fairline.web.pages.live_words import LIVE_WORDS, START_WORDS
from fairline.web.pages.start import Start, countdown, with_time

#: In these states the visitor is in line, or about to be. The script keeps the page up to date.
IN_LINE = frozenset({"joining", "prequeue", "drawing", "waiting", "on_hold", "paused", "admitted"})
#: In these states the page checks again automatically.
MAY_CHANGE = frozenset({"not_open", "maintenance", "ended", "closed", "full", "sold_out", "limited", "trouble"})
#: In these states the page follows the state of the queue, and joins as soon as it takes people.
FOLLOWS = frozenset({"not_open", "maintenance", "ended"})
#: In these states the page looks again soon and says when, and a button may look at once.
SOON_AGAIN = frozenset({"full", "limited", "trouble"})
#: Where there are no scripts, a page loads itself again so soon while the order is drawn.
DRAWING_REFRESH_SECONDS = 3.0
#: The state for the reason of an end, if it has its own texts.
_ENDS = {
    Reason.LEFT: "expired_left",
    Reason.CLAIM_TIMEOUT: "expired_claim",
    Reason.NO_SHOW: "expired_claim",
    Reason.CANCELLED: "expired_removed",
    Reason.TERMINATED: "expired_removed",
    Reason.REVOKED: "expired_removed",
    Reason.CLOSED: "expired_closed",
}


class Choice(Struct, frozen=True):
    """A language that the reader can choose."""

    code: str
    name: str
    url: str
    current: bool


class PageContent:
    """A page before it is drawn. Templates may use what is public; docs/reference/waiting-page.md describes it."""

    def __init__(
        self,
        state: str,
        queue: str,
        language: str,
        settings: QueueSettings | None = None,
        ticket: TicketAnswer | None = None,
        *,
        go_url: str = "",
        back_to: str = "",
        retry_after: float | None = None,
        opens: datetime | None = None,
        start: NextStart | None = None,
        now: int | None = None,
        early: bool = False,
        closed: bool = False,
        path: str = "",
    ) -> None:
        settings = settings or QueueSettings()
        self.state = state
        self.queue = queue
        self.name = settings.name or (queue if state != "unknown" else "")
        self.walk_in = settings.is_walk_in
        self.words = Language(language, settings.texts, walk_in=self.walk_in)
        self.lang = language
        self.dir = self.words.direction
        self.logo = settings.logo
        self.go_url = go_url
        self._back_to = back_to
        self._path = path or f"/q/{quote(queue, safe='')}"
        self._early = early
        self._closed = closed
        self._groups = settings.group_size > 0 and state in IN_LINE
        self._must_stay = settings.heartbeat_timeout_seconds > 0
        self._closed_minutes = int(settings.closed_page_seconds // 60)
        self.ticket = ticket
        self.group = ""
        """The code of the group that the visitor is about to join."""
        self.message = settings.message if state in IN_LINE else settings.closed_message or settings.message
        self.retry_seconds = retry_after
        if start is None and state == "not_open":
            start = next_start(settings)
        self.start = Start(queue, self.words, start, now) if start is not None else None
        self.now = now if now is not None else round(time.time() * 1000)
        self._opens = opens
        self.has_ended = has_ended(settings)
        self._joins_at_once = not settings.needs_form and not settings.require_user_token

    @property
    def in_line(self) -> bool:
        """Whether the reader is in line, or about to be."""
        return self.state in IN_LINE

    @property
    def may_change(self) -> bool:
        """Whether the state may change soon."""
        return self.state in MAY_CHANGE

    @property
    def live(self) -> bool:
        """Whether the script keeps the page up to date: in line, and in a walk-in line until the person is served."""
        return self.in_line or (self.walk_in and self.state == "inside")

    @property
    def soon_again(self) -> bool:
        """Whether the page looks again so soon that it says when."""
        return self.state in SOON_AGAIN

    @property
    def kept(self) -> str:
        """How long the place is kept after the page was closed, in words; empty if that is not limited, or short."""
        if self.walk_in or not self.in_line or not self._must_stay or not self._closed_minutes:
            return ""
        return self.words.count("kept_minutes", self._closed_minutes)

    @property
    def checks_again(self) -> bool:
        """Whether the page checks automatically if its state has changed."""
        return self.may_change or (self.retry_seconds is not None and not self.live)

    @property
    def needs(self) -> str:
        """The text without which the page is useless: an own template that does not draw it is not used."""
        return ""

    @property
    def rejoins(self) -> bool:
        """Whether to offer a new place to a visitor without one; not in a walk-in line that is closed."""
        return self.state in ("expired", "finished", "link_used") and not (self.walk_in and self._closed)

    @property
    def title(self) -> str:
        """The heading."""
        if self.state == "waiting" and self.ticket is not None and self.ticket.position == 1:
            return self.words("next")
        return self.words(f"{self._end}_title")

    @property
    def sign(self) -> str:
        """What the picture above the heading shows."""
        return self._end

    @property
    def text(self) -> Markup | str:
        """The text below the heading."""
        if self.state == "leaving":
            until = self.ticket.held_until if self.ticket else UNSET
            return self._at("leaving_text", until) if isinstance(until, datetime) else ""
        if self.state == "prequeue" and self.start is not None:
            return self._at(f"{self._end}_text", self.start.orders_at)
        if self.state == "not_open" and self.start is not None and self.start.opening:
            return self.start.text
        if self.state == "admitted" and not self.go_url:
            return self.words("admitted_called")
        if self.state == "closed" and self._early:
            return self.words("closed_early")
        if self.state == "waiting" and self.walk_in and self._must_stay:
            return self.words("waiting_stay")
        return self.words(f"{self._end}_text")

    @property
    def _end(self) -> str:
        if self.state == "prequeue" and self.start is not None and self.start.draws:
            return "prequeue_draw"
        if self.state == "paused" and self.has_ended:
            return "ended"
        reason = self.ticket.reason if self.ticket is not None and self.state == "expired" else UNSET
        return _ENDS.get(reason, self.state) if isinstance(reason, Reason) else self.state

    @property
    def position(self) -> str:
        """The position in line, with separators; empty unless waiting."""
        position = self.ticket.position if self.ticket else None
        return self.words.number(position) if position else ""

    @property
    def ahead(self) -> str:
        """The number of people ahead, in words."""
        return self.words.ahead(self.ticket.position) if self.ticket and self.ticket.position else ""

    @property
    def behind(self) -> str:
        """The number of people behind, in words."""
        if self.ticket is None or not self.ticket.position:
            return ""
        return self.words.behind(self.ticket.queue_length - self.ticket.position)

    @property
    def wait(self) -> str:
        """The estimated wait, in words."""
        ticket = self.ticket
        if ticket is None or not ticket.position:
            return ""
        if ticket.estimated_wait_range is not None:
            return self.words.wait(ticket.estimated_wait_range)
        least, pace = ticket.estimated_wait_at_least_seconds, ticket.people_per_minute
        return self.words.no_wait(least or 0, pace or 0)

    @property
    def label(self) -> str:
        """The label of the ticket."""
        return self.ticket.label if self.ticket else ""

    @property
    def label_parts(self) -> tuple[str, str]:
        """The label in two parts: the prefix of the queue, and the part that is called out."""
        head, dash, tail = self.label.rpartition("-")
        return head + dash, tail

    @property
    def desk(self) -> str:
        """Where to go after the call, in words; empty if staff did not name a desk."""
        return self.words("desk", desk=self.desk_name) if self.desk_name else ""

    @property
    def steps_back(self) -> bool:
        """Whether there is a next person to let go first."""
        ticket = self.ticket
        return bool(self.walk_in and ticket and ticket.position and ticket.position < ticket.queue_length)

    @property
    def desk_name(self) -> str:
        """The name of the desk."""
        name = self.ticket.desk if self.ticket else UNSET
        return name if isinstance(name, str) else ""

    @property
    def ticket_url(self) -> str:
        """The address of the page that shows the number."""
        return page_url(self.queue, self.lang)

    @property
    def move_url(self) -> str:
        """The address of the page with the code that moves the number to another device."""
        return self._marked("move")

    @property
    def together_url(self) -> str:
        """The address of the page with the link of the reader's group; empty where nobody can join one."""
        return self._marked("together") if self._groups and not self.draw_url else ""

    @property
    def form_url(self) -> str:
        """The address of the form."""
        return form_url(self.queue, self.lang)

    @property
    def opens(self) -> Markup | str:
        """When the queue opens, in words."""
        if self.start is not None:
            return self.start.starts
        return self._at("opens", self._opens) if self._opens is not None else ""

    @property
    def countdown(self) -> str:
        """How long it takes until then, in words or digits."""
        if self.start is not None:
            return self.start.countdown
        return countdown(self.words, (milliseconds(self._opens) - self.now) / 1000) if self._opens is not None else ""

    @property
    def held_back(self) -> bool:
        """Whether the reader is in line before the start, where there are no positions."""
        return self.state in ("prequeue", "drawing")

    @property
    def refresh_seconds(self) -> int:
        """After how many seconds a page in line loads itself again where there are no scripts."""
        usual = self.ticket.heartbeat_interval_seconds if self.ticket else DRAWING_REFRESH_SECONDS
        if self.state == "prequeue" and self.start is not None:
            return self.start.refresh_after(usual)
        return round(min(usual, DRAWING_REFRESH_SECONDS) if self.state == "drawing" else usual)

    @property
    def drawn(self) -> str:
        """What was drawn for this ticket, in words; empty if nothing was."""
        draw = self.ticket.draw if self.ticket else UNSET
        if isinstance(draw, UnsetType):
            return ""
        return self.words("drawn", rank=self.words.number(draw.rank), count=self.words.number(draw.count))

    @property
    def draw_url(self) -> str:
        """The address of the page about the draw; empty if nothing was drawn for this ticket."""
        draw = self.ticket.draw if self.ticket else UNSET
        return "" if isinstance(draw, UnsetType) else draw_url(draw.id, self.lang)

    @property
    def go_before(self) -> Markup | str:
        """Until when the place inside is kept, in words."""
        until = self.ticket.claim_before if self.ticket else UNSET
        return self._at("go_before", until) if isinstance(until, datetime) else ""

    def _at(self, name: str, moment: datetime) -> Markup:
        return with_time(self.words(name), moment)

    @property
    def url(self) -> str:
        """The address of the page itself, in its language."""
        return address(self._path, self.lang, self._back_to)

    @property
    def languages(self) -> list[Choice]:
        """The languages that the reader can choose."""
        return [
            Choice(code, str(catalogue(code)["language"]), self._in_language(code), code == self.lang)
            for code in LANGUAGES
        ]

    def _in_language(self, code: str) -> str:
        group = f"&{urlencode({'group': self.group})}" if self.group else ""
        return address(self._path, code, self._back_to) + group

    def _marked(self, mark: str) -> str:
        """The address of the page in a state that the browser knows of and the server does not."""
        return address(self._path, self.lang, self._back_to, mark)

    @property
    def follows(self) -> bool:
        """Whether the script follows the state of the queue, so that it joins as soon as that is possible."""
        return self.state in FOLLOWS

    @property
    def starts_ms(self) -> int | None:
        """To when the page counts down, in milliseconds since 1970."""
        if self.start is not None:
            return self.start.starts_at
        return milliseconds(self._opens) if self._opens is not None else None

    def script(self, client: str, start_script: str = "", **more: str) -> dict[str, Any]:
        """The data for the page's script; `more` has what a page in line needs in addition."""
        waits = self.ticket is not None and self.ticket.status is Status.WAITING
        texts = self.words.words(*(LIVE_WORDS if self.live else ("group", "again")))
        starts = self.start is not None or self._opens is not None or self.follows
        if starts:
            texts |= self.words.words(*START_WORDS)
        if self.has_ended:
            texts |= {"paused_title": self.words("ended_title"), "paused_text": self.words("ended_text")}
        if self.live and self.walk_in and self._must_stay:
            texts["waiting_text"] = self.words("waiting_stay")
        return {
            "client": client if self.live else "",
            "queue": self.queue,
            "name": self.name,
            "state": self.state,
            "walk_in": self.walk_in,
            "back": self._back_to,
            "left": self._marked("left"),
            "elsewhere": self._marked("elsewhere"),
            "message": self.message,
            "lang": self.lang,
            "retry": self.retry_seconds,
            "ticket": self.ticket if waits else None,
            "status": self.ticket.status if self.ticket is not None else None,
            "texts": texts,
            "now": self.now,
            "starts": self.starts_ms,
            "follows": self.follows,
            "joins": self._joins_at_once,
            "start": start_script if starts else "",
            **(more if self.live else {}),
        }
