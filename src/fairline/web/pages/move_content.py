"""What the two pages show between which a place moves: on the device that has it, and on the one that gets it."""

from __future__ import annotations

from fairline.domain.queue_settings import QueueSettings
from fairline.web.api.wire import TicketAnswer
from fairline.web.pages.page_content import PageContent
from fairline.web.pages.qr_codes import embedded


class MovingContent(PageContent):
    """The page with the link that moves a place to another device, as a QR code, and with a code to type."""

    def __init__(
        self,
        queue: str,
        language: str,
        settings: QueueSettings,
        ticket: TicketAnswer,
        *,
        link: str,
        typed: str,
        back_to: str,
        retry_after: float,
    ) -> None:
        super().__init__("moving", queue, language, settings, ticket, back_to=back_to, retry_after=retry_after)
        self.code = embedded(link)
        self.typed = typed
        self.typed_at = link.partition("#")[0].partition("://")[2]

    @property
    def needs(self) -> str:
        """The QR code: without it the page is useless."""
        return self.code


class MoveContent(PageContent):
    """The page that the link leads to, and what it says afterwards. `here` is the place that this browser has."""

    def __init__(
        self, state: str, queue: str, language: str, settings: QueueSettings, *, path: str, here: str = ""
    ) -> None:
        super().__init__(state, queue, language, settings, path=path)
        self.here = here

    @property
    def first_url(self) -> str:
        """Where someone without a place takes one."""
        return self.form_url if self.walk_in else self.ticket_url
