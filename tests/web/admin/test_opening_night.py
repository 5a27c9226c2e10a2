"""Before the night of an opening and after it: the checklist, the rehearsal, and the report."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from fairline.store import Role
from tests.backends import wait_until
from tests.web.admin.desk import Join, MakeQueue, client
from tests.web.running import RunningServer

STEPS = ["prequeue", "join", "held", "start", "receipts", "order", "pace", "everyone", "end", "wiped"]


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def plan(admin: httpx.Client, queue: str, **fields: Any) -> str:
    """The path of an opening that is planned for tomorrow, unless it says otherwise."""
    usual = {"prequeue_at": in_seconds(86_400), "starts_at": in_seconds(88_200), "ends_at": in_seconds(95_400)}
    answer = admin.post(f"/queues/{queue}/openings", json=usual | fields)
    assert answer.status_code == 201, answer.text
    return f"/queues/{queue}/openings/{answer.json()['id']}"


def found(admin: httpx.Client, path: str, query: str = "", **headers: str) -> dict[str, dict[str, Any]]:
    answer = admin.get(f"{path}/checklist{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return {each["check"]: each for each in answer.json()["checks"]}


def states(checks: dict[str, dict[str, Any]], *names: str) -> list[str]:
    return [checks[name]["state"] for name in names]


def rehearse(admin: httpx.Client, path: str) -> dict[str, Any]:
    """Begin a rehearsal, and wait for its end."""
    answer = admin.post(f"{path}/rehearsal", json={})
    assert answer.status_code == 202, answer.text
    assert answer.json()["state"] == "running"
    last: dict[str, Any] = {}

    def over() -> bool:
        last.update(admin.get(f"{path}/rehearsal").json()["rehearsal"])
        return bool(last["state"] != "running")

    wait_until(over, "the rehearsal does not end")
    return last


def hidden_queues(server: RunningServer) -> list[str]:
    return [line["queue"] for line in server.logs("opening.step") if line["queue"].startswith("rehearsal-")]


def test_the_checklist_names_what_has_to_be_mended_and_what_to_do(admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(
        admission="auto",
        status="maintenance",
        admission_rate=2,
        max_active=500,
        stock=3000,
        target_url="http://shop.invalid/",
    )
    path = plan(admin, queue, draw="random")
    good = found(admin, path)
    assert states(
        good, "before", "prequeue", "stock", "pace", "capacity", "line", "end", "phones", "keeper", "files"
    ) == [*["ok"] * 10]
    assert good["stock"]["found"] == "3,000 to sell."
    assert good["pace"]["found"] == "3,000 people are let in within 25 min."
    assert not good["pace"]["advice"]
    # There is no site of that name, and neither a beacon nor a public address is set up here.
    assert states(good, "target", "draw", "address", "rehearsal") == ["problem", "look", "look", "look"]
    assert "did not answer" in good["target"]["found"]
    assert "secret alone" in good["draw"]["found"]
    assert all(each["advice"] for each in good.values() if each["state"] != "ok")

    slow = found(admin, path, "?people=50001")
    assert states(slow, "pace", "line") == ["problem", "problem"]
    assert "only 14,400 before its end" in slow["pace"]["found"]
    assert admin.get(f"{path}/checklist?people=many").json()["code"] == "invalid_request"

    admin.patch(f"/queues/{queue}", json={"status": "active", "stock": None, "closed_page_seconds": 10})
    admin.patch(path, json={"settings": {"admission_rate": 0, "heartbeat_timeout_seconds": 20}, "ends_at": None})
    bad = found(admin, path)
    assert states(bad, "before", "stock", "pace", "end", "phones") == ["look", "look", "problem", "look", "look"]
    admin.patch(f"/queues/{queue}", json={"opening_hours": {"monday": ["00:00-00:01"]}})
    assert found(admin, path)["hours"]["state"] == "problem"


def test_the_checklist_is_in_the_language_of_its_reader(admin: httpx.Client, make_queue: MakeQueue) -> None:
    path = plan(admin, make_queue(admission="auto", stock=5))
    german = found(admin, path, **{"accept-language": "de"})["stock"]
    assert (german["title"], german["found"]) == ("Bestand", "5 zu verkaufen.")


def test_a_later_opening_is_checked_as_it_will_find_the_queue(admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue(admission="auto", status="maintenance", max_active=700, admission_rate=3)
    times = {"prequeue_at": None, "starts_at": in_seconds(0.3), "ends_at": in_seconds(3600)}
    first = plan(admin, queue, settings={"max_active": 20}, **times)
    later = plan(admin, queue)
    wait_until(lambda: admin.get(first).json()["state"] == "open", "the first opening does not begin")
    assert admin.get(f"{later}/preview").json()["max_active"] == 700
    checks = found(admin, later)
    assert states(checks, "before", "capacity") == ["ok", "ok"]
    assert checks["capacity"]["found"] == "700 people fit inside at once."


def test_a_rehearsal_plays_the_opening_and_leaves_nothing_behind(
    server: RunningServer, admin: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(
        admission="auto",
        status="maintenance",
        admission_rate=25,
        stock=9,
        ask_phone="required",
        require_user_token=True,
        opening_hours={"monday": ["00:00-00:01"]},
    )
    path = plan(admin, queue, draw="random", after="close", settings={"max_active": 60}, add_stock=100)
    assert admin.get(f"{path}/rehearsal").json() == {"rehearsal": None}
    before = admin.get(f"/queues/{queue}").json()
    listed: list[str] = []
    answer = admin.post(f"{path}/rehearsal", json={})
    assert answer.status_code == 202
    again = admin.post(f"{path}/rehearsal", json={})
    assert (again.status_code, again.json()["code"]) == (409, "rehearsal_running")

    def over() -> bool:
        listed.extend(each["id"] for each in admin.get("/queues").json()["queues"])
        listed.extend(each["id"] for each in admin.get("/live").json()["queues"])
        return bool(admin.get(f"{path}/rehearsal").json()["rehearsal"]["state"] != "running")

    wait_until(over, "the rehearsal does not end")
    last = admin.get(f"{path}/rehearsal").json()["rehearsal"]
    assert (last["state"], [step["step"] for step in last["steps"]]) == ("passed", STEPS), last
    assert last["people"] == 50
    words = {step["step"]: step["found"] for step in last["steps"]}
    assert words["receipts"] == "All 50 receipts prove their rank."
    assert words["end"] == "After the end the queue is closed."
    assert "rehearsal" not in " ".join(listed)
    (stage,) = set(hidden_queues(server))
    assert admin.get(f"/queues/{stage}").status_code == 404
    assert admin.get(f"/queues/{queue}").json() == before
    assert found(admin, path)["rehearsal"]["state"] == "ok"
    admin.patch(path, json={"settings": {"max_active": 61}})
    changed = found(admin, path)["rehearsal"]
    assert (changed["state"], "have changed" in changed["found"]) == ("look", True)


def test_a_rehearsal_finds_that_nobody_is_let_in(admin: httpx.Client, make_queue: MakeQueue) -> None:
    path = plan(admin, make_queue(admission="auto"), settings={"admission_rate": 0, "max_queue_size": 3})
    last = rehearse(admin, path)
    assert (last["state"], last["people"]) == ("failed", 3)
    assert {step["step"] for step in last["steps"] if not step["passed"]} == {"order", "pace"}
    assert found(admin, path)["rehearsal"]["state"] == "problem"


def test_staff_call_people_in_the_rehearsal_of_a_walk_in_line(admin: httpx.Client, make_queue: MakeQueue) -> None:
    path = plan(admin, make_queue(desks=["Desk 1"], max_queue_size=12), prequeue_at=None)
    last = rehearse(admin, path)
    assert last["state"] == "passed", last
    assert next(step["found"] for step in last["steps"] if step["step"] == "pace") == "12 people were called."


def test_only_an_opening_that_is_to_come_is_rehearsed_and_only_by_operators(
    server: RunningServer, admin: httpx.Client, make_queue: MakeQueue, keys: dict[Role, str]
) -> None:
    queue = make_queue()
    path = plan(admin, queue, prequeue_at=None, starts_at=in_seconds(0.3))
    wait_until(lambda: admin.get(path).json()["state"] == "open", "the opening does not begin")
    assert admin.post(f"{path}/rehearsal", json={}).json()["field"] == "opening"
    with client(server, keys[Role.VIEWER]) as viewer:
        assert viewer.post(f"{path}/rehearsal", json={}).json()["code"] == "forbidden"
        assert viewer.get(f"{path}/checklist").status_code == 200


def test_nobody_can_take_the_name_of_a_rehearsal(admin: httpx.Client) -> None:
    """A keeper would delete the queue."""
    answer = admin.post("/queues", json={"id": f"rehearsal-{int(1000 * time.time())}-0123456789abcdef"})
    assert (answer.status_code, answer.json()["field"]) == (422, "id")
    made = admin.post("/queues", json={"id": "rehearsal-room"})
    assert made.status_code == 201
    assert admin.delete("/queues/rehearsal-room").status_code == 204


def test_the_report_of_an_opening_says_what_it_did(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> None:
    queue = make_queue(admission="auto", status="maintenance", admission_rate=100)
    times = {"prequeue_at": in_seconds(0.4), "starts_at": in_seconds(3), "ends_at": in_seconds(3600)}
    path = plan(admin, queue, name="Drop <i>", draw="random", **times)
    opening = path.rpartition("/")[2]
    wait_until(lambda: admin.get(path).json()["state"] == "prequeue", "the pre-queue does not open")
    for i in range(7):
        join(queue, client_id=f"person {i}")
    wait_until(lambda: admin.get(f"/queues/{queue}").json()["admitted"] == 7, "not everyone is let in")
    report = admin.get(f"/queues/{queue}/report?opening={opening}").json()
    about = report["opening"]
    assert (about["in_prequeue"], about["drawn"], about["draw_id"]) == (7, 7, f"{queue}.{opening}")
    assert report["totals"]["admitted"] == 7
    start = datetime.fromisoformat(about["starts_at"])
    assert datetime.fromisoformat(report["from"]) <= start <= datetime.fromisoformat(report["to"])
    first = datetime.fromisoformat(about["first_admission_at"])
    assert abs((first - start).total_seconds()) <= 60
    page = admin.get(f"/queues/{queue}/report?opening={opening}&format=html").text
    assert "Opening: <bdi>Drop &lt;i&gt;</bdi>" in page
    assert f'href="/draws/{queue}.{opening}"' in page
    assert admin.get(f"/queues/{queue}/report").json()["opening"] is None
    assert admin.get(f"/queues/{queue}/report?opening=none").json()["code"] == "opening_not_found"
    assert admin.get(f"/queues/{queue}/report?opening={opening}&day=today").json()["field"] == "opening"


def test_the_list_of_queues_has_the_next_opening(admin: httpx.Client, make_queue: MakeQueue) -> None:
    queue = make_queue()
    path = plan(admin, queue, name="Second", prequeue_at=None)
    first = plan(admin, queue, name="First", prequeue_at=None, starts_at=in_seconds(900), ends_at=in_seconds(1000))

    def glance() -> Any:
        return next(each for each in admin.get("/live").json()["queues"] if each["id"] == queue)

    assert (glance()["phase"], glance()["next_opening"]["name"]) == ("", "First")
    admin.delete(first)
    admin.delete(path)
    wait_until(lambda: glance()["next_opening"] is None, "an opening that was deleted is still the next one")
