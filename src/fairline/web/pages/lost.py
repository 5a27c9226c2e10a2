"""What a browser gets where there is nothing: the right address, if only a slash is wrong; else a page with ways on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from fairline.domain.queue_settings import QueueSettings
from fairline.web.pages.drawing import Drawing
from fairline.web.pages.languages import preferred
from fairline.web.pages.page_content import PageContent
from fairline.web.server.http import NO_STORE, Request, Response
from fairline.web.server.operations import Operation

_SETTINGS = QueueSettings(name="Fairline")
_SLASHES = re.compile("/{2,}")


class LostPages:
    """Answers for browsers only: a program gets problem+json."""

    def __init__(self, drawing: Drawing, rows: Iterable[Operation]) -> None:
        self._drawing = drawing
        pages = (row for row in rows if row.method == "GET" and row.media.startswith("text/html"))
        self._pages = [re.compile(re.sub(r"{\w+}", "[^/]+", row.path)) for row in pages]

    async def answer(self, request: Request) -> Response | None:
        """The answer to a browser that wants a page; None for a program."""
        if request.method not in ("GET", "HEAD") or "text/html" not in (request.text(b"accept") or ""):
            return None
        right = "/" + _SLASHES.sub("/", request.path).strip("/")
        if right != request.path and any(page.fullmatch(right) for page in self._pages):
            # Of the path alone: never of the Host header, and never to another site.
            where = quote(right, safe="/%").encode() + (b"?" + request.query if request.query else b"")
            return Response(307, headers=(*NO_STORE, (b"location", where)))
        content = PageContent("missing", "", preferred(request), _SETTINGS, path="/")
        return await self._drawing.draw(content, 404, None)
