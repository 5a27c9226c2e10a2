"""Assembles the web side of a worker: the table of all operations, and the ASGI application on Starlette."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from fairline.domain.push import PushKey
from fairline.errors import FairlineError
from fairline.keeper.keeper import Keeper
from fairline.web.admin import admin_operations
from fairline.web.api.boards import Boards
from fairline.web.api.draws import DrawCalls
from fairline.web.api.forward_auth import ForwardAuth
from fairline.web.api.people import People
from fairline.web.api.public import Public
from fairline.web.api.routes import (
    board_operations,
    description_operations,
    draw_operations,
    metrics_operations,
    people_operations,
    public_operations,
    site_operations,
)
from fairline.web.api.sessions import Sessions
from fairline.web.api.tellings import Tellings
from fairline.web.context import Context
from fairline.web.dashboard import DashboardPages, dashboard_operations
from fairline.web.description.page import Docs
from fairline.web.metrics.measurements import Metrics
from fairline.web.metrics.page import MetricsPage
from fairline.web.pages.arrived import ArrivalPages
from fairline.web.pages.board import BoardPages
from fairline.web.pages.calendar_file import CalendarFiles
from fairline.web.pages.draw_page import DrawPages
from fairline.web.pages.drawing import Drawing
from fairline.web.pages.home import HomePage
from fairline.web.pages.joining import JoinPages
from fairline.web.pages.kiosk import KioskPages
from fairline.web.pages.lost import LostPages
from fairline.web.pages.page_access import PageAccess
from fairline.web.pages.routes import page_operations
from fairline.web.pages.waiting import WaitingPages
from fairline.web.server.asgi import Adapter, Scope, request_of, respond
from fairline.web.server.assets import all_assets
from fairline.web.server.compression import compressed
from fairline.web.server.cors import Cors
from fairline.web.server.http import Request
from fairline.web.server.operations import Operation
from fairline.web.server.problems import failure, problem
from fairline.web.server.query_names import strict


def operations(context: Context, keeper: Keeper | None, metrics: Metrics | None = None) -> list[Operation]:
    """Every operation of this server."""
    people, assets = People(context), all_assets()
    push_key = PushKey(context.service.keyring.push_seed).public
    mails = bool(context.settings.smtp_url)
    boards, drawing = Boards(context, assets), Drawing(assets, context.renderer, push_key, mails=mails)
    access = PageAccess(context, people, drawing)
    rows = [
        *people_operations(people, Tellings(context)),
        *site_operations(Sessions(context), ForwardAuth(context)),
        *public_operations(Public(context, keeper)),
        *draw_operations(DrawCalls(context)),
        *admin_operations(context, drawing),
        *board_operations(boards),
        *page_operations(
            HomePage(drawing),
            BoardPages(access, boards, assets),
            WaitingPages(access),
            ArrivalPages(access),
            JoinPages(access),
            KioskPages(access),
            DrawPages(access, assets),
            CalendarFiles(access),
        ),
        *dashboard_operations(DashboardPages(context, assets)),
    ]
    if metrics is not None:
        rows += metrics_operations(MetricsPage(context.service, metrics))
    rows += description_operations(Docs(rows, assets, context.settings.public_url), assets)
    return [context.origins.guarded(compressed(strict(row))) for row in rows]


def lost_pages(context: Context, rows: list[Operation]) -> LostPages:
    """What browsers get where there is nothing."""
    return LostPages(Drawing(all_assets(), context.renderer), rows)


class AsgiApplication:
    """The ASGI application: the full path for all operations, those of the fast path too. `on_answered` is called with
    the method, the path and the status of each answer. `lost` answers browsers where there is nothing."""

    def __init__(
        self,
        rows: list[Operation],
        cors: Cors,
        on_answered: Callable[[str, str, int], None] | None = None,
        lost: LostPages | None = None,
    ) -> None:
        self._lost = lost
        self._cors = cors
        self._on_answered = on_answered
        handlers: dict[int, Any] = {404: self._missing, 405: self._missing}
        self._routes = [
            Route(row.path, Adapter(row.fast or row.slow, cors), methods=[row.method])  # type: ignore[arg-type]
            for row in rows
        ]
        self._app = Starlette(routes=self._routes, exception_handlers=handlers)
        # An almost right address is answered with 404, not with a redirect that Starlette builds from the Host header.
        self._app.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = request_of(scope)
        send = self._counted(scope, send)
        if scope["method"] == "OPTIONS":
            await respond(request, self._cors.preflight(request), send)
            return
        try:
            await self._app(scope, receive, send)
        except FairlineError as error:
            await respond(request, failure(request, error), send)

    def _counted(self, scope: Scope, send: Any) -> Any:
        async def counted(message: Any) -> None:
            if self._on_answered and message["type"] == "http.response.start":
                self._on_answered(scope["method"], scope["path"], message["status"])
            await send(message)

        return counted

    async def _missing(self, request: Any, error: Exception) -> Any:
        status = error.status_code if isinstance(error, HTTPException) else 404
        found: Request = request_of(request.scope)
        if status == 405:
            code, detail = "method_not_allowed", f"This address does not support {found.method}. See /docs."
        else:
            code, detail = "not_found", f"There is nothing at {found.path[:200]}. See /docs for all addresses."
        page = await self._lost.answer(found) if self._lost and status == 404 else None
        response = page or problem(code, detail, found.id)

        async def send_it(_scope: Scope, _receive: Any, send: Any) -> None:
            more = ((b"allow", ", ".join(self._methods_at(request.scope["path"])).encode()),) if status == 405 else ()
            await respond(found, response, send, self._cors.headers(found) + more)

        return send_it

    def _methods_at(self, path: str) -> list[str]:
        """Every method of an address with its %… decoded: each method has a route of its own."""
        return sorted(
            {method for route in self._routes if route.path_regex.match(path) for method in route.methods or ()}
        )
