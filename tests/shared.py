"""What all tests of a folder use one after the other: servers that take a while to start."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar

import httpx

from tests.web.running import RunningServer

T = TypeVar("T")


class Shared:
    """Servers that tests share. They end as soon as a process goes on to tests of another folder: a server looks after
    its queues in every second, also after those of tests that are over, and the other tests would be slower for it."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._ending = ExitStack()

    def get(self, key: Hashable, make: Callable[[], AbstractContextManager[T]]) -> T:
        """What has this key, made when it is first wanted."""
        if key not in self._kept:
            self._kept[key] = self._ending.enter_context(make())
        found: T = self._kept[key]
        return found

    def end(self) -> None:
        """End all of them."""
        self._kept.clear()
        self._ending.close()


SHARED = Shared()


def remove_queues(server: RunningServer) -> None:
    """Leave a server with the queue that it began with."""
    headers = {"authorization": f"Bearer {server.admin_key}"}
    with httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=headers) as admin:
        for queue in admin.get("/queues").raise_for_status().json()["queues"]:
            if queue["id"] != "demo":
                admin.delete(f"/queues/{queue['id']}").raise_for_status()
