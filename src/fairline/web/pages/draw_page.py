"""The page of a draw: what is published of it, in plain words, and a check of all of it in the reader's browser.

Anyone may see it. A visitor whose ticket was in the draw also sees their own receipt.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import quote

from fairline.domain.branding import LANGUAGES
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import TicketStatus
from fairline.errors import DrawNotFound, FairlineError, StoreError, TokenMoved
from fairline.service.draws import Draws, DrawState, Receipt
from fairline.web.api.draws import DrawAnswer, draw_answer
from fairline.web.pages.addresses import draw_url
from fairline.web.pages.colours import style
from fairline.web.pages.languages import Language, catalogue, preferred
from fairline.web.pages.page_access import PageAccess
from fairline.web.pages.page_content import Choice, PageContent
from fairline.web.server.assets import Assets
from fairline.web.server.http import Request, Response, wants_json
from fairline.web.server.problems import failure

#: Where anyone can read a round of the public beacon.
BEACON_URL = "https://api.drand.sh/{chain}/public/{round}"
#: The texts that the page's script needs, beside those of the checks.
_LIVE_WORDS = (
    "draws_checking",
    "draws_right",
    "draws_wrong",
    "draws_unread",
    "draws_secure",
    "draws_ok",
    "draws_bad",
)
#: What is shown of a draw and of a receipt, by the names that they have in the file and in the API.
_PUBLISHED = (
    "scheme",
    "commitment",
    "root",
    "levels_hash",
    "count",
    "chain",
    "randomness",
    "signature",
    "secret",
    "priority_policy",
)
_RECEIPT = ("label", "nonce", "leaf", "value", "level", "rank")


class DrawPages:
    """The page at /draws/{draw}."""

    def __init__(self, access: PageAccess, assets: Assets) -> None:
        self._access = access
        self._assets = assets
        self._draws = Draws(access.service.store)

    async def show(self, request: Request) -> Response:
        """What is published of a draw, and the receipt of a visitor who was in it."""
        try:
            state = await self._draws.state(request.params["draw"])
            _, settings = await self._access.service.snapshot(state.queue)
            return self._draw(request, state, settings, await self._own_receipt(request, state))
        except StoreError as error:
            return await self._access.refuse(request, request.params["draw"], error)
        except FairlineError as error:
            if wants_json(request):
                return failure(request, error)
            content = PageContent("missing", "", preferred(request), QueueSettings(name="Fairline"), path="/")
            return await self._access.drawing.draw(content, 404, None)

    async def _own_receipt(self, request: Request, state: DrawState) -> Receipt | None:
        """The receipt of the visitor; None if they were not in this draw. Looking at the page is no heartbeat."""
        with suppress(TokenMoved, DrawNotFound):
            answer = await self._access.own_ticket(request, state.queue, stays=False)
            if answer is not None and _was_in(answer.ticket_status, state):
                return await self._draws.receipt(state.queue, answer.ticket_status)
        return None

    def _draw(self, request: Request, state: DrawState, settings: QueueSettings, receipt: Receipt | None) -> Response:
        words = Language(preferred(request), settings.texts)
        answer = draw_answer(state, "")
        opening = next((each.name for each in settings.openings if each.id == state.opening), "")
        path = f"/api/v1/draws/{quote(state.id, safe='')}"
        data = {
            "id": state.id,
            "lang": words.code,
            "draw": path,
            "entries": f"{path}/entries",
            "receipt": f"/api/v1/draw/receipt?queue={quote(state.queue)}" if receipt else "",
            "texts": words.words(*_LIVE_WORDS, *sorted(name for name in words.names if name.startswith("check_"))),
        }
        values = {
            "t": words,
            "name": settings.name or state.queue,
            "opening": opening,
            "draw": answer,
            "rank": receipt.rank if receipt else None,
            "receipt": _shown(receipt, _RECEIPT) if receipt else [],
            "published": _shown(answer, _PUBLISHED),
            "beacon_url": BEACON_URL.format(chain=state.chain, round=state.round) if state.round else "",
            "data": data,
            "css": self._assets.url("draw.css"),
            "script": self._assets.url("draw.js"),
            "modules": [self._assets.url(name) for name in self._assets.scripts("draw.js") if name != "draw.js"],
            "languages": [
                Choice(code, str(catalogue(code)["language"]), draw_url(state.id, code), code == words.code)
                for code in LANGUAGES
            ],
        }
        return self._access.drawing.draw_plain("draw.html", values, 200, style(settings))


def _was_in(ticket_status: TicketStatus, state: DrawState) -> bool:
    return ticket_status.drawn_in == state.opening and ticket_status.drawn_rank > 0 and state.drawn_at is not None


def _shown(content: DrawAnswer | Receipt, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """The fields that are known, as they are written in the file."""
    fields = [(name, getattr(content, name)) for name in names]
    return [(name, value.hex() if isinstance(value, bytes) else value) for name, value in fields if value is not None]
