"""A small shop that would fall over in a rush, and sells one thing of which there is little.

It knows two things of Fairline: who asks (the gate in front of it says so in `X-Fairline-Ticket`, or the middleware in
the scope), and that it has to say when someone is done: `complete` after a purchase, `leave` when they go without one.
"""

from __future__ import annotations

import asyncio
import html
import urllib.error
import urllib.request
from collections import Counter

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/shop.css"><main><h1>{title}</h1>{body}</main></html>"""
STYLE = """body{font:18px/1.5 system-ui,sans-serif;margin:0;background:#faf7f2;color:#2b2118}
main{max-width:34rem;margin:12vh auto;padding:0 1.5rem}h1{font-size:2rem;margin:0 0 .5rem}
form{display:inline-block;margin:1rem .6rem 0 0}button{font:inherit;padding:.7em 1.4em;border-radius:.5em;border:0}
button[name=buy]{background:#8a3b12;color:#fff}small{color:#6b5d50}
@media(prefers-color-scheme:dark){body{background:#1d1813;color:#f3ebe2}small{color:#b3a494}}"""


def _ticket(request: Request) -> str:
    """Who asks: by the middleware, if that is our gate, or by the header of the proxy that is."""
    visit = request.scope.get("fairline")
    return str(visit.ticket) if visit is not None else request.headers.get("x-fairline-ticket", "")


def _visit(request: Request) -> tuple[str, str]:
    """Which visit this is: the ticket, and the session token, which the gate has checked."""
    return _ticket(request), request.cookies.get("fairline_session", "")


class Shop:
    """Sells `stock` lamps. Who is inside is known by their session token."""

    def __init__(self, fairline: str, stock: int) -> None:
        self._fairline = fairline.rstrip("/")
        self._left = stock
        self._inside: set[tuple[str, str]] = set()
        self._left_again: set[tuple[str, str]] = set()
        self.most_inside = 0
        self.sold: Counter[tuple[str, str]] = Counter()
        self.app = Starlette(
            routes=[
                Route("/", self.front),
                Route("/lamp", self.front),
                Route("/buy", self.buy, methods=["POST"]),
                Route("/leave", self.leave, methods=["POST"]),
                Route("/static/shop.css", self.style),
                Route("/report", self.report),
            ]
        )

    async def front(self, request: Request) -> Response:
        """The one page there is."""
        visit = _visit(request)
        if visit in self._left_again:
            return HTMLResponse(
                PAGE.format(title="Goodbye", body="<p>You have left. Join the line to come again.</p>"), 410
            )
        if visit[0]:  # a visit that needs no session token has no ticket
            self._inside.add(visit)
        self.most_inside = max(self.most_inside, len(self._inside))
        body = (
            "<p>Hand-made, numbered, and the last of their kind.</p>"
            '<form method="post" action="/buy"><button name="buy">Buy one</button></form>'
            '<form method="post" action="/leave"><button>Not today</button></form>'
            f"<p><small>You came in with ticket {html.escape(_ticket(request))}. "
            f"Asked for: {html.escape(str(request.url.path))}</small></p>"
        )
        return HTMLResponse(PAGE.format(title="One lamp each", body=body))

    async def buy(self, request: Request) -> Response:
        """Sell one, and say so: the place inside is free for the next."""
        visit = _visit(request)
        if self._left < 1 or self.sold[visit] or visit in self._left_again:
            return HTMLResponse(PAGE.format(title="Sorry", body="<p>There is none left for you.</p>"), 409)
        self._left -= 1
        self.sold[visit] += 1
        await self._done(visit, "complete")
        return HTMLResponse(PAGE.format(title="Thank you", body="<p>It is yours.</p>"))

    async def leave(self, request: Request) -> Response:
        """Someone goes without: the lamp they could have had goes to the next."""
        await self._done(_visit(request), "leave")
        return HTMLResponse(PAGE.format(title="Goodbye", body="<p>Come again.</p>"))

    async def _done(self, visit: tuple[str, str], how: str) -> None:
        self._inside.discard(visit)
        self._left_again.add(visit)
        await asyncio.to_thread(self._tell, how, visit[1])

    def _tell(self, how: str, session: str) -> None:
        headers = {"authorization": f"Bearer {session}"}
        call = urllib.request.Request(f"{self._fairline}/api/v1/session/{how}", headers=headers, method="POST")
        try:
            urllib.request.urlopen(call, timeout=5).close()
        except (urllib.error.URLError, TimeoutError):
            # The session ends by itself a little later. What was sold is sold.
            return

    async def style(self, request: Request) -> Response:
        """How it looks: an asset, which needs no session token."""
        return Response(STYLE, media_type="text/css")

    async def report(self, request: Request) -> Response:
        """What the shop saw, for those who watch."""
        return JSONResponse(
            {"sold": sum(self.sold.values()), "buyers": len(self.sold), "most_inside": self.most_inside}
        )
