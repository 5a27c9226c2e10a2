"""What a page shows: one state of one queue for one reader, in words and figures. Templates are given this."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape
from msgspec import UNSET, Struct

from fairline.look import LANGUAGES, opening_time
from fairline.queue import QueueSettings
from fairline.ticket import Reason, Status
from fairline.web.pages.languages import Language, catalogue
from fairline.web.wire import TicketAnswer

#: In these someone is in line, or about to be: the page goes on living by its script.
IN_LINE = frozenset({"joining", "waiting", "paused", "admitted"})
#: In these it is worth looking again, and the page does so by itself.
MAY_CHANGE = frozenset({"held", "not_open", "maintenance", "closed", "full", "sold_out", "limited", "trouble"})
#: What the page's script says live, beside the titles.
_LIVE_WORDS = (
    "group",
    "waiting_title",
    "waiting_text",
    "paused_title",
    "paused_text",
    "admitted_title",
    "elsewhere_text",
    "limited_text",
    "trouble_text",
    "next",
    "behind",
    "behind_none",
    "wait_soon",
    "wait_minutes",
    "wait_hours",
    "wait_long",
    "wait_unknown",
    "grew_priority",
    "grew_slower",
    "heard_live",
    "heard_seconds",
    "heard_minutes",
    "heard_lost",
    "heard_offline",
    "announce",
)
#: Why a place ended, where the page has words of its own for it.
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
    """A language one can switch to."""

    code: str
    name: str
    url: str
    current: bool


class Sight:
    """A page before it is drawn. What a template may use is public, and described in docs/reference/waiting-page.md."""

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
    ) -> None:
        settings = settings or QueueSettings()
        self.state = state
        self.queue = queue
        self.name = settings.name or (queue if state != "unknown" else "")
        self.words = Language(language, settings.texts)
        self.lang = language
        self.dir = self.words.direction
        self.logo = settings.logo
        self.go_url = go_url
        self._back_to = back_to
        self.ticket = ticket
        self.message = settings.message if state in IN_LINE else settings.closed_message or settings.message
        self.retry_seconds = retry_after
        if opens is None and state == "not_open":
            opens = opening_time(settings.opens_at)
        self._opens = opens

    @property
    def in_line(self) -> bool:
        """Whether the reader is in line, or about to be."""
        return self.state in IN_LINE

    @property
    def may_change(self) -> bool:
        """Whether looking again may show something else."""
        return self.state in MAY_CHANGE

    @property
    def title(self) -> str:
        """The heading."""
        if self.state == "waiting" and self.ticket is not None and self.ticket.position == 1:
            return self.words("next")
        return self.words(f"{self._end}_title")

    @property
    def text(self) -> str:
        """What is said below it."""
        if self.state == "admitted" and not self.go_url:
            return self.words("admitted_called")
        return self.words(f"{self._end}_text")

    @property
    def _end(self) -> str:
        reason = self.ticket.reason if self.ticket is not None and self.state == "expired" else UNSET
        return _ENDS.get(reason, self.state) if isinstance(reason, Reason) else self.state

    @property
    def position(self) -> str:
        """The rank in line as one writes it; empty unless waiting."""
        position = self.ticket.position if self.ticket else None
        return self.words.number(position) if position else ""

    @property
    def behind(self) -> str:
        """How many are behind, in words."""
        if self.ticket is None or not self.ticket.position:
            return ""
        return self.words.behind(self.ticket.queue_length - self.ticket.position)

    @property
    def wait(self) -> str:
        """The estimated wait, in words."""
        return self.words.wait(self.ticket.estimated_wait_range) if self.ticket and self.ticket.position else ""

    @property
    def label(self) -> str:
        """The ticket's number as a counter prints it."""
        return self.ticket.label if self.ticket else ""

    @property
    def opens(self) -> Markup | str:
        """When it opens, in words."""
        return self._at("opens", self._opens) if self._opens is not None else ""

    @property
    def go_before(self) -> Markup | str:
        """Until when the place inside is held, in words."""
        until = self.ticket.claim_before if self.ticket else UNSET
        return self._at("go_before", until) if isinstance(until, datetime) else ""

    def _at(self, name: str, moment: datetime) -> Markup:
        moment = moment.astimezone(UTC)
        # The script puts the reader's own time in place of this one.
        shown = Markup('<time datetime="{}">{}</time>').format(
            moment.isoformat(), moment.strftime("%Y-%m-%d %H:%M UTC")
        )
        return Markup(str(escape(self.words(name))).replace("{time}", str(shown)))

    @property
    def url(self) -> str:
        """The page's own address, in the language it is in."""
        return page_url(self.queue, self.lang, self._back_to)

    @property
    def languages(self) -> list[Choice]:
        """The languages one can switch to."""
        return [
            Choice(code, str(catalogue(code)["language"]), page_url(self.queue, code, self._back_to), code == self.lang)
            for code in LANGUAGES
        ]

    def script(self, client: str) -> dict[str, Any]:
        """What the page's script is told."""
        waits = self.ticket is not None and self.ticket.status is Status.WAITING
        return {
            "client": client,
            "queue": self.queue,
            "name": self.name,
            "state": self.state,
            "back": self._back_to,
            "lang": self.lang,
            "retry": self.retry_seconds,
            "ticket": self.ticket if waits else None,
            "texts": self.words.words(*_LIVE_WORDS) if self.in_line else {},
        }


def page_url(queue: str, lang: str = "", back_to: str = "") -> str:
    """The address of a queue's waiting page; `back_to` is the address of the site that someone asked for."""
    query = {name: value for name, value in (("lang", lang), ("return", back_to)) if value}
    return f"/q/{quote(queue, safe='')}" + (f"?{urlencode(query)}" if query else "")
