"""A walk-in line on a running server: its staff, the people who come to it, and the form they fill in."""

from __future__ import annotations

import re
import secrets
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.web.running import RunningServer

BROWSER = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Site": "same-origin"}
#: Hours that are not now, whenever that is.
ANOTHER_DAY = {f"{datetime.now(UTC) + timedelta(days=3):%A}".lower(): ["09:00-12:00"]}
_KEY = re.compile(r'name="key" value="([^"]+)"')
WRONG = re.compile(r'<p class="wrong" id="(\w+)-wrong">([^<]*)</p>')


class WalkIn:
    """A walk-in line, its staff, and the people who come to it."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.closing = ExitStack()
        key = {"Authorization": f"Bearer {server.admin_key}"}
        self.staff = self._client(base_url=f"{server.base_url}/api/v1/admin", headers=key)

    def queue(self, **settings: Any) -> str:
        name = f"counter-{secrets.token_hex(4)}"
        usual = {
            "name": "Barber Bo",
            "admission": "manual",
            "join_limit_per_ip": 0,
            "heartbeat_timeout_seconds": 0,
            "phone_region": "DE",
        }
        answer = self.staff.post("/queues", json={"id": name, **usual, **settings})
        assert answer.status_code == 201, answer.text
        return name

    def someone(self, **headers: str) -> httpx.Client:
        return self._client(base_url=self.server.base_url, headers=BROWSER | headers)

    def tickets(self, queue: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.staff.get(f"/queues/{queue}/tickets").json()["tickets"]
        return found

    def _client(self, **options: Any) -> httpx.Client:
        return self.closing.enter_context(httpx.Client(**options))


def form_of(someone: httpx.Client, queue: str, lang: str = "") -> str:
    """The key of a new form."""
    answer = someone.get(f"/join/{queue}", params={"lang": lang} if lang else {})
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (200, "form")
    assert answer.headers["cache-control"] == "no-store"
    (key,) = _KEY.findall(answer.text)
    return str(key)


def send(someone: httpx.Client, queue: str, key: str, lang: str = "", **fields: str) -> httpx.Response:
    return someone.post(f"/join/{queue}" + (f"?lang={lang}" if lang else ""), data={"key": key, **fields})


def wrong(answer: httpx.Response) -> dict[str, str]:
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (422, "form")
    return dict(WRONG.findall(answer.text))
