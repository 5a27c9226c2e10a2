"""The board: a screen that shows in large letters who is called to which desk.

The server draws the frame and sends what the board shows now. The page's script draws it, and keeps it up to date for
as long as the screen is on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import FairlineError, InvalidRequest, QueueNotFound, StoreError
from fairline.web.api.boards import Boards, Follower, named_queues
from fairline.web.pages.colours import board_style
from fairline.web.pages.languages import Language, preferred
from fairline.web.pages.page_access import PageAccess
from fairline.web.pages.qr_codes import embedded
from fairline.web.server.assets import Assets
from fairline.web.server.http import Request, Response, wants_json
from fairline.web.server.problems import PROBLEMS, failure

THEMES = ("light", "dark", "contrast")
#: After this time a screen without a queue checks again.
LOOK_AGAIN_SECONDS = 15
#: The texts that the page's script needs.
_LIVE_WORDS = (
    "group",
    "board_waiting",
    "board_waiting_none",
    "board_call",
    "board_call_here",
    "board_sound_on",
    "board_sound_off",
    "board_lost",
    "board_lost_text",
    "board_trouble",
    "board_trouble_text",
    "board_serving",
    "board_called",
    "wait_label",
    "wait_soon",
    "wait_minutes",
    "wait_hours",
    "wait_long",
    "wait_unknown",
    "paused_title",
    "maintenance_title",
    "closed_title",
)


class BoardPages:
    """The page at /board/{queues}."""

    def __init__(self, access: PageAccess, boards: Boards, assets: Assets) -> None:
        self._access = access
        self._boards = boards
        self._assets = assets

    async def show(self, request: Request) -> Response:
        """The screen of one queue or several."""
        queues: list[QueueId] = []
        try:
            queues = named_queues(request.params["queues"])
            return self._draw(request, queues, [await self._boards.fresh(queue) for queue in queues])
        except (QueueNotFound, InvalidRequest) as error:
            return failure(request, error) if wants_json(request) else self._draw_refusal(request, error)
        except StoreError as error:
            if wants_json(request):
                return failure(request, error)
            failure(request, error)  # for the log
            # The script fills the frame as soon as there is something to show.
            return self._draw(request, queues, [], 503)

    def _draw(self, request: Request, queues: list[QueueId], boards: list[Follower], status: int = 200) -> Response:
        language = Language(preferred(request))
        answers = [board.answer for board in boards if board.answer]
        data = {
            "queues": queues,
            "boards": msgspec.to_builtins(answers),
            "logos": [board.settings.logo for board in boards],
            "codes": [self._code(request, queue, board.settings) for queue, board in zip(queues, boards, strict=False)],
            "lang": language.code,
            "version": self._boards.version,
            "texts": language.words(*_LIVE_WORDS),
        }
        title = ", ".join(answer.name for answer in answers) or language("board_trouble")
        colours = board_style({queue: board.settings for queue, board in zip(queues, boards, strict=False)})
        return self._drawn(request, language, status, {"data": data, "title": title}, colours)

    def _code(self, request: Request, queue: QueueId, settings: QueueSettings) -> dict[str, str] | None:
        """The QR code with which people take a number, and its address; None if the queue has no form for them."""
        if not settings.has_join_form:
            return None
        address = self._access.join_url(request, queue)
        return {"picture": embedded(address), "address": address.partition("://")[2] or address}

    def _draw_refusal(self, request: Request, error: FairlineError) -> Response:
        language = Language(preferred(request))
        data = {"queues": [], "again": LOOK_AGAIN_SECONDS}
        values = {"data": data, "title": language("unknown_title"), "text": language("unknown_text")}
        return self._drawn(request, language, PROBLEMS[error.code][0], values)

    def _drawn(
        self, request: Request, language: Language, status: int, values: dict[str, Any], colours: str = ""
    ) -> Response:
        theme = request.args.get("theme", "")
        more = {
            "t": language,
            "lang": language.code,
            "dir": language.direction,
            "theme": theme if theme in THEMES else "",
            "css": self._assets.url("board.css"),
            "script": self._assets.url("board.js"),
            "modules": [self._assets.url(name) for name in ("format.js", "board-fit.js", "board-sound.js")],
        }
        return self._access.drawing.draw_plain("board.html", values | more, status, colours)
