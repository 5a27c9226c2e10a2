"""The operations of the pages for people."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from fairline.web.description.page import HTML
from fairline.web.pages.arrived import ArrivalPages
from fairline.web.pages.board import BoardPages
from fairline.web.pages.calendar_file import MEDIA, CalendarFiles
from fairline.web.pages.draw_page import DrawPages
from fairline.web.pages.home import HomePage
from fairline.web.pages.joining import JoinPages
from fairline.web.pages.kiosk import KioskPages
from fairline.web.pages.qr_codes import COLOUR, LARGEST, SMALLEST, USUAL
from fairline.web.pages.waiting import WaitingPages
from fairline.web.server.compression import Compression
from fairline.web.server.operations import JOIN_REFUSALS, TOKEN_COOKIE, UNNAMED, Operation, Query

_Colour = Annotated[str, Meta(pattern=f"^({COLOUR.pattern})?$")]
_LANGUAGE = Query("lang", str, "the language: en, ko, es, fr, de, ja, pt or ar; otherwise the browser's")

_USER = Query("user_token", str, "who the visitor is, signed by their site: it goes into a cookie")
_page = partial(Operation, group="pages", answers={200: str}, media=HTML, query=(_LANGUAGE,), any_query=True)


def page_operations(
    home: HomePage,
    board: BoardPages,
    waiting: WaitingPages,
    arrival: ArrivalPages,
    joining: JoinPages,
    kiosk: KioskPages,
    draws: DrawPages,
    calendars: CalendarFiles,
) -> list[Operation]:
    """The board, the pages on people's devices, and the kiosk."""
    return [
        _page(
            "GET /",
            "What this server is, for a browser; 404 for a program.",
            slow=home.show,
            compression=Compression.EACH,
            problems=("not_found",),
            store=False,
        ),
        _page(
            "GET /board/{queues}",
            "The board: the screen at the desks, of one queue or several.",
            slow=board.show,
            compression=Compression.EACH,
            query=(_LANGUAGE, Query("theme", str, "`light`, `dark` or `contrast`; otherwise the browser's")),
            problems=("queue_not_found", "invalid_request"),
        ),
        *_waiting(waiting),
        *_arrival(arrival),
        *_joining(joining),
        *_kiosk(kiosk),
        _page(
            "GET /draws/{draw}",
            "What is published of a draw, for people: they can check it in their browser, and see their receipt.",
            slow=draws.show,
            compression=Compression.FOR_STRANGERS,
            problems=("draw_not_found",),
        ),
        _page(
            "GET /q/{queue}/opening.ics",
            "The next start of a queue as a file for calendars.",
            slow=calendars.next_start,
            media=MEDIA,
            problems=("queue_not_found", "not_found"),
        ),
    ]


def _waiting(waiting: WaitingPages) -> list[Operation]:
    return [
        _page(
            "GET /q/{queue}",
            "The waiting page. In a walk-in line, a visitor without a number is redirected to the form.",
            slow=waiting.show,
            compression=Compression.FOR_STRANGERS,
            answers={200: str, 303: None},
            query=(_LANGUAGE, _USER, Query("move", str, "shows the code that moves the number to another device")),
            sends={303: {"Location": "The form, or the page of the queue that the ticket was transferred to."}},
            problems=(*JOIN_REFUSALS, *UNNAMED, "ticket_expired"),
        ),
        _page(
            "POST /q/{queue}",
            "The forms of the waiting page: `do` is `join`, `step_back` or `leave`.",
            slow=waiting.act,
            answers={303: None},
            sends={303: {"Location": "The waiting page.", **TOKEN_COOKIE}},
            problems=(*JOIN_REFUSALS, *UNNAMED, "already_in_line", "rate_limited"),
        ),
    ]


