"""The queues as they are now, live."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec

from fairline.store import Role
from fairline.web.admin.live import EVENTS_SHOWN
from tests.backends import wait_until
from tests.web.admin.desk import ADMIN, Join, MakeQueue
from tests.web.running import RunningServer


@contextmanager
def watching(server: RunningServer, key: str, path: str) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """What a stream sends, as name and data."""
    headers = {"authorization": f"Bearer {key}", "accept": "text/event-stream"}
    with httpx.stream("GET", f"{server.base_url}{ADMIN}{path}", headers=headers, timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")

        def told() -> Iterator[tuple[str, dict[str, Any]]]:
            name = ""
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, msgspec.json.decode(value)

        yield told()


def test_a_change_is_told(
    admin: httpx.Client, server: RunningServer, keys: dict[Role, str], queue: str, join: Join
) -> None:
    with watching(server, keys[Role.VIEWER], f"/queues/{queue}/live") as told:
        name, first = next(told)
        assert (name, first["glance"]["id"], first["stats"]["waiting"]) == ("now", queue, 0)
        join(queue)
        admin.patch(f"/queues/{queue}", json={"status": "paused"})
        wanted = {"now", "event"}
        seen: list[str] = []
        for name, data in told:
            seen.append(name)
            if name == "now" and data["glance"]["status"] == "paused" and data["stats"]["waiting"] == 1:
                wanted.discard("now")
            if name == "event" and data["type"] == "settings_changed":
                wanted.discard("event")
            if not wanted:
                break
        assert "event" in seen


def test_of_a_rush_only_the_last_events_are_told(
    server: RunningServer, keys: dict[Role, str], queue: str, join: Join
) -> None:
    many = EVENTS_SHOWN * 3
    with watching(server, keys[Role.VIEWER], f"/queues/{queue}/live") as told:
        next(told)
        for _ in range(many):
            join(queue)
        tickets, left_out = [], 0
        for name, data in told:
            if name == "event":
                tickets.append(data["ticket"])
            left_out += data.get("at_least", 0) if name == "left_out" else 0
            if tickets and tickets[-1] == many:
                break
        assert tickets == sorted(tickets)
        assert len(tickets) + left_out == many


def test_a_stream_says_when_its_queue_is_gone(
    admin: httpx.Client, server: RunningServer, keys: dict[Role, str], make_queue: MakeQueue
) -> None:
    queue = make_queue()
    with watching(server, keys[Role.VIEWER], f"/queues/{queue}/live") as told:
        next(told)
        admin.delete(f"/queues/{queue}")
        assert [data for name, data in told if name == "ended"] == [{"code": "queue_not_found"}]


def test_all_queues_are_told_at_a_glance(
    admin: httpx.Client, server: RunningServer, keys: dict[Role, str], make_queue: MakeQueue, join: Join
) -> None:
    with watching(server, keys[Role.VIEWER], "/live") as told:
        next(told)
        queue = make_queue(name="Night", stock=5)
        join(queue)
        found: list[dict[str, Any]] = []
        for _, data in told:
            found = [each for each in data["queues"] if each["id"] == queue]
            if found and found[0]["waiting"]:
                break
    assert found[0]["name"] == "Night"
    assert (found[0]["stock_left"], found[0]["ticket_prefix"]) == (5, queue.upper())
    assert "page_template" not in found[0]


def test_without_a_stream_the_same_is_told_once(admin: httpx.Client, queue: str, join: Join) -> None:
    label = join(queue)["label"]
    now = admin.get(f"/queues/{queue}/live").json()
    assert (now["stats"]["waiting"], now["glance"]["waiting"]) == (1, 1)
    assert label == f"R{now['glance']['ticket_prefix']}-000001"
    wait_until(lambda: queue in [each["id"] for each in admin.get("/live").json()["queues"]], "the queue is not listed")
