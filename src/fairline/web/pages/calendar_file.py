"""The next start of a queue as a file for calendars (iCalendar, RFC 5545)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from fairline.domain.next_start import NextStart, next_start
from fairline.errors import NotFound
from fairline.web.api.people import named_queue
from fairline.web.pages.addresses import page_url
from fairline.web.pages.languages import Language, preferred
from fairline.web.pages.page_access import PageAccess
from fairline.web.server.http import Request, Response

MEDIA = "text/calendar; charset=utf-8"
#: How long before the start the calendar reminds; but not before people can join.
REMINDER_MS = 600_000
#: How long an appointment is whose end is not planned.
USUAL_MS = 3_600_000
#: Of two files of a start, a calendar takes the one with the higher number, which must fit into 31 bits: the seconds
#: since 2025.
_COUNTED_FROM_MS = 1_735_689_600_000
#: Bytes of a line; a longer one continues on the next.
_LINE = 75


class CalendarFiles:
    """The file at /q/{queue}/opening.ics."""

    def __init__(self, access: PageAccess) -> None:
        self._access = access

    async def next_start(self, request: Request) -> Response:
        """The next start, or 404 if none is planned."""
        queue = named_queue(request.params["queue"])
        snapshot, settings = await self._access.service.snapshot(queue)
        start = next_start(settings)
        if start is None or start.starts_at <= snapshot.now:
            raise NotFound(f"Queue {queue!r} has no start that is to come.")
        words = Language(preferred(request), settings.texts, walk_in=settings.is_walk_in)
        context = self._access.context
        page = context.base_url(request) + page_url(queue, words.code)
        name = ": ".join(filter(None, (settings.name or queue, start.opening.name if start.opening else "")))
        file = calendar(queue, name, page, start, snapshot.now)
        named = f'inline; filename="{queue}.ics"'.encode()
        headers = ((b"cache-control", b"no-store"), (b"content-disposition", named))
        return Response(200, file.encode(), MEDIA.encode(), headers)


def calendar(queue: str, name: str, page: str, start: NextStart, now: int) -> str:
    """The file, as it is at a moment."""
    ends = start.opening.ends_ms if start.opening else None
    reminds = max(start.joins_at if start.has_prequeue else 0, start.starts_at - REMINDER_MS)
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Fairline//Openings//EN",
        "METHOD:PUBLISH",
        "BEGIN:VEVENT",
        f"UID:{queue}.{start.opening.id if start.opening else 'opens_at'}@fairline",
        f"SEQUENCE:{(now - _COUNTED_FROM_MS) // 1000}",
        f"DTSTAMP:{_moment(now)}",
        f"DTSTART:{_moment(start.starts_at)}",
        f"DTEND:{_moment(ends or start.starts_at + USUAL_MS)}",
        f"SUMMARY:{_text(name)}",
        f"DESCRIPTION:{_text(page)}",
        f"URL:{page}",
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        f"DESCRIPTION:{_text(name)}",
        f"TRIGGER;VALUE=DATE-TIME:{_moment(reminds)}",
        "END:VALARM",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return "".join(f"{part}\r\n" for line in lines for part in _folded(line))


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(text: str) -> str:
    """A text with the characters escaped that mean something in the file. Line breaks and other control characters
    would end the line."""
    plain = "".join(" " if ord(letter) < 32 or letter == "\x7f" else letter for letter in text)
    for letter in "\\;,":
        plain = plain.replace(letter, "\\" + letter)
    return plain


def _folded(line: str) -> Iterator[str]:
    """A line in parts that are short enough; all but the first begin with a blank."""
    part, size = "", 0
    for letter in line:
        length = len(letter.encode())
        if size + length > _LINE:
            yield part
            part, size = " ", 1
        part, size = part + letter, size + length
    yield part
