"""Serves the shop: `python -m examples.shop.serve --port 8090`, behind a proxy that asks Fairline.

With `--beside` it stands by itself behind Fairline's gate for Python sites, next to the server that has started it:
that is how `make run` shows what this is all about.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import uvicorn

from examples.shop.crowd import FAILED, RETRY_SECONDS, Crowd, Visitor
from examples.shop.shop import Shop
from fairline.gate.asgi import FairlineMiddleware

STOCK = 50
QUEUE = "shop"


def main() -> None:
    """Serve until stopped."""
    options = argparse.ArgumentParser(description="A small shop to put Fairline in front of.")
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8090)
    options.add_argument("--fairline", default="http://127.0.0.1:8080", help="the Fairline server")
    options.add_argument("--stock", type=int, default=STOCK, help="how many lamps there are")
    # What follows is how examples/shop/__main__.py starts it.
    options.add_argument("--beside", type=int, metavar="SOCKET", help=argparse.SUPPRESS)
    options.add_argument("--crowd", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--every", type=float, default=1, help=argparse.SUPPRESS)
    given = options.parse_args()
    shop = Shop(given.fairline, given.stock)
    if given.beside is None:
        uvicorn.run(shop.app, host=given.host, port=given.port, log_level="warning")
        return
    threading.Thread(target=_end_with_server, daemon=True).start()
    listening = socket.socket(fileno=given.beside)
    here = f"http://127.0.0.1:{listening.getsockname()[1]}"
    operator = _Operator(given.fairline, os.environ["FAIRLINE_ADMIN_KEY"])
    while not operator.sets_up(target_url=f"{here}/", admission_rate=1 / given.every, stock=given.stock):
        time.sleep(RETRY_SECONDS)
    if given.crowd:
        _bring(given.crowd, given.every, operator, here)
    gated: Any = FairlineMiddleware(shop.app, server=given.fairline, queue=QUEUE, bypass=["/static/*", "/report"])
    uvicorn.Server(uvicorn.Config(gated, log_level="warning")).run(sockets=[listening])


def _bring(crowd: int, every: float, operator: _Operator, here: str) -> None:
    """Have simulated visitors in line before anyone is let in, and from then on."""
    fairline, secret = operator.server, operator.key
    visitors = Crowd(crowd, 2 * every, lambda name: Visitor(name, fairline, QUEUE, here, secret), operator.waiting)
    with contextlib.suppress(*FAILED):  # they try again
        visitors.gather()
    threading.Thread(target=visitors.keep, daemon=True).start()


class _Operator:
    """Sets up the queue of the shop."""

    def __init__(self, server: str, key: str) -> None:
        self.server = server
        self.key = key

    def sets_up(self, *, target_url: str, admission_rate: float, stock: int) -> bool:
        """Make the queue, or set it as at every start; False while the server cannot be reached, as when it is about to
        end. The pace is what makes a wait one can rely on: there is more capacity than it fills, and the line is as
        long as the crowd."""
        settings = {
            "target_url": target_url,
            "admission_rate": admission_rate,
            "burst": 1,
            "max_active": 50,
            "session_seconds": 300,
            "join_limit_per_ip": 0,  # here all come from the same address
        }
        made = {"id": QUEUE, "name": "The lamp shop", "stock": stock}
        queues = "/api/v1/admin/queues"
        try:
            if self._is_there():
                sold = self._ask(f"{queues}/{QUEUE}/stats")["completed"]
                self._ask(f"{queues}/{QUEUE}", "PATCH", settings | {"stock": sold + stock})
            else:
                self._ask(queues, "POST", made | settings)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"The shop cannot make its queue: {error.read().decode()}") from None
        except FAILED:
            return False
        return True

    def _is_there(self) -> bool:
        try:
            self._ask(f"/api/v1/queues/{QUEUE}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return False
        return True

    def waiting(self) -> int:
        """How many are in line, at this moment."""
        return int(self._ask(f"/api/v1/admin/queues/{QUEUE}/stats")["waiting"])

    def _ask(self, path: str, method: str = "GET", body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"{self.server}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return dict(json.load(answer))


def _end_with_server() -> None:
    """Our standard input is the pipe that the server holds. Read without a buffer, whose lock would be in the way of an
    end that comes otherwise."""
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    main()
