"""A reader with a folder that looks like a checkout, a home of their own, and a server that runs already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.backends import HOST, free_ports
from tests.docs.pages import ROOT
from tests.docs.reader import Reader
from tests.docs.terminal import Terminal
from tests.mailbox import Mailbox
from tests.receiver import Receiver
from tests.web.running import RunningServer

#: What a reader has on the machine, apart from what make and pip put there.
LINKED = ("Makefile", "deploy", "examples", "scripts", "src")
COPIED = ("pyproject.toml", "constraints.txt", "README.md")
NewReader = Callable[..., Reader]

#: Variables that a reader does not have: settings, and what the `make test` that runs this tells its children.
OF_THE_CALLER = ("FAIRLINE_", "MAKE", "MFLAGS", "ARGS")


@pytest.fixture
def new_reader(tmp_path: Path) -> Iterator[NewReader]:
    """Someone at a terminal. `server` runs already; without it the page starts one."""
    checkout = _checkout(tmp_path)
    with ExitStack() as stack:

        def make(server: RunningServer | None = None, **elsewhere: str) -> Reader:
            port, shop, site = (server.port if server else free_ports(1)[0]), *free_ports(2)
            environ = {name: value for name, value in os.environ.items() if not name.startswith(OF_THE_CALLER)}
            environ |= {
                "HOME": str(tmp_path),
                "PATH": f"{checkout / '.venv/bin'}:{environ['PATH']}",
                "COLUMNS": "100",
                "NO_COLOR": "1",
                "FAIRLINE_PORT": str(port),
                "FAIRLINE_WORKERS": "1",
            }
            environ.pop("XDG_DATA_HOME", None)
            data = tmp_path / ".local/share/fairline"
            if server:
                data = server.data
                environ["FAIRLINE_DATA"] = str(data)
            here = {f":{old}": f":{new}" for old, new in ((8080, port), (8090, shop), (8000, site))}
            here |= {f"--port {old}": f"--port {new}" for old, new in ((8080, port), (8090, shop), (8000, site))}
            here["--host 0.0.0.0"] = f"--host {HOST}"
            reader = Reader(
                lambda: Terminal(checkout, environ), checkout, f"http://{HOST}:{port}", data, here | elsewhere
            )
            stack.callback(reader.close)
            return reader

        yield make


def _checkout(folder: Path) -> Path:
    """A folder as `git clone` and `make setup` leave it; nothing in it is newer than the environment."""
    checkout = folder / "fairline"
    (checkout / ".venv").mkdir(parents=True)
    for name in LINKED:
        (checkout / name).symlink_to(ROOT / name)
    for name in COPIED:
        (checkout / name).write_bytes((ROOT / name).read_bytes())
        os.utime(checkout / name, (0, 0))
    for part in Path(sys.prefix).iterdir():
        (checkout / ".venv" / part.name).symlink_to(part)
    dry = subprocess.run(["make", "--dry-run", "run"], cwd=checkout, capture_output=True, text=True, check=True)
    assert "pip install" not in dry.stdout, "what runs this is not as make leaves it: run `make setup`"
    # An answer of 4xx or 5xx is an error here, as it would be to the reader.
    (folder / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n", encoding="utf-8")
    return checkout


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    """Takes webhooks."""
    made = Receiver()
    yield made
    made.down()


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    """Takes mail."""
    made = Mailbox()
    yield made
    made.down()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox) -> Iterator[RunningServer]:
    """The server that most how-tos take for granted."""
    environ = {
        "FAIRLINE_WEBHOOK_PRIVATE_ADDRESSES": "allow",
        "FAIRLINE_SMTP_URL": f"smtp://127.0.0.1:{mailbox.port}?starttls=no",
        "FAIRLINE_MAIL_FROM": "line@bakery.example",
    }
    server = RunningServer(tmp_path_factory.mktemp("docs"), workers=1, environ=environ)
    yield server
    server.stop()


@pytest.fixture
def server(running: RunningServer) -> RunningServer:
    """That server with the queues of someone who has done the tutorial: `demo` and `sale`, and no other."""
    headers = {"authorization": f"Bearer {running.admin_key}"}
    with httpx.Client(base_url=f"{running.base_url}/api/v1/admin", headers=headers) as admin:
        for queue in admin.get("/queues").raise_for_status().json()["queues"]:
            admin.delete(f"/queues/{queue['id']}").raise_for_status()
        for queue in ("demo", "sale"):
            settings = {"id": queue, "target_url": "https://shop.example/"}
            admin.post("/queues", json=settings).raise_for_status()
    return running
