"""The statistics of a queue, and what happened in it."""

from __future__ import annotations

import httpx

from fairline.domain.ticket import Reason
from tests.web.admin.desk import (
    Join,
    MakeQueue,
    moment,
)


def test_the_statistics_are_those_of_what_happened(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(6):
        join(queue)
    admin.post(f"/queues/{queue}/call-next", json={"count": 4})
    for path in ("1/start", "1/complete", "2/start", "3/no-show", "4/return", "6/cancel"):
        assert admin.post(f"/queues/{queue}/tickets/{path}").status_code == 200
    stats = admin.get(f"/queues/{queue}/stats").json()
    expected = {
        "queue": queue,
        "waiting": 2,
        "admitted": 0,
        "active": 1,
        "joined_total": 6,
        "admitted_total": 4,
        "returned_total": 1,
        "completed": 1,
        "expired": 2,
        "expired_by_reason": {reason: int(reason in ("no_show", "cancelled")) for reason in Reason},
        "peak_waiting": 6,
    }
    assert expected.items() <= stats.items()
    assert 1 <= stats["joins_per_minute"] <= 6
    assert 1 <= stats["admissions_per_minute"] <= 4
    waits = [stats[f"wait_{name}_seconds"] for name in ("p50", "p90", "p99")]
    assert waits == sorted(waits)
    assert 0 <= stats["average_wait_seconds"] < 20
    assert moment(stats["last_admission_at"]) <= moment(stats["at"])
    hours = admin.get(f"/queues/{queue}/stats/hourly").json()["hours"]
    assert sum(hour["joined"] for hour in hours) == 6
    assert sum(hour["expired_by_reason"]["no_show"] for hour in hours) == 1
    assert all(moment(hour["start"]).minute == 0 for hour in hours)


def test_a_queue_nobody_joined_has_statistics_too(admin: httpx.Client, queue: str) -> None:
    stats = admin.get(f"/queues/{queue}/stats").json()
    assert (stats["joined_total"], stats["average_wait_seconds"], stats["last_admission_at"]) == (0, None, None)
    assert admin.get(f"/queues/{queue}/stats/hourly").json() == {"hours": []}


# Events


def test_events_are_read_on_from_where_one_stopped(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(5):
        join(queue)
    seen: list[tuple[str, int | None]] = []
    after = ""
    while True:
        page = admin.get(f"/queues/{queue}/events", params={"after": after, "limit": 2}).json()
        if not page["events"]:
            assert page["after"] == after
            break
        assert len(page["events"]) <= 2
        after = page["after"]
        assert after == page["events"][-1]["id"]
        assert all(moment(event["at"]) for event in page["events"])
        seen += [(event["type"], event["ticket"]) for event in page["events"]]
    assert seen == [("queue_created", None), *(("joined", number) for number in range(1, 6))]
    latest = admin.get(f"/queues/{queue}/events?after=latest").json()
    assert latest == {"events": [], "after": after}


def test_an_event_has_the_label_of_its_ticket(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> None:
    queue = make_queue(series=["A"], ticket_prefix="TH")
    label = join(queue)["label"]
    assert label == "RTH-A0001"
    events = admin.get(f"/queues/{queue}/events").json()["events"]
    assert {event["type"]: event["label"] for event in events if event["ticket"]} == {"joined": label}
    assert next(event["label"] for event in events if event["type"] == "queue_created") is None
