"""Someone who receives webhooks: a real server that answers as the test says, and remembers what came."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.backends import HOST


class Letter(NamedTuple):
    """What came in one request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


Answer = tuple[int, dict[str, str], bytes]
FINE: Answer = (200, {}, b"thank you")


class Receiver:
    """Listens on a port of its own, which it keeps when it comes back after having been down."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.answer: Callable[[Letter], Answer] = lambda _: FINE
        self.gate = threading.Event()
        """While it is not set, nobody is answered."""
        self.gate.set()
        self.at_once = self.most_at_once = 0
        self.port = 0
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self.up()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        """The deliveries, in the order they came."""
        return [letter.headers["x-fairline-delivery"] for letter in self.letters]

    def types(self) -> list[str]:
        return [letter.told["type"] for letter in self.letters]

    def up(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                with contextlib.suppress(OSError):
                    receiver._take(self)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            request_queue_size = 200

        self._server = Server((HOST, self.port), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def down(self) -> None:
        self.gate.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        letter = Letter(request.path, {name.lower(): value for name, value in request.headers.items()}, body)
        with self._lock:
            self.letters.append(letter)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.gate.wait(60)
        status, headers, content = self.answer(letter)
        with self._lock:
            self.at_once -= 1
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)
