"""The call that draws the page of a queue as it would be with other settings, for the preview beside the form."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from fairline.domain.branding import LANGUAGES
from fairline.domain.settings_checks import checked
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.queue_wire import QueueChanges
from fairline.web.api.wire import Strict
from fairline.web.pages.drawing import Drawing
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class PreviewedState(StrEnum):
    """What a person sees: the form, the page in line, at their turn, after the place was lost, or while the queue takes
    nobody."""

    FORM = "form"
    WAITING = "waiting"
    ADMITTED = "admitted"
    EXPIRED = "expired"
    MAINTENANCE = "maintenance"


class _Asked(Strict, frozen=True):
    state: PreviewedState = PreviewedState.WAITING
    language: Annotated[str, Meta(pattern=f"^({'|'.join(LANGUAGES)})$")] = LANGUAGES[0]
    nonce: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{0,64}$")] = ""
    """Goes into the style sheets of the page, for the Content-Security-Policy of the page that shows it."""


class PagePreview(_Asked, frozen=True):
    """A page to draw. Nothing is saved."""

    settings: QueueChanges = field(default_factory=QueueChanges)  # type: ignore[valid-type]
    """The settings that would be changed; the others are as they are."""


class Unchecked(_Asked, frozen=True):
    """The same before its settings are checked: `checked` names the setting that is wrong."""

    settings: dict[str, Any] = field(default_factory=dict)


class DrawnPage(Struct, frozen=True):
    """A page without its scripts: a picture of it."""

    html: str


class PagePreviews(OperatorCalls):
    """The call about previews of pages."""

    def __init__(self, operators: Operators, drawing: Drawing) -> None:
        super().__init__(operators)
        self._drawing = drawing

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/page-preview",
                "Draw the page of the queue as it would be with other settings. Nothing is saved.",
                self.draw,
                {200: DrawnPage},
                takes=PagePreview,
                problems=("invalid_settings",),
            )
        ]

    async def draw(self, call: Call) -> Response:
        """Draw the page."""
        asked = call.take(Unchecked)
        snapshot, settings = await self._service.snapshot(call.queue)
        html = await self._drawing.preview(
            call.queue, checked(asked.settings, settings), snapshot, asked.state, asked.language, asked.nonce
        )
        return private(200, DrawnPage(html))
