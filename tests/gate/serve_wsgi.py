"""Serves a WSGI application with the standard library, a thread for each request:
`python -m tests.gate.serve_wsgi module:name number`, the number being that of a socket that listens already. What the
application does is checked against the specification."""

from __future__ import annotations

import importlib
import signal
import socket
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.validate import validator


class ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening.getsockname(), QuietHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = listening.getsockname()
        self.setup_environ()


class QuietHandler(WSGIRequestHandler):
    def log_request(self, *_: object) -> None:
        """The errors are enough."""


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    app = getattr(importlib.import_module(module), name)
    with ThreadingServer(socket.socket(fileno=int(sys.argv[2]))) as server:
        server.set_app(validator(app))
        # An ordinary end, so that what is left to report is reported.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        server.serve_forever()


if __name__ == "__main__":
    main()
