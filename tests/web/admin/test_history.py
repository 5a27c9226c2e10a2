"""The history of a queue's settings: who changed what, and the way back."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from fairline.domain.queue_settings import SETTINGS
from fairline.store import Role
from tests.web.admin.desk import MakeQueue, client, moment
from tests.web.running import RunningServer


def history(admin: httpx.Client, queue: str, **query: Any) -> dict[str, Any]:
    answer = admin.get(f"/queues/{queue}/history", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def settings_of(admin: httpx.Client, queue: str) -> dict[str, Any]:
    content = admin.get(f"/queues/{queue}").json()
    return {name: content[name] for name in SETTINGS}


def test_it_tells_who_changed_what_and_when(server: RunningServer, admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(name="Sale")
    made = admin.post("/keys", json={"role": "operator", "name": "Nacht"}).json()
    with client(server, made["key"]) as desk:
        desk.patch(f"/queues/{queue}", json={"admission_rate": 20, "bypass_paths": ["/static/*"]})
        desk.post(f"/queues/{queue}/stock", json={"total": 5})
        desk.post(f"/queues/{queue}/message", json={"text": "soon"})
    newest = admin.get(f"/queues/{queue}").json()["version"]
    found = history(admin, queue)
    assert found["cursor"] is None
    assert [each["version"] for each in found["revisions"]] == [newest, newest - 1, newest - 2, newest - 3]
    assert [each["by"] for each in found["revisions"][:3]] == [{"id": made["id"], "name": "Nacht"}] * 3
    assert found["revisions"][3]["by"]["name"] == "first key"
    assert [each["changes"] for each in found["revisions"]] == [
        {"message": {"from": "", "to": "soon"}},
        {"stock": {"from": None, "to": 5}},
        {"admission_rate": {"from": 10.0, "to": 20.0}, "bypass_paths": {"from": [], "to": ["/static/*"]}},
        {
            "name": {"from": "", "to": "Sale"},
            "admission": {"from": "auto", "to": "manual"},
            "join_limit_per_ip": {"from": 20, "to": 0},
        },
    ]
    times = [moment(each["at"]).timestamp() for each in found["revisions"]]
    assert times == sorted(times, reverse=True)
    assert abs(times[0] - time.time()) < 60

    admin.delete(f"/keys/{made['id']}")
    assert history(admin, queue)["revisions"][0]["by"] == {"id": made["id"], "name": ""}


def test_what_fairline_did_itself_has_nobodys_name(admin: httpx.Client) -> None:
    (*_, first) = history(admin, "demo", limit=200)["revisions"]
    assert first["by"] is None
    assert first["changes"]["name"] == {"from": "", "to": "Demo"}


def test_it_is_read_a_page_at_a_time(admin: httpx.Client, queue: str) -> None:
    for number in range(4):
        admin.patch(f"/queues/{queue}", json={"max_active": number + 1})
    whole = history(admin, queue)["revisions"]
    assert len(whole) == 5
    seen: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = history(admin, queue, limit=2, **({"before": cursor} if cursor else {}))
        seen += page["revisions"]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == whole


def test_before_the_first_version_there_is_nothing(admin: httpx.Client, queue: str) -> None:
    first = admin.get(f"/queues/{queue}").json()["version"]
    answer = admin.get(f"/queues/{queue}/history", params={"before": first})
    assert (answer.status_code, answer.json()) == (200, {"revisions": [], "cursor": None})


def test_a_change_is_undone_by_restoring_the_version_before(admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(name="Before", stock=7, priority_skip=[0, 0.2, 0.4, 1], texts={"waiting_title": "Hallo"})
    before, version = settings_of(admin, queue), admin.get(f"/queues/{queue}").json()["version"]
    changes: dict[str, Any] = {
        "name": "After",
        "stock": None,
        "priority_skip": [0, 0, 0, 0],
        "texts": {},
        "status": "paused",
    }
    changed = admin.patch(f"/queues/{queue}", json=changes)
    answer = admin.post(f"/queues/{queue}/history/{version}/restore")
    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in SETTINGS} == before == settings_of(admin, queue)
    assert answer.json()["version"] == changed.json()["version"] + 1
    assert answer.headers["etag"] == f'"{answer.json()["version"]}"'
    undone = history(admin, queue, limit=1)["revisions"][0]["changes"]
    assert undone["name"] == {"from": "After", "to": "Before"}
    assert set(undone) == set(changes)
    again = admin.post(f"/queues/{queue}/history/{changed.json()['version']}/restore")
    assert again.json()["name"] == "After"


def test_going_back_honours_if_match(admin: httpx.Client, queue: str) -> None:
    version = admin.get(f"/queues/{queue}").json()["version"]
    etag = admin.patch(f"/queues/{queue}", json={"name": "A"}).headers["etag"]
    admin.patch(f"/queues/{queue}", json={"name": "B"})
    late = admin.post(f"/queues/{queue}/history/{version}/restore", headers={"if-match": etag})
    assert (late.status_code, late.json()["code"]) == (412, "settings_changed")
    assert admin.get(f"/queues/{queue}").json()["name"] == "B"
    now = admin.get(f"/queues/{queue}").headers["etag"]
    assert admin.post(f"/queues/{queue}/history/{version}/restore", headers={"if-match": now}).json()["name"] == ""


@pytest.mark.parametrize("version", ["0", "x", "-1", "1.0", "9" * 20, "%00"])
def test_what_is_no_version_is_refused(admin: httpx.Client, queue: str, version: str) -> None:
    answer = admin.post(f"/queues/{queue}/history/{version}/restore")
    assert (answer.status_code, answer.json()["field"]) == (422, "version")


def test_a_version_that_is_not_kept_is_said_to_be_missing(admin: httpx.Client, queue: str) -> None:
    version = admin.get(f"/queues/{queue}").json()["version"]
    for other in (1, version - 1, version + 1):
        answer = admin.post(f"/queues/{queue}/history/{other}/restore")
        assert (answer.status_code, answer.json()["code"]) == (404, "revision_not_found")
        assert str(other) in answer.json()["detail"]
    assert admin.get(f"/queues/{queue}").json()["version"] == version


def test_a_viewer_reads_and_does_not_go_back(server: RunningServer, queue: str, keys: dict[Role, str]) -> None:
    with client(server, keys[Role.VIEWER]) as viewer:
        (first,) = history(viewer, queue)["revisions"]
        answer = viewer.post(f"/queues/{queue}/history/{first['version']}/restore")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
