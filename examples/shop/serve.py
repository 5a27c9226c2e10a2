"""Serves the shop: `python -m examples.shop.serve --port 8090`, behind a proxy that asks Fairline.

With `--beside` it stands by itself behind Fairline's gate for Python sites, next to a server that was started with the
same options: that is how `make run` shows what this is all about.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from examples.shop.shop import Shop
from fairline.gate.asgi import FairlineMiddleware
from fairline.settings import ServerSettings, load

STOCK = 50
QUEUE = {
    "id": "shop",
    "name": "The lamp shop",
    "max_active": 3,
    "admission_rate": 1,
    "stock": STOCK,
    "session_seconds": 300,
}
PORT = 8090
READY_SECONDS = 60


def main() -> None:
    """Serve until told to end."""
    options = argparse.ArgumentParser(description="A small shop to put Fairline in front of.")
    options.add_argument("--beside", action="store_true", help="next to a server; other options are the server's")
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int)
    options.add_argument("--fairline", default="http://127.0.0.1:8080", help="the Fairline server")
    options.add_argument("--stock", type=int, default=STOCK, help="how many lamps there are")
    given, others = options.parse_known_args()
    if given.beside:
        threading.Thread(target=_end_with_server, daemon=True).start()
        serve_beside(_settings_of(given, others))
    else:
        shop = Shop(given.fairline, given.stock)
        uvicorn.run(shop.app, host=given.host, port=given.port or PORT, log_level="warning")


def serve_beside(settings: ServerSettings) -> None:
    """Wait for the server, make the queue of the shop, and open it behind the gate."""
    base = f"http://{settings.host}:{settings.port}"
    listening = _listen()
    here = f"http://127.0.0.1:{listening.getsockname()[1]}"
    _until_true(lambda: _is_there(f"{base}/readyz"))
    _make_queue(base, _admin_key(settings), f"{here}/")
    shop = Shop(base, STOCK)
    gated: Any = FairlineMiddleware(shop.app, server=base, queue=QUEUE["id"], bypass=["/static/*", "/report"])
    print(
        f"A shop with a line in front of it: {here}/  (open it in four browsers: there is room for three)", flush=True
    )
    uvicorn.Server(uvicorn.Config(gated, log_level="warning")).run(sockets=[listening])


def _settings_of(given: argparse.Namespace, others: list[str]) -> ServerSettings:
    """The settings of the server, by the options that it was started with."""
    flags = argparse.ArgumentParser()
    for name in ("store", "data", "workers", "role", "config"):
        flags.add_argument(f"--{name}")
    named = vars(flags.parse_known_args(others)[0])
    file = named.pop("config")
    host = given.host if "--host" in sys.argv else None
    return load(file=Path(file) if file else None, flags={**named, "host": host, "port": given.port})


def _listen() -> socket.socket:
    for port in (PORT, 0):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            listening.close()
        else:
            return listening
    raise SystemExit("There is no port for the shop.")


def _admin_key(settings: ServerSettings) -> str:
    return os.environ.get("FAIRLINE_ADMIN_KEY") or (Path(settings.data) / "admin-key").read_text().strip()


def _make_queue(base: str, key: str, target: str) -> None:
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    body = json.dumps({**QUEUE, "target_url": target}).encode()
    _send(urllib.request.Request(f"{base}/api/v1/admin/queues", body, headers))
    # It may be there from before, with the shop at another address.
    change = json.dumps({"target_url": target}).encode()
    _send(urllib.request.Request(f"{base}/api/v1/admin/queues/{QUEUE['id']}", change, headers, method="PATCH"))


def _send(request: urllib.request.Request) -> None:
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise SystemExit(f"The shop cannot make its queue: {error.read().decode()}") from None


def _is_there(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True


def _until_true(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("The shop has no Fairline server to stand behind.")
        time.sleep(0.2)


def _end_with_server() -> None:
    """Our standard input is the pipe that the server holds."""
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
