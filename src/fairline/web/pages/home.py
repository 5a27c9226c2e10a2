"""The page at `/`: it says what this server is, and names no queue."""

from __future__ import annotations

from fairline.domain.queue_settings import QueueSettings
from fairline.web.pages.drawing import Drawing
from fairline.web.pages.languages import preferred
from fairline.web.pages.page_content import PageContent
from fairline.web.server.http import Request, Response
from fairline.web.server.problems import problem

_SETTINGS = QueueSettings(name="Fairline")


class HomePage:
    """A page for browsers; a program gets 404."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing

    async def show(self, request: Request) -> Response:
        """What this server is, with links for staff and developers."""
        if "text/html" not in (request.text(b"accept") or ""):
            return problem("not_found", "There is nothing at /. See /docs for what there is.", request.id)
        return await self._drawing.draw(PageContent("home", "", preferred(request), _SETTINGS, path="/"), 200, None)
