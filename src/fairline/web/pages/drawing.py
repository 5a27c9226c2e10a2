"""Draws pages: with the built-in templates, or with an operator's own one in a separate process."""

from __future__ import annotations

import asyncio
import re
import secrets
from datetime import UTC, datetime
from typing import Any

import msgspec
from jinja2 import Environment
from markupsafe import Markup
from msgspec import UNSET

from fairline.domain.branding import LANGUAGES
from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings, QueueStatus
from fairline.domain.ticket import Reason, Status, label
from fairline.errors import InvalidSettings
from fairline.web.api.wire import TicketAnswer
from fairline.web.pages.addresses import draw_url
from fairline.web.pages.colours import style
from fairline.web.pages.form import Filled
from fairline.web.pages.form_content import FormContent
from fairline.web.pages.page_content import PageContent
from fairline.web.pages.renderer import Renderer
from fairline.web.pages.sandbox import built_in, environment
from fairline.web.server import request_log
from fairline.web.server.assets import Assets
from fairline.web.server.http import Headers, Response

HTML = b"text/html; charset=utf-8"
#: An own template is tried in these states before it is stored, with a ticket of this status. TRIAL_SECONDS is as long
#: as a busy machine needs.
TRIED: dict[str, Status | None] = {
    "joining": None,
    "waiting": Status.WAITING,
    "admitted": Status.ADMITTED,
    "expired": Status.EXPIRED,
    "maintenance": None,
}
TRIAL_SECONDS = 25.0
#: What acts in a page, for browsers with scripts or without.
_ACTIVE = re.compile(r"<(script|noscript)\b.*?</\1\s*>|<link rel=\"modulepreload\"[^>]*>", re.DOTALL | re.IGNORECASE)
_HEADERS: Headers = (
    (b"cache-control", b"no-store"),
    # The next site does not learn from which line people come; our own forms still send their origin.
    (b"referrer-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex"),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Drawing:
    """Turns pages into answers, with all the templates."""

    def __init__(self, assets: Assets, renderer: Renderer, push_key: str = "", *, mails: bool = False) -> None:
        self._assets = assets
        self._environment = environment(Environment, built_in())
        self._renderer = renderer
        self._push_key = push_key
        self._mails = mails
        self._trial = asyncio.Lock()
        # All that the script imports, so that a browser asks for it at once.
        self._modules = [assets.url(name) for name in assets.scripts("waiting.js") if name != "waiting.js"]
        self._live_modules = [*self._modules, *(assets.url(name) for name in assets.scripts("fairline.js"))]

    async def try_out(self, queue: QueueId, settings: QueueSettings) -> None:
        """Refuse an own template that cannot be drawn. It is tried in a process of its own, so that no visitor's page
        waits for one that has to be ended."""
        async with self._trial:
            renderer = Renderer(TRIAL_SECONDS)
            try:
                for state, status in TRIED.items():
                    await self._try_state(renderer, queue, settings, state, status)
            except OSError as error:  # not the fault of the template, whose limits apply wherever it is drawn
                request_log.template_not_drawn(queue, str(error))
            finally:
                await renderer.close()

    async def preview(
        self, queue: QueueId, settings: QueueSettings, snapshot: QueueSnapshot, state: str, language: str, nonce: str
    ) -> str:
        """A page with a made-up ticket, for settings that are not saved, without what would act in it."""
        status = TRIED.get(state)
        if state == "form":
            content: PageContent = FormContent(queue, language, settings, Filled.empty(), {}, snapshot, path="")
        else:
            serial = f"{settings.series[0]}0007" if settings.series else ""
            made_up = label(settings.ticket_prefix or queue.upper(), 7, serial)
            ticket = msgspec.structs.replace(_sample(queue, status), label=made_up) if status else None
            content = PageContent(state, queue, language, settings, ticket)
        values = self._values(content, settings, nonce)
        if not settings.page_template:
            return _ACTIVE.sub("", self._environment.get_template("page.html").render(values))
        async with self._trial:
            renderer = Renderer(TRIAL_SECONDS)
            try:
                return _ACTIVE.sub("", await renderer.draw(settings.page_template, values))
            finally:
                await renderer.close()

    async def _try_state(
        self, renderer: Renderer, queue: QueueId, settings: QueueSettings, state: str, status: Status | None
    ) -> None:
        ticket = _sample(queue, status) if status else None
        values = self._values(PageContent(state, queue, LANGUAGES[0], settings, ticket), settings, "nonce")
        try:
            await renderer.draw(settings.page_template, values)
        except InvalidSettings as error:
            raise InvalidSettings(error.field, f"{error.problem} (tried in the state {state!r})") from None

    async def draw(
        self, content: PageContent, status: int, settings: QueueSettings | None, headers: Headers = ()
    ) -> Response:
        """The answer with a page."""
        nonce = secrets.token_urlsafe(12)
        values = self._values(content, settings, nonce)
        body = await self._drawn_by_own_template(settings, values) if settings and settings.page_template else None
        if body is not None and content.needs not in body:
            body = None  # the template does not draw what this page is for, so that nobody could use it
        if body is None:
            body = self._environment.get_template("page.html").render(values)
        return _answer(status, body, nonce, ((b"x-fairline-state", content.state.encode()), *headers))

    def draw_plain(self, template: str, values: dict[str, Any], status: int, colours: str = "") -> Response:
        """The answer with a built-in template that is not of one queue; `colours` is a style sheet."""
        nonce = secrets.token_urlsafe(12)
        body = self._environment.get_template(template).render({**values, "nonce": nonce, "colours": Markup(colours)})
        return _answer(status, body, nonce)

    def draw_whole(
        self,
        template: str,
        state: str,
        values: dict[str, Any],
        settings: QueueSettings,
        status: int = 200,
        headers: Headers = (),
    ) -> Response:
        """The answer with a page for a shared screen or for paper: a kiosk or a poster."""
        nonce = secrets.token_urlsafe(12)
        colours = Markup(style(settings))
        body = self._environment.get_template(template).render(
            {**values, "nonce": nonce, "colours": colours, "asset": self._assets.url}
        )
        return _answer(status, body, nonce, ((b"x-fairline-state", state.encode()), *headers))

    def _values(self, content: PageContent, settings: QueueSettings | None, nonce: str) -> dict[str, Any]:
        url = self._assets.url
        more = {"tell": url("tell.js"), "worker": url("worker.js"), "push_key": self._push_key}
        more["draws"] = draw_url("", content.lang)
        script = msgspec.to_builtins(content.script(url("fairline.js"), url("waiting-start.js"), **more))
        if content.follows:
            script["server"] = url("fairline-server.js")
        return {
            "page": content,
            "t": content.words,
            "nonce": nonce,
            "colours": Markup(style(settings)) if settings else "",
            "css": self._assets.url("waiting.css"),
            # Someone who comes for the first time has no style sheet yet: it saves them a round trip.
            "inline_css": Markup(self._assets.text("waiting.css")) if content.state == "joining" else "",
            "form_css": self._assets.url("form.css"),
            "script": self._assets.url("waiting.js"),
            "modules": [*(self._live_modules if content.live else self._modules), *filter(None, [script["start"]])],
            "mails": self._mails,
            "form_script": self._assets.url("form.js"),
            "data": script,
        }

    async def _drawn_by_own_template(self, settings: QueueSettings, values: dict[str, Any]) -> str | None:
        """The page by the operator's template; None, with a line in the log, if it cannot be drawn."""
        queue = values["page"].queue
        try:
            return await self._renderer.draw(settings.page_template, values)
        except InvalidSettings as error:
            request_log.template_broken(queue, error.problem)
        except OSError as error:
            request_log.template_not_drawn(queue, str(error))
        return None


def _sample(queue: str, status: Status) -> TicketAnswer:
    """A made-up ticket, to try a template with."""
    waits = status is Status.WAITING
    return TicketAnswer(
        queue=queue,
        ticket=7,
        label="R-000007",
        status=status,
        reason=Reason.LEFT if status is Status.EXPIRED else UNSET,
        position=3 if waits else None,
        queue_length=12,
        estimated_wait_seconds=120 if waits else None,
        estimated_wait_range=(60, 180) if waits else None,
        queue_status=QueueStatus.ACTIVE,
        priority=0,
        joined_at=datetime.now(UTC),
        heartbeat_interval_seconds=10.0,
    )


def _answer(status: int, body: str, nonce: str, headers: Headers = ()) -> Response:
    policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())
    return Response(status, body.encode(), HTML, (*_HEADERS, policy, *headers))
