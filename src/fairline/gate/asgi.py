"""The gate in front of an ASGI site: Starlette, FastAPI, Django, Litestar, Quart.

app = FairlineMiddleware(app, server="http://127.0.0.1:8080", queue="demo")
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from fairline.gate.gate import COMPLETE_HEADER, Answer, Gate, Outcome, Through
from fairline.gate.options import Options
from fairline.gate.request import HEADERS, Request
from fairline.gate.sessions import Session

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: A policy was violated (RFC 6455). Before a WebSocket is accepted, servers answer it with 403.
POLICY_VIOLATION = 1008


class FairlineMiddleware:
    """Lets visitors with a valid session token through to `app`. The options are those of `fairline.gate.Options`."""

    def __init__(self, app: App, **options: Any) -> None:
        self.app = app
        self.gate = Gate(Options(**options))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        outcome = await self._outcome(_request(scope))
        if isinstance(outcome, Answer):
            await _answer(outcome, scope["method"], send)
            return
        scope["fairline"] = outcome.visit
        await self.app(scope, receive, _completing(outcome, send))

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        outcome = await self._outcome(_request(scope))
        if isinstance(outcome, Answer):
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        scope["fairline"] = outcome.visit
        session = outcome.visit.session
        await self.app(scope, self._watched(session, receive) if session else receive, send)

    def _watched(self, session: Session, receive: Receive) -> Receive:
        """A message of the visitor counts as activity. Once their session token is refused, the site sees a
        disconnect."""

        async def watched() -> Message:
            message = await receive()
            self.gate.seen(session)
            if not session.good and message["type"] == "websocket.receive":
                return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}
            return message

        return watched

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End the threads of the gate when the site shuts down."""

        async def ending(message: Message) -> None:
            if message["type"] in {"lifespan.shutdown.complete", "lifespan.shutdown.failed"}:
                await asyncio.to_thread(self.gate.close)
            await send(message)

        await self.app(scope, receive, ending)

    async def _outcome(self, request: Request) -> Outcome:
        outcome = self.gate.at_once(request)
        if outcome is None:
            loop = asyncio.get_running_loop()
            outcome = await loop.run_in_executor(self.gate.pool, self.gate.ask, request)
        return outcome


def _request(scope: Scope) -> Request:
    headers: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in HEADERS:
            # HTTP/2 may send cookies in several pieces.
            headers[name] = (
                f"{headers[name]}; {value.decode('latin-1')}" if name in headers else value.decode("latin-1")
            )
    client = scope.get("client")
    raw_path = scope.get("raw_path")
    return Request(
        method=scope.get("method", "GET"),
        path=scope["path"],
        raw_path=raw_path.partition(b"?")[0].decode("latin-1") if raw_path else scope["path"].replace("%", "%25"),
        query=scope.get("query_string", b"").decode("latin-1"),
        headers=headers,
        address=client[0] if client else "",
        secure=scope.get("scheme") in {"https", "wss"},
        websocket=scope["type"] == "websocket",
    )


async def _answer(answer: Answer, method: str, send: Send) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})


def _completing(outcome: Through, send: Send) -> Send:
    """Remove the completion header from the site's answer, and complete the visit if it was set."""

    async def completing(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = []
            for name, value in message.get("headers", ()):
                if name.decode("latin-1").lower() != COMPLETE_HEADER:
                    kept.append((name, value))
                elif value.strip() == b"1":
                    outcome.visit.complete()
            kept += [(name.encode(), value.encode("latin-1")) for name, value in outcome.headers]
            message["headers"] = kept
        await send(message)

    return completing
