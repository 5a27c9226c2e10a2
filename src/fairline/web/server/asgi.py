"""The full path: runs handlers as ASGI applications, those of the fast path too, for tests and for other servers."""

from __future__ import annotations

import asyncio
from typing import Any

from fairline.web.server.cors import Cors
from fairline.web.server.head import Head
from fairline.web.server.http import (
    BODY_LIMIT,
    HAND_OVER,
    Handler,
    Headers,
    Pending,
    Request,
    Response,
    Sent,
    Takeover,
)
from fairline.web.server.problems import failure, problem

Scope = dict[str, Any]

#: After a refusal, the rest of the body is not read. (Later versions of HTTP have no such header.)
_ENDS = ((b"connection", b"close"),)


class TooLarge(Exception):
    """The body is over the limit."""


class ClientGone(Exception):
    """The client disconnected before the body was complete."""


def request_of(scope: Scope) -> Request:
    """The request of a scope, without its body."""
    client = scope.get("client")
    path = (scope.get("raw_path") or scope["path"].encode()).decode("ascii", "replace")
    head = Head(scope["method"], path, scope["query_string"], scope["headers"], scope.get("path_params", {}))
    return Request(head, client[0] if client else None, scope["scheme"] == "https")


async def read_body(receive: Any) -> bytes:
    """The whole body, or TooLarge, or ClientGone: half a body is never used."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT:
            raise TooLarge
        if not message.get("more_body"):
            return body


class Adapter:
    """An ASGI application for one handler."""

    def __init__(self, handler: Handler, cors: Cors) -> None:
        self._handler = handler
        self._cors = cors

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        request = request_of(scope)
        try:
            request.body = await read_body(receive)
        except ClientGone:
            return
        except TooLarge:
            refusal = problem("body_too_large", f"A body may have at most {BODY_LIMIT:,} bytes.", request.id)
            ends = _ENDS if scope.get("http_version", "1.1").startswith("1.") else ()
            await respond(request, refusal, send, self._cors.headers(request) + ends)
            return
        sent = await self._answer(request)
        hand_over = scope.get("extensions", {}).get(HAND_OVER)
        if isinstance(sent, Takeover) and hand_over is not None:
            hand_over(request, sent)
        elif isinstance(sent, Takeover):
            await _stream(request, sent, self._cors, receive, send)
        else:
            await respond(request, sent, send, self._cors.headers(request))

    async def _answer(self, request: Request) -> Sent:
        try:
            outcome = self._handler(request)
            while isinstance(outcome, Pending):
                outcome = outcome.sent(await _result_of(outcome))
            if isinstance(outcome, Response | Takeover):
                return outcome
            return await outcome
        except Exception as error:
            return failure(request, error)


async def _result_of(pending: Pending[Any]) -> Any:
    """The result that a pending answer waits for, or the error that came instead."""
    try:
        return await pending.call
    except Exception as error:
        return error


async def respond(request: Request, response: Response, send: Any, more: Headers = ()) -> None:
    """Send a response over ASGI."""
    headers = _with_one_vary([*response.all_headers(request.id), *more])
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else response.body})


def _with_one_vary(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The same headers with a single Vary line: of several lines, nginx before 1.23 uses only the last."""
    varies = [value for name, value in headers if name == b"vary"]
    if len(varies) < 2:
        return headers
    return [*(each for each in headers if each[0] != b"vary"), (b"vary", b", ".join(varies))]


class _Buffer:
    """A transport for streams that run over ASGI."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._size = 0
        self._closing = False

    def write(self, data: bytes) -> None:
        self._size += len(data)
        self.queue.put_nowait(data)

    def get_write_buffer_size(self) -> int:
        return self._size

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True
        self.queue.put_nowait(None)

    def abort(self) -> None:
        while not self.queue.empty():
            self.queue.get_nowait()
        self.close()

    async def pump(self, send: Any) -> None:
        """Send what is written to it until it is closed."""
        while (data := await self.queue.get()) is not None:
            self._size -= len(data)
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _stream(request: Request, takeover: Takeover, cors: Cors, receive: Any, send: Any) -> None:
    headers = [*takeover.head(request), *cors.headers(request)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if request.method == "HEAD":
        takeover.stream.lost()
        await send({"type": "http.response.body", "body": b""})
        return
    buffer = _Buffer()
    takeover.stream.opened(buffer)
    pump = asyncio.ensure_future(buffer.pump(send))
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((pump, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        takeover.stream.lost()
        pump.cancel()
        gone.cancel()


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
