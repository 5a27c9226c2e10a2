"""Real sites, served by real servers, and people who visit them."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from fairline.domain.tokens import Keyring
from tests.backends import HOST, end, wait_until
from tests.gate.snippets import snippet
from tests.web.running import RunningServer

ROOT = Path(__file__).parents[2]
PAGE = "how-to/protect-a-python-site.md"
#: The sites of the how-to: the file they are in, the application, and the kind of server.
SITES = {
    "starlette": ("starlette_site", "app", "asgi"),
    "fastapi": ("fastapi_site", "app", "asgi"),
    "django": ("django_site", "application", "wsgi"),
    "django-asgi": ("django_asgi_site", "application", "asgi"),
    "flask": ("flask_site", "app", "wsgi"),
}
#: What browsers say when someone goes to an address.
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "user-agent": "Browser/1"}


def client(url: str, *, headers: dict[str, str] | None = None, address: str = HOST) -> httpx.Client:
    """A client from that address. It reads no certificates, which takes longer than most tests here."""
    transport = httpx.HTTPTransport(local_address=address, verify=False)
    return httpx.Client(base_url=url, headers=headers, transport=transport, timeout=30, trust_env=False)


class Fairline:
    """A Fairline server as the tests of sites use it."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.url = server.base_url
        headers = {"authorization": f"Bearer {server.admin_key}"}
        self.admin = client(f"{self.url}/api/v1/admin", headers=headers)
        self._public = client(f"{self.url}/api/v1")

    def close(self) -> None:
        self.admin.close()
        self._public.close()

    def queue(self, **settings: Any) -> str:
        """A new queue that lets people in without delay."""
        name = f"q-{secrets.token_hex(4)}"
        usual = {"id": name, "admission_rate": 1000, "join_limit_per_ip": 0, "target_url": "http://shop.test/"}
        answer = self.admin.post("/queues", json=usual | settings)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def queues(self) -> set[str]:
        """All queues that are there."""
        return {queue["id"] for queue in self.admin.get("/queues").raise_for_status().json()["queues"]}

    def keep_only(self, kept: set[str]) -> None:
        """Delete the other queues."""
        for name in self.queues() - kept:
            self.admin.delete(f"/queues/{name}").raise_for_status()

    def change(self, queue: str, **settings: Any) -> None:
        assert self.admin.patch(f"/queues/{queue}", json=settings).status_code == 200

    def join(self, queue: str) -> str:
        """Someone new joins; the token of their ticket."""
        answer = self._public.post(f"/queues/{queue}/join", json={"client_id": secrets.token_hex(8)})
        self._public.cookies.clear()
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])

    def status(self, token: str) -> dict[str, Any]:
        found: dict[str, Any] = self._public.get("/status", headers={"authorization": f"Bearer {token}"}).json()
        return found

    def admitted(self, queue: str) -> tuple[str, int]:
        """Someone new is let in: their session token and the number of their ticket."""
        token = self.join(queue)
        found: dict[str, Any] = {}

        def is_in() -> bool:
            found.update(self.status(token))
            return bool(found["status"] == "admitted")

        wait_until(is_in, "nobody is let in")
        return found["session_token"], found["ticket"]

    def ticket(self, queue: str, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.admin.get(f"/queues/{queue}/tickets/{number}").json()
        return found

    def revoke(self, queue: str, number: int) -> None:
        answer = self.admin.post(f"/queues/{queue}/revoke", json={"ticket": number, "reason": "abuse_detected"})
        assert answer.status_code == 200, answer.text

    def keyring(self) -> Keyring:
        """The keys of the server, at its first generation."""
        return Keyring((self.server.data / "secret").read_text(encoding="utf-8").strip().encode(), 1)

    def waiting_page(self, queue: str, address: str) -> str:
        return f"{self.url}/q/{queue}?return={quote(address, safe='')}"


class Site:
    """A site in a process of its own, ready after a while. `options` are added to those of its gate."""

    def __init__(self, folder: Path, kind: str, fairline: Fairline, queue: str, source: str = "", **options: Any):
        module, name, self.interface = SITES[kind]
        self.queue = queue
        self.fairline = fairline
        # On a busy machine the server may be slow: nobody is turned away for that.
        ours = {"queue": queue, "report_seconds": 0.2, "time_limit_seconds": 20} | options
        code = source or snippet(PAGE, f"{module}.py")
        code = code.replace('"http://127.0.0.1:8080"', repr(fairline.url))
        code = code.replace('queue="demo"', ", ".join(f"{key}={value!r}" for key, value in ours.items()))
        assert fairline.url in code
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
        self._log = folder / "site.log"
        self._start(folder, f"{module}:{name}")

    def _start(self, folder: Path, target: str) -> None:
        command = [sys.executable, "-m"]
        # It is given the socket: a client that connects before it is up waits for it, and no other program can
        # listen there.
        with socket.create_server((HOST, 0), backlog=128) as listening, self._log.open("ab") as log:
            self.port = listening.getsockname()[1]
            self.url = f"http://{HOST}:{self.port}"
            number = str(listening.fileno())
            if self.interface == "asgi":
                command += ["uvicorn", target, "--fd", number, "--log-level", "warning"]
            else:
                command += ["tests.gate.serve_wsgi", target, number]
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[listening.fileno()],
            )

    def ready(self) -> None:
        """Wait until it answers."""
        with self.visitor() as visitor:
            try:
                answer = visitor.get("/healthz")
            except httpx.TransportError as error:
                raise AssertionError(f"the site does not answer: {error!r}\n{self.log()}") from None
        assert answer.status_code == 200, (answer.status_code, answer.text, self.log())

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def stop(self) -> None:
        end(self.process, 10)

    def visitor(self, *, address: str = HOST, **headers: str) -> httpx.Client:
        """A browser with cookies of its own, which does not follow redirects."""
        sent = BROWSER | {name.replace("_", "-"): value for name, value in headers.items()}
        return client(self.url, headers=sent, address=address)

    @contextmanager
    def arrive(self, token: str) -> Iterator[httpx.Client]:
        """Someone comes from the waiting page, and is inside."""
        with self.visitor() as visitor:
            answer = visitor.get("/seats", params={"fairline_session": token}, follow_redirects=True)
            assert answer.status_code == 200, (answer.status_code, answer.text, self.log())
            yield visitor

    def is_refused(self, visitor: httpx.Client) -> bool:
        answer = visitor.get("/seats")
        assert answer.status_code in {200, 302}, (answer.status_code, answer.text)
        if answer.status_code == 302:
            assert answer.headers["location"] == self.fairline.waiting_page(self.queue, "/seats")
        return answer.status_code == 302


@contextmanager
def running(*starting: Site) -> Iterator[None]:
    """Sites that come up side by side, and end."""
    try:
        for site in starting:
            site.ready()
        yield
    finally:
        for site in starting:
            site.stop()


def awaited(found: Callable[[], bool]) -> None:
    """Wait until `found()` is true."""
    wait_until(found, "it never came about")
