"""Someone who takes mail: a real SMTP server that answers as the test says, and remembers what came."""

from __future__ import annotations

import base64
import contextlib
import socketserver
import ssl
import threading
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import NamedTuple

from tests.backends import HOST


class Mail(NamedTuple):
    """One message that was taken."""

    sender: str
    to: str
    secure: bool
    raw: bytes

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.raw, policy=default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def text(self) -> str:
        body = self.message.get_body(("plain",))
        assert body is not None
        return str(body.get_content()).strip()

    @property
    def html(self) -> str:
        body = self.message.get_body(("html",))
        assert body is not None
        return str(body.get_content())


class Mailbox:
    """Listens on a port of its own, which it keeps when it comes back after having been down. `refuse` says what is
    answered to a command instead of yes: `lambda line: "451 later" if line.startswith("RCPT") else None`."""

    def __init__(self, tls: ssl.SSLContext | None = None, *, implicit: bool = False) -> None:
        self.mails: list[Mail] = []
        self.refuse: Callable[[str], str | None] = lambda _: None
        self.signed_in: list[str] = []
        self.tries = 0
        self.port = 0
        self.tls, self.implicit = tls, implicit
        self._server: socketserver.ThreadingTCPServer | None = None
        self.up()

    def texts(self, to: str) -> list[str]:
        """What someone received, in order."""
        return [mail.text for mail in self.mails if mail.to == to]

    def up(self) -> None:
        box = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                talk = _Talk(box, self)
                with contextlib.suppress(OSError, ValueError):
                    talk.go()
                talk.end()

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True
            request_queue_size = 100

        self._server = Server((HOST, self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Talk:
    """One connection."""

    def __init__(self, box: Mailbox, handler: socketserver.StreamRequestHandler) -> None:
        self._box = box
        self._socket = handler.connection
        self._secure = False
        self._sender = self._to = ""

        self._files()

    def go(self) -> None:
        if self._box.implicit:
            self._wrap()
        self._say("220 here")
        while line := self._in.readline().decode().strip():
            if not self._answered(line):
                return

    def _answered(self, line: str) -> bool:
        verb = line.partition(" ")[0].upper()
        if verb == "RCPT":
            self._box.tries += 1
        if refusal := self._box.refuse(line):
            self._say(refusal)
            return True
        match verb:
            case "EHLO":
                offered = ["here", "AUTH PLAIN"] + (["STARTTLS"] if self._box.tls and not self._secure else [])
                for offer in offered[:-1]:
                    self._say(f"250-{offer}")
                self._say(f"250 {offered[-1]}")
            case "STARTTLS":
                self._say("220 go on")
                self._wrap()
            case "AUTH":
                self._box.signed_in.append(base64.b64decode(line.split()[-1]).decode())
                self._say("235 welcome")
            case "MAIL":
                self._sender = line[line.index("<") + 1 : line.index(">")]
                self._say("250 fine")
            case "RCPT":
                self._to = line[line.index("<") + 1 : line.index(">")]
                self._say("250 fine")
            case "DATA":
                self._say("354 go on")
                lines = []
                while (content := self._in.readline()) not in (b".\r\n", b""):
                    lines.append(content.removeprefix(b"."))
                self._box.mails.append(Mail(self._sender, self._to, self._secure, b"".join(lines)))
                self._say("250 taken")
            case "QUIT":
                self._say("221 bye")
                return False
            case _:
                self._say("500 what?")
        return True

    def _wrap(self) -> None:
        assert self._box.tls is not None
        self._socket = self._box.tls.wrap_socket(self._socket, server_side=True)
        self._secure = True
        self._files()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._in.close()
            self._socket.close()

    def _files(self) -> None:
        self._in = self._socket.makefile("rb")

    def _say(self, line: str) -> None:
        self._socket.sendall(line.encode() + b"\r\n")
