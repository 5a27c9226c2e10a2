"""The call that lists the pages of a queue, with their addresses: for screens, paper and links."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import quote

from msgspec import Struct

from fairline.domain.queue_settings import QueueSettings
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.pages.qr_codes import embedded
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class Screen(StrEnum):
    """The pages of a queue. A board and a kiosk are for queues that staff call people from."""

    WAITING_PAGE = "waiting_page"
    FORM = "form"
    POSTER = "poster"
    BOARD = "board"
    KIOSK = "kiosk"


_PATHS = {
    Screen.WAITING_PAGE: "/q/{}",
    Screen.FORM: "/join/{}",
    Screen.POSTER: "/join/{}/poster",
    Screen.BOARD: "/board/{}",
    Screen.KIOSK: "/join/{}/kiosk",
}
_STAFFED = (Screen.BOARD, Screen.KIOSK)


class ScreenAnswer(Struct, frozen=True):
    """One page of a queue."""

    screen: Screen
    url: str
    code: str
    """The address as a QR code: an image as a `data:` address."""


class ScreenList(Struct, frozen=True):
    """The pages of a queue."""

    screens: list[ScreenAnswer]


class Screens(OperatorCalls):
    """The call about the pages of a queue."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._context = operators.context

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/screens",
                "The pages of a queue, with their addresses as text and as QR codes.",
                self.all,
                {200: ScreenList},
            )
        ]

    async def all(self, call: Call) -> Response:
        """The pages that the queue has a use for."""
        settings = (await self._service.settings(call.queue)).settings
        base, queue = self._context.base_url(call.request), quote(call.queue, safe="")
        addresses = {screen: base + path.format(queue) for screen, path in _PATHS.items() if _has(settings, screen)}
        return private(200, ScreenList([ScreenAnswer(screen, url, embedded(url)) for screen, url in addresses.items()]))


def _has(settings: QueueSettings, screen: Screen) -> bool:
    return settings.by_hand or screen not in _STAFFED
