"""Serves a WSGI application with the standard library, a thread for each request:
`python -m tests.gate.serve_wsgi module:name port`. What the application does is held against the specification."""

from __future__ import annotations

import importlib
import signal
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.validate import validator


class ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    def log_request(self, *_: object) -> None:
        """The errors are enough."""


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    app = getattr(importlib.import_module(module), name)
    with make_server("127.0.0.1", int(sys.argv[2]), validator(app), ThreadingServer, QuietHandler) as server:
        # An ordinary end, so that what is left to report is reported.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        server.serve_forever()


if __name__ == "__main__":
    main()