def _arrival(arrival: ArrivalPages) -> list[Operation]:
    return [
        _page(
            "GET /arrived/{queue}",
            "Stands in for the site of a queue. A visitor without a session token is redirected to the line.",
            slow=arrival.show,
            answers={200: str, 303: None},
            query=(_LANGUAGE, Query("fairline_session", str, "the session token: it goes into a cookie")),
            sends={
                303: {
                    "Location": "The page without the session token, or the line.",
                    "Set-Cookie": "The session token.",
                }
            },
            problems=("queue_not_found",),
        ),
        _page(
            "POST /arrived/{queue}",
            "The form of that page: `do` is `leave`.",
            slow=arrival.leave,
            answers={303: None},
            sends={303: {"Location": "The waiting page."}},
            problems=("queue_not_found",),
        ),
    ]


def _joining(joining: JoinPages) -> list[Operation]:
    ticket = {"Location": "The ticket's page."}
    return [
        _page(
            "GET /join/{queue}",
            "The form for taking a number.",
            slow=joining.show,
            compression=Compression.FOR_STRANGERS,
            answers={200: str, 303: None},
            sends={303: ticket},
            query=(_LANGUAGE, _USER),
            problems=(*JOIN_REFUSALS, *UNNAMED),
        ),
        _page(
            "POST /join/{queue}",
            "The form, sent: `name`, `phone`, `party_size`, `series` and the `key` it came with.",
            slow=joining.join,
            answers={303: None},
            sends={303: ticket | TOKEN_COOKIE},
            problems=(
                *JOIN_REFUSALS,
                *UNNAMED,
                "invalid_request",
                "already_in_line",
                "idempotency_conflict",
                "rate_limited",
            ),
        ),
        _page(
            "GET /join/{queue}/qr.svg",
            "The address of the form as a QR code.",
            slow=joining.code,
            compression=Compression.EACH,
            media="image/svg+xml",
            any_query=False,
            query=(
                Query(
                    "size",
                    Annotated[int, Meta(ge=SMALLEST, le=LARGEST)],
                    f"width and height in pixels; {USUAL} by default",
                ),
                Query(
                    "colour",
                    _Colour,
                    "such as 0b6bcb, dark enough for a camera; black by default",
                ),
            ),
            problems=("queue_not_found", "invalid_request"),
        ),
        _page(
            "GET /join/{queue}/poster",
            "A poster to print: the name, the QR code and what to do.",
            slow=joining.poster,
            compression=Compression.EACH,
            query=(Query("lang", str, "one or more languages, such as `de,fr`; otherwise the browser's"),),
            problems=("queue_not_found",),
        ),
        _page(
            "GET /join/{queue}/move",
            "The page of the link that moves a number to another device.",
            slow=joining.show_move,
            problems=("queue_not_found",),
        ),
        _page(
            "POST /join/{queue}/move",
            "Move the number of a `code` to this device.",
            slow=joining.move,
            answers={303: None},
            sends={303: ticket | TOKEN_COOKIE},
            problems=("queue_not_found", "ticket_expired", "already_in_line"),
        ),
    ]


def _kiosk(kiosk: KioskPages) -> list[Operation]:
    return [
        _page(
            "GET /join/{queue}/kiosk",
            "The kiosk: a page for a tablet at the door, once its link has activated it.",
            slow=kiosk.show,
            answers={200: str, 303: None},
            query=(_LANGUAGE, Query("token", str, "of the link that staff have created")),
            sends={303: {"Location": "The kiosk.", "Set-Cookie": "The token of the kiosk."}},
            problems=(*JOIN_REFUSALS, "forbidden"),
        ),
        _page(
            "POST /join/{queue}/kiosk",
            "Take a number at the kiosk: `series`, `party_size` and the `key` of the press.",
            slow=kiosk.take,
            answers={201: str, 200: str, 303: None},
            sends={303: {"Location": "The kiosk."}},
            problems=(*JOIN_REFUSALS, "forbidden", "invalid_request", "rate_limited"),
        ),
    ]
