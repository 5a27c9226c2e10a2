"""The pages at /admin, and signing in to them.

A page is only a frame. Its data and its actions are the operators' calls, made with the session cookie in place of the
key. So a page can do nothing that the calls would refuse.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct

from fairline.domain.branding import LANGUAGES, NOTICE_TEXTS, TEXTS, spoken
from fairline.domain.ticket import TAKES_BACK, TRANSITIONS, WHILE_ON_HOLD, Status, goes_to
from fairline.domain.webhook import Topic
from fairline.errors import (
    CrossSite,
    FairlineError,
    KeyInvalid,
    KeyMissing,
    QueueNotFound,
    RateLimited,
    SignedOut,
    StoreError,
)
from fairline.store import AdminKey, Role
from fairline.web.admin.access import ADMIN_COOKIE, SESSION_SECONDS, SIGN_IN, Access
from fairline.web.admin.audit_record import AuditRecorder
from fairline.web.admin.report_span import days_kept
from fairline.web.api.people import named_queue
from fairline.web.context import Context
from fairline.web.cookies import LANGUAGE_COOKIE, LANGUAGE_SECONDS
from fairline.web.dashboard.form import choice_words, form
from fairline.web.dashboard.script_words import words_used
from fairline.web.description.page import HTML
from fairline.web.pages.languages import Language, Words, catalogue, staff_language
from fairline.web.server.assets import Assets
from fairline.web.server.compression import Compression
from fairline.web.server.http import Headers, Request, Response, cookie
from fairline.web.server.operations import Operation
from fairline.web.server.preferred_language import chosen
from fairline.web.server.problems import PROBLEMS, failure

HOME = "/admin"
_LANGUAGES = [(code, str(catalogue(code)["language"])) for code in LANGUAGES]
_HEADERS: Headers = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex"),
)
#: A report is an answer of the API that is read in a browser.
_REPORT = re.compile(r"/api/v1/admin/queues/[^/]+/report")
#: Only Fairline's own scripts and styles. The import map is the only script that must be inline; the preview of a page
#: has a style sheet with its colours.
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class DashboardPage(Struct, frozen=True):
    """One page: its path, its template, its title, and the role that its data needs."""

    path: str
    template: str
    title: str
    needs: Role = Role.VIEWER


PAGES = {
    "queues": DashboardPage(HOME, "queues.html", "Queues"),
    "queue": DashboardPage(f"{HOME}/queues/{{queue}}", "queue.html", "Queue"),
    "desk": DashboardPage(f"{HOME}/queues/{{queue}}/desk", "desk.html", "Desk"),
    "webhooks": DashboardPage(f"{HOME}/webhooks", "webhooks.html", "Webhooks"),
    "keys": DashboardPage(f"{HOME}/keys", "keys.html", "Keys", Role.ADMIN),
    "audit": DashboardPage(f"{HOME}/audit", "audit.html", "Audit", Role.OPERATOR),
}


class DashboardPages:
    """Renders the pages, and signs people in and out."""

    def __init__(self, context: Context, assets: Assets) -> None:
        self._context = context
        self._service = context.service
        self._access = Access(context)
        self._audit_recorder = AuditRecorder(context.service.store.registry)
        self._assets = assets
        self._environment = Environment(
            loader=PackageLoader("fairline.web.pages", "templates/admin"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )

    async def show(self, name: str, request: Request) -> Response:
        """A page for someone who is signed in; the sign-in form for everyone else."""
        t = staff_language(chosen(request))
        try:
            staff = await self._access.check(request, Role.VIEWER)
            queue = request.params.get("queue", "")
            about: dict[str, Any] = {"days": [], "called": ""}
            if queue:
                snapshot, settings = await self._service.snapshot(named_queue(queue))
                about = {"days": days_kept(settings, snapshot.now), "called": settings.name or queue}
            return self._page(t, name, staff, queue, about, _address(request))
        except QueueNotFound:
            return self._notice(t, 404, "no_such_queue", _address(request))
        except StoreError as error:
            failure(request, error)  # for the log
            return self._notice(t, 503, "unavailable", _address(request), 5.0)
        except FairlineError as error:
            text = t("signed_out_sign_in") if isinstance(error, SignedOut) else ""
            return self._sign_in_form(t, 200, text, _address(request))

    async def show_sign_in(self, request: Request) -> Response:
        """The form for signing in, which leads to `next`; someone who is signed in goes there at once."""
        wanted = _next(request.args.get("next", ""))
        t = staff_language(chosen(request))
        try:
            await self._access.check(request, Role.VIEWER)
        except StoreError as error:
            failure(request, error)  # for the log
            return self._notice(t, 503, "unavailable_sign_in", wanted, 5.0)
        except FairlineError:
            return self._sign_in_form(t, 200, "", wanted)
        return Response(303, headers=((b"location", wanted.encode()), *_HEADERS))

    async def speak(self, request: Request) -> Response:
        """Keep the language that was chosen on a page, and show the page again."""
        form_in = _fields(request)
        back = Response(303, headers=((b"location", _next(form_in.get("next", "")).encode()), *_HEADERS))
        code = spoken(form_in.get("lang", ""))
        if code is None or not self._context.origins.is_own(request):
            return back
        secure = self._context.proxies.is_https(request)
        return back.with_headers(cookie(LANGUAGE_COOKIE, code, LANGUAGE_SECONDS, secure=secure))

    async def sign_in(self, request: Request) -> Response:
        """Exchange the key in the form for a session cookie."""
        form_in = _fields(request)
        back_to = _next(form_in.get("next", ""))
        try:
            if not self._context.origins.is_own(request):
                raise CrossSite
            text = form_in.get("key", "").strip()
            if not text:
                raise KeyMissing
            staff, token = await self._access.sign_in(text, request)
        except FairlineError as error:
            return self._refused(request, error, back_to)
        await self._audit_recorder.record(staff, "dashboard.signed_in", request_id=request.id)
        cookies = (self._cookie(request, token, SESSION_SECONDS),)
        return Response(303, headers=((b"location", back_to.encode()), *_HEADERS, *cookies))

    async def sign_out(self, request: Request) -> Response:
        """End the session, and delete the cookie."""
        cookies: Headers = ()
        if self._context.origins.is_own(request):
            try:
                await self._access.sign_out(request)
            except StoreError as error:
                failure(request, error)  # for the log
                return self._notice(staff_language(chosen(request)), 503, "unavailable_signed_in", HOME)
            cookies = (self._cookie(request, "", 0),)
        return Response(303, headers=((b"location", HOME.encode()), *_HEADERS, *cookies))

    def _cookie(self, request: Request, token: str, seconds: float) -> tuple[bytes, bytes]:
        return cookie(ADMIN_COOKIE, token, seconds, secure=self._context.proxies.is_https(request), strict=True)

    def _refused(self, request: Request, error: FairlineError, back_to: str) -> Response:
        failure(request, error)  # for the log and the metrics
        t = staff_language(chosen(request))
        if isinstance(error, RateLimited):
            seconds = math.ceil(error.retry_after or 1)
            more = ((b"retry-after", str(seconds).encode()),)
            return self._sign_in_form(t, 429, t.count("too_many_tries", seconds), back_to, more, wait=seconds)
        if isinstance(error, StoreError):
            return self._notice(t, 503, "unavailable_sign_in", back_to, 5.0)
        texts: Mapping[type[FairlineError], str] = {
            KeyMissing: "key_missing",
            KeyInvalid: "key_invalid",
            CrossSite: "form_of_another_site",
        }
        name = texts.get(type(error))
        return self._sign_in_form(t, PROBLEMS[error.code][0], t(name) if name else error.message, back_to)

    # Rendering

    def _page(
        self, t: Language, name: str, staff: AdminKey, queue: str, about: dict[str, Any], address: str
    ) -> Response:
        sheet = PAGES[name]
        data: dict[str, Any] = {
            "page": name,
            "queue": queue,
            "staff": {"id": staff.id, "name": staff.name, "role": staff.role.value},
            "needs": sheet.needs.value,
        }
        if name in ("queue", "queues"):
            data |= {
                "form": form(t.code),
                "choices": choice_words(t.code),
                "actions": _actions(),
                "takes_back": {action: sorted(reasons) for action, reasons in TAKES_BACK.items()},
            }
        if name in ("queue", "desk"):
            data["languages"] = _LANGUAGES
        if name == "queue":
            data["texts"] = [*TEXTS, *NOTICE_TEXTS]
        if name == "webhooks":
            data["events"] = [*Topic]
        listed = {each: found for each, found in PAGES.items() if "{" not in found.path and _allows(staff, found.needs)}
        values: dict[str, Any] = {"queue": queue, "staff": staff, "here": name, "sheets": listed, **about}
        allowed = _allows(staff, sheet.needs)
        title = queue or t(f"page_{name}")
        return self._draw(t, 200, sheet.template, title, data, address, allowed=allowed, **values)

    def _sign_in_form(
        self, t: Language, status: int, text: str, back_to: str, more: Headers = (), wait: int = 0
    ) -> Response:
        data = {"page": "sign-in", "wait": wait}
        return self._draw(t, status, "sign-in.html", t("sign_in"), data, _next(back_to), more, told=text, wait=wait)

    def _notice(self, t: Language, status: int, name: str, address: str, retry: float | None = None) -> Response:
        """A page that says one thing: the texts `name_title` and `name_text`."""
        more: Headers = ((b"retry-after", str(math.ceil(retry)).encode()),) if retry else ()
        data = {"page": "notice", "retry": retry}
        title, text = t(f"{name}_title"), t(f"{name}_text")
        return self._draw(t, status, "notice.html", title, data, address, more, text=text, retry=retry)

    def _draw(
        self,
        t: Language,
        status: int,
        template: str,
        title: str,
        data: dict[str, Any],
        address: str,
        more: Headers = (),
        **values: Any,
    ) -> Response:
        nonce = secrets.token_urlsafe(12)
        body = self._environment.get_template(template).render(
            values,
            t=t,
            languages=_LANGUAGES,
            next=address,
            title=title,
            data=data | {"lang": t.code, "words": self._words(t, data["page"])},
            nonce=nonce,
            css=self._assets.url("admin.css"),
            desk_css=self._assets.url("admin-desk.css"),
            script=self._assets.url("admin.js"),
            modules={"imports": self._assets.modules("admin")},
            preloads=[self._assets.url(name) for name in self._scripts(data["page"])],
        )
        policy = (b"content-security-policy", _POLICY.format(nonce=nonce).encode())
        return Response(status, body.encode(), HTML.encode(), (*_HEADERS, policy, *more))

    @cache  # noqa: B019 (one of these pages is made for a worker, and lives as long as it does)
    def _words(self, t: Language, page: str) -> dict[str, Words]:
        """The texts that the scripts of a page use."""
        return t.words(*words_used(self._scripts(page).values(), t.names))

    def _scripts(self, page: str) -> dict[str, str]:
        """The scripts of a page by their names."""
        return self._assets.scripts("admin.js", *([f"admin-{page}.js"] if page in PAGES else []))


def dashboard_operations(pages: DashboardPages) -> list[Operation]:
    """The pages, and the forms for signing in and out."""
    page = partial(Operation, group="pages", answers={200: str}, media=HTML, any_query=True)

    def sheet(name: str, found: DashboardPage) -> Operation:
        async def show(request: Request) -> Response:
            return await pages.show(name, request)

        return page(
            f"GET {found.path}",
            f"The dashboard: {found.title.lower()}. Without a session, the sign-in form.",
            slow=show,
            compression=Compression.EACH,
            problems=("queue_not_found",) if "{queue}" in found.path else (),
        )

    back = {"Location": "A page of the dashboard."}
    return [
        *(sheet(name, found) for name, found in PAGES.items()),
        page(
            f"POST {HOME}/language",
            "Choose the language of the dashboard: a form with `lang`.",
            slow=pages.speak,
            answers={303: None},
            sends={303: back | {"Set-Cookie": "The language."}},
        ),
        page(
            f"GET {SIGN_IN}",
            "The form for signing in to the dashboard. `next` is the page to show afterwards.",
            slow=pages.show_sign_in,
        ),
        page(
            f"POST {SIGN_IN}",
            "Sign in to the dashboard: a form with `key`.",
            slow=pages.sign_in,
            answers={303: None},
            sends={303: back | {"Set-Cookie": "The session."}},
            problems=("key_missing", "key_invalid", "cross_site", "rate_limited"),
        ),
        page(
            f"POST {HOME}/sign-out",
            "Sign out of the dashboard. The session ends in every browser.",
            slow=pages.sign_out,
            answers={303: None},
            sends={303: back | {"Set-Cookie": "Deletes the cookie."}},
        ),
    ]


def _allows(staff: AdminKey, needs: Role) -> bool:
    order = list(Role)
    return order.index(staff.role) >= order.index(needs)


def _actions() -> dict[str, list[str]]:
    """The actions that are possible in each state of a ticket: the page shows exactly these."""
    on_hold = [action.value for at, action in TRANSITIONS if at is Status.WAITING and action in WHILE_ON_HOLD]
    found = {state.value: [a.value for at, a in TRANSITIONS if at is state and goes_to(at, a)] for state in Status}
    return found | {"on_hold": on_hold}


def _fields(request: Request) -> dict[str, str]:
    """What a form sent."""
    return dict(parse_qsl(bytes(request.body).decode("utf-8", "replace")))


def _address(request: Request) -> str:
    """The address of a page, to come back to it."""
    query = request.query.decode("ascii", "replace")
    return _next(f"{request.path}?{query}" if query else request.path)


def _next(address: str) -> str:
    """The page to show after signing in. Only pages of the dashboard and reports are allowed."""
    path = address.partition("?")[0]
    inside = path == HOME or path.startswith(f"{HOME}/") or _REPORT.fullmatch(path)
    plain = all(33 <= ord(letter) < 127 and letter != "\\" for letter in address)
    return (
        address
        if inside and plain and "//" not in path and not path.startswith((f"{HOME}/sign-", f"{HOME}/language"))
        else HOME
    )
