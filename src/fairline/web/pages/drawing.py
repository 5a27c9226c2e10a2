"""Draws pages: with our templates, or with an operator's own one in a sandbox."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import structlog
from jinja2 import Environment, FunctionLoader, PackageLoader, StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from fairline.queue import QueueSettings
from fairline.web.assets import Assets
from fairline.web.http import Headers, Response
from fairline.web.pages.colours import style
from fairline.web.pages.sight import Sight

log = structlog.get_logger()

HTML = b"text/html; charset=utf-8"
#: An own template that takes longer, or draws more, is taken for broken.
OWN_SECONDS = 0.5
OWN_CHARACTERS = 200_000
_HEADERS: Headers = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    # Where people go on to is not told which line they come from; our own form still says it is ours.
    (b"referrer-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex"),
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Where an operator's template runs: it sees the page and our templates, and nothing else."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not attr.startswith("_") and super().is_safe_attribute(obj, attr, value)


class Drawing:
    """All templates, and how a page becomes an answer."""

    def __init__(self, assets: Assets) -> None:
        self._assets = assets
        loader = PackageLoader("fairline.web", "templates/page")
        self._environment = _environment(Environment, loader)
        self._sandbox = _environment(_Sandbox, FunctionLoader(lambda name: loader.get_source(self._sandbox, name)[0]))
        self._own = lru_cache(100)(self._sandbox.from_string)

    def draw(self, sight: Sight, status: int, settings: QueueSettings | None, headers: Headers = ()) -> Response:
        """The answer that shows a page."""
        nonce = secrets.token_urlsafe(12)
        values = self._values(sight, settings, nonce)
        body = self._drawn_by_own(settings, values) if settings and settings.page_template else None
        if body is not None and sight.needs not in body:
            body = None  # made for the waiting alone: without what this page is for, nobody could go on
        if body is None:
            body = self._environment.get_template("page.html").render(values)
        return _answer(status, body, nonce, ((b"x-fairline-state", sight.state.encode()), *headers))

    def draw_plain(self, template: str, values: dict[str, Any], status: int) -> Response:
        """The answer that shows one of our templates, in nobody's look but its own."""
        body = self._environment.get_template(template).render(values)
        return _answer(status, body, secrets.token_urlsafe(12))

    def draw_whole(
        self,
        template: str,
        state: str,
        values: dict[str, Any],
        settings: QueueSettings,
        status: int = 200,
        headers: Headers = (),
    ) -> Response:
        """The answer that shows a page which is not for someone's own device: on a wall, or at the door."""
        nonce = secrets.token_urlsafe(12)
        colours = Markup(style(settings))
        body = self._environment.get_template(template).render(
            {**values, "nonce": nonce, "colours": colours, "asset": self._assets.url}
        )
        return _answer(status, body, nonce, ((b"x-fairline-state", state.encode()), *headers))

    def _values(self, sight: Sight, settings: QueueSettings | None, nonce: str) -> dict[str, Any]:
        script = msgspec.to_builtins(sight.script(self._assets.url("fairline.js")))
        return {
            "page": sight,
            "t": sight.words,
            "nonce": nonce,
            "colours": Markup(style(settings)) if settings else "",
            "css": self._assets.url("waiting.css"),
            "form_css": self._assets.url("form.css"),
            "script": self._assets.url("waiting.js"),
            "form_script": self._assets.url("form.js"),
            "client": script["client"],
            "data": script,
        }

    def _drawn_by_own(self, settings: QueueSettings, values: dict[str, Any]) -> str | None:
        """The page by the operator's template; None, and a word in the log, where it is broken."""
        try:
            return "".join(_bounded(self._own(settings.page_template), values))
        except Exception as error:  # whatever a template does wrong, people are shown a page
            queue = values["page"].queue
            log.warning("page.template_broken", queue=queue, error=f"{type(error).__name__}: {error}"[:300])
            return None


def _answer(status: int, body: str, nonce: str, headers: Headers = ()) -> Response:
    policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())
    return Response(status, body.encode(), HTML, (*_HEADERS, policy, *headers))


def _environment(kind: type[Environment], loader: Any) -> Environment:
    made = kind(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}  # half the size in Arabic
    return made


def _bounded(template: Template, values: dict[str, Any]) -> Iterator[str]:
    """What a template draws, bit by bit, until it is too much."""
    ends, left = time.monotonic() + OWN_SECONDS, OWN_CHARACTERS
    for part in template.generate(values):
        left -= len(part)
        if left < 0 or time.monotonic() > ends:
            raise OverflowError(f"it draws more than {OWN_CHARACTERS:,} characters or takes over {OWN_SECONDS} s")
        yield part
