"""What the form for taking a number shows."""

from __future__ import annotations

from msgspec import Struct

from fairline.domain.estimate import Forecast
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import Ask, QueueSettings
from fairline.web.pages.form import Filled, phone_example
from fairline.web.pages.languages import Language
from fairline.web.pages.page_content import PageContent


class Series(Struct, frozen=True):
    """A series of labels that the visitor can choose."""

    name: str
    about: str


class FormContent(PageContent):
    """The form for taking a number, with what has been filled in so far."""

    def __init__(
        self,
        queue: str,
        language: str,
        settings: QueueSettings,
        filled: Filled,
        wrong: dict[str, str],
        snapshot: QueueSnapshot,
        *,
        path: str,
    ) -> None:
        super().__init__("form", queue, language, settings, path=path)
        self.message = settings.message
        self.crowd = crowd(self.words, settings, snapshot)
        self.filled = filled
        self.group = filled.group
        self.wrong = wrong
        self.most = settings.max_party_size
        self.series = [Series(name, self.words.series(name)) for name in settings.series]
        self.phone_hint = self.words("form_example", example=phone_example(settings, self.words))
        self._asks = {
            "name": settings.ask_name,
            "phone": settings.ask_phone,
            "email": settings.ask_email,
            "party_size": settings.ask_party_size,
        }

    @property
    def needs(self) -> str:
        """The key of the form: without it, a second tap would make a second ticket."""
        return self.filled.key

    def asks(self, field: str) -> bool:
        """Whether the form asks for something."""
        return self._asks[field] is not Ask.NO

    def requires(self, field: str) -> bool:
        """Whether the form requires something."""
        return self._asks[field] is Ask.REQUIRED

    @property
    def first_wrong(self) -> str:
        """The first field with a mistake, which gets the cursor."""
        return next((field for field in self._asks if field in self.wrong), "")


def crowd(words: Language, settings: QueueSettings, snapshot: QueueSnapshot) -> str:
    """The number of people waiting, and the estimated wait of someone who joins now."""
    if not snapshot.waiting:
        return words("crowd_none")
    wait = Forecast(settings, snapshot).wait(snapshot.waiting + 1)
    many = words.count("crowd", snapshot.waiting)
    return f"{many} · {words.wait((int(wait.low), int(wait.high) + 1))}" if wait else many
