"""An SMS gateway for Fairline's notices: takes the signed webhook, and writes to people.

    FAIRLINE_WEBHOOK_SECRET=whsec_… python -m examples.sms_gateway --port 8090

Here `write` prints the message. Put the call of your provider there; the rest stays as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import hmac
import json
import os
import sys
import time
from collections import OrderedDict
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: A call older than this many seconds is somebody's recording.
TOLERANCE = 300
#: How many deliveries are remembered, so that none is sent twice.
REMEMBERED = 100_000
LARGEST = 64 * 1024


def write(phone: str, text: str) -> None:
    """Send one text message. An error raised here makes Fairline try again later."""
    print(f"to {phone}: {text}", flush=True)


def is_genuine(secret: str, header: str, body: bytes) -> bool:
    """Whether a post is from our Fairline."""
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    sent, signed = parts.get("t", ""), parts.get("v1", "")
    if not (sent.isascii() and sent.isdigit()) or abs(time.time() - int(sent)) > TOLERANCE:
        return False
    expected = hmac.new(secret.encode(), sent.encode() + b"." + body, sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signed.encode())


class Gateway:
    """Takes notices, each once."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._seen: OrderedDict[str, None] = OrderedDict()

    def take(self, header: str, body: bytes) -> int:
        """What to answer: 2xx is taken, anything else is tried again."""
        if not is_genuine(self._secret, header, body):
            return 401
        notice = json.loads(body)
        if notice["type"] != "notice" or notice["id"] in self._seen:
            return 204  # a ping, or a repeat of what was sent
        phone = (notice["to"] or {}).get("phone")
        if phone:
            write(phone, notice["text"])
        self._seen[notice["id"]] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return 204


def handler_for(gateway: Gateway) -> type[BaseHTTPRequestHandler]:
    """What answers HTTP for a gateway."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            status = 413
            if size <= LARGEST:
                body = self.rfile.read(size)
                status = gateway.take(self.headers.get("x-fairline-signature", ""), body)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing: what was sent is said already, and to whom is nobody's business."""

    return Handler


def main() -> None:
    """Listen until stopped."""
    parser = argparse.ArgumentParser(description="An SMS gateway for Fairline's notices.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8090)
    given = parser.parse_args()
    secret = os.environ.get("FAIRLINE_WEBHOOK_SECRET", "")
    if not secret:
        sys.exit("Set FAIRLINE_WEBHOOK_SECRET to the secret that 'fairline webhook create' printed.")
    server = ThreadingHTTPServer((given.host, given.port), handler_for(Gateway(secret)))
    print(f"listening on http://{given.host}:{server.server_port}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
