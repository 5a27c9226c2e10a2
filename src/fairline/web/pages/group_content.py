"""What the two pages show through which people wait as a group: of someone who waits, and of someone who joins them."""

from __future__ import annotations

from typing import Any

from fairline.domain.queue_settings import QueueSettings
from fairline.web.api.wire import TicketAnswer
from fairline.web.pages.page_content import PageContent
from fairline.web.pages.qr_codes import embedded


class TogetherContent(PageContent):
    """The page with the link of a group, as a QR code and as text, and how many of it are here."""

    def __init__(
        self,
        queue: str,
        language: str,
        settings: QueueSettings,
        ticket: TicketAnswer,
        *,
        link: str,
        size: int,
        most: int,
        back_to: str,
        retry_after: float,
    ) -> None:
        super().__init__("together", queue, language, settings, ticket, back_to=back_to, retry_after=retry_after)
        self.code = embedded(link)
        self.link = link
        self.size = str(size)
        self.here = self.words("together_here", n=self.words.number(size), most=self.words.number(most))

    def script(self, client: str, start_script: str = "", **more: str) -> dict[str, Any]:
        """The data for the page's script, which looks again when others have come."""
        return {**super().script(client, start_script, **more), "here": self.size}

    @property
    def needs(self) -> str:
        """The QR code: without it the page is useless."""
        return self.code


class GroupContent(PageContent):
    """The page that the link of a group leads to."""

    def __init__(self, queue: str, language: str, settings: QueueSettings, *, group: str, back_to: str) -> None:
        super().__init__("group", queue, language, settings, back_to=back_to)
        self.group = group

    @property
    def needs(self) -> str:
        """The code of the group: without it the page is useless."""
        return self.group
