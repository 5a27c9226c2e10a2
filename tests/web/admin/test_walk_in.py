"""The walk-in line on a running server: what staff do, and what people do by themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.web.admin.desk import Join, MakeQueue, events_of, moment, public_status
from tests.web.running import RunningServer

WALK_IN = {"heartbeat_timeout_seconds": 0}


def post(server: RunningServer, path: str, token: str = "", **body: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.post(f"{server.base_url}/api/v1{path}", json=body, headers=headers, timeout=20)


def try_join(server: RunningServer, queue: str, **body: Any) -> httpx.Response:
    return post(server, f"/queues/{queue}/join", **body)


def test_staff_put_someone_on_hold_and_back(admin: httpx.Client, server: RunningServer, queue: str, join: Join) -> None:
    one, _ = join(queue), join(queue)
    on_hold = admin.post(f"/queues/{queue}/tickets/1/hold").json()
    assert (on_hold["on_hold"], on_hold["status"], on_hold["position"]) == (True, "waiting", None)
    status = public_status(server, one["token"]).json()
    assert (status["on_hold"], status["status"], status["position"]) == (True, "waiting", None)
    assert admin.get(f"/queues/{queue}").json()["on_hold"] == 1
    refused = admin.post(f"/queues/{queue}/tickets/1/call")
    assert (refused.status_code, refused.json()["found"]) == (409, "on_hold")
    assert [t["ticket"] for t in admin.post(f"/queues/{queue}/call-next").json()["tickets"]] == [2]
    assert admin.post(f"/queues/{queue}/tickets/1/release").json()["position"] == 1
    assert events_of(admin, queue)[-3:] == [("put_on_hold", 1), ("called", 2), ("released", 1)]


def test_someone_steps_back_once_however_often_they_tap(
    admin: httpx.Client, server: RunningServer, queue: str, join: Join
) -> None:
    token = join(queue)["token"]
    for _ in range(3):
        join(queue)
    with ThreadPoolExecutor(4) as pool:
        taps = [*pool.map(lambda _: post(server, "/step-back", token, places=2, position=1), range(4))]
    assert {(tap.status_code, tap.json()["position"]) for tap in taps} == {(200, 3)}
    assert admin.post(f"/queues/{queue}/tickets/2/step-back", json={"places": 1}).json()["position"] == 2
    assert post(server, "/step-back", token, places=0).status_code == 422
    assert post(server, "/step-back").json()["code"] == "token_missing"


def test_staff_who_repeat_a_press_let_someone_step_back_once(admin: httpx.Client, queue: str, join: Join) -> None:
    for _ in range(4):
        join(queue)
    for _ in range(3):
        told = admin.post(f"/queues/{queue}/tickets/1/step-back", json={"places": 1, "position": 1}).json()
        assert told["position"] == 2


def test_the_floor_has_everyone_where_they_are(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> None:
    queue = make_queue(desks=["Desk 1", "Desk 2"], series=["A", "B"], claim_seconds=90, **WALK_IN)
    for n in range(8):
        join(queue, name=f"Person {n + 1}")
    admin.post(f"/queues/{queue}/call-next", json={"count": 3, "desk": "Desk 1"})
    admin.post(f"/queues/{queue}/tickets/1/start")
    admin.post(f"/queues/{queue}/tickets/2/no-show")
    admin.post(f"/queues/{queue}/tickets/3/hold")  # who was called is put on hold in one step
    admin.post(f"/queues/{queue}/call-next", json={"desk": "Desk 2"})
    floor = admin.get(f"/queues/{queue}/floor").json()
    parts = ("line", "on_hold", "called", "serving", "missed")
    assert [[t["ticket"] for t in floor[part]] for part in parts] == [[5, 6, 7, 8], [3], [4], [1], [2]]
    assert (floor["waiting"], floor["on_hold_count"], floor["claim_seconds"]) == (4, 1, 90)
    assert (floor["named_desks"], floor["series"], floor["takes_more"]) == (["Desk 1", "Desk 2"], ["A", "B"], True)
    assert [(desk["name"], desk["open"]) for desk in floor["desks"]] == [("Desk 1", True), ("Desk 2", True)]
    assert (floor["called"][0]["desk"], floor["missed"][0]["name"]) == ("Desk 2", "Person 2")
    short = admin.get(f"/queues/{queue}/floor", params={"limit": 2}).json()
    assert ([t["ticket"] for t in short["line"]], short["waiting"]) == ([5, 6], 4)
    assert admin.get(f"/queues/{queue}/floor", params={"limit": "many"}).json()["field"] == "limit"


def test_a_no_show_is_undone(admin: httpx.Client, queue: str, join: Join) -> None:
    join(queue, client_id="c")
    admin.post(f"/queues/{queue}/call-next", json={"desk": "Desk 2"})
    admin.post(f"/queues/{queue}/tickets/1/no-show")
    back = admin.post(f"/queues/{queue}/tickets/1/reinstate").json()
    assert (back["status"], back["desk"], back["reason"]) == ("admitted", "Desk 2", None)
    admin.post(f"/queues/{queue}/tickets/1/no-show")
    join(queue, client_id="c")
    refused = admin.post(f"/queues/{queue}/tickets/1/reinstate")
    assert (refused.status_code, refused.json()["code"]) == (409, "already_in_line")
    refused = admin.post(f"/queues/{queue}/tickets/2/reinstate")
    assert (refused.status_code, refused.json()["found"]) == (409, "waiting")


def test_a_removal_is_undone(admin: httpx.Client, queue: str, join: Join) -> None:
    join(queue, client_id="c")
    join(queue)
    path = f"/queues/{queue}/tickets/1"
    admin.post(f"{path}/cancel")
    back = admin.post(f"{path}/put-back").json()
    assert (back["status"], back["position"], back["reason"]) == ("waiting", 1, None)
    assert events_of(admin, queue)[-2:] == [("expired", 1), ("put_back", 1)]
    assert admin.get("/audit").json()["entries"][0]["detail"]["action"] == "put_back"
    admin.post(f"{path}/cancel")
    join(queue, client_id="c")
    for number, code in ((1, "already_in_line"), (2, "transition_refused")):
        refused = admin.post(f"/queues/{queue}/tickets/{number}/put-back")
        assert (refused.status_code, refused.json()["code"]) == (409, code)


def test_who_is_called_is_told_where_to_go(admin: httpx.Client, server: RunningServer, queue: str, join: Join) -> None:
    token = join(queue)["token"]
    admin.post(f"/queues/{queue}/call-next", json={"desk": "Desk 2"})
    assert public_status(server, token).json()["desk"] == "Desk 2"


def test_someone_is_sent_on_and_their_page_can_follow(
    admin: httpx.Client, server: RunningServer, make_queue: MakeQueue, join: Join
) -> None:
    here, there = make_queue(), make_queue(ticket_prefix="PASS", series=["P"])
    told = {"name": "Ada", "phone": "+82 10 2345 6789", "party_size": 2, "metadata": {"a": 1}}
    token = join(here, client_id="ada", **told)["token"]
    join(there)
    sent = admin.post(f"/queues/{here}/tickets/1/transfer", json={"queue": there, "priority": 3}).json()
    assert (sent["status"], sent["reason"]) == ("expired", "transferred")
    assert sent["transferred_to"] == {"queue": there, "ticket": 2, "label": "RPASS-P0002"}
    new = admin.get(f"/queues/{there}/tickets/2").json()
    assert (new["name"], new["phone"], new["party_size"]) == ("Ada", "+821023456789", 2)
    assert (new["metadata"], new["position"], new["priority"], new["on_hold"]) == ({"a": 1}, 1, 3, False)
    followed = public_status(server, token).json()["transferred_to"]
    assert (followed["queue"], followed["label"]) == (there, "RPASS-P0002")
    assert public_status(server, followed["token"]).json()["position"] == 1
    gone = post(server, "/heartbeat", token)
    assert (gone.status_code, gone.json()["reason"]) == (410, "transferred")
    # A retried press changes nothing, and there is one ticket of theirs.
    again = admin.post(f"/queues/{here}/tickets/1/transfer", json={"queue": there}).json()
    assert again["transferred_to"] == sent["transferred_to"]
    assert len(admin.get(f"/queues/{there}/tickets").json()["tickets"]) == 2
    assert events_of(admin, here)[-1] == ("transferred", 1)


def test_a_transfer_that_cannot_be_leaves_all_as_it_is(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> None:
    here, there = make_queue(), make_queue(status="maintenance")
    join(here)
    path = f"/queues/{here}/tickets/1/transfer"
    assert admin.post(path, json={"queue": "nowhere"}).status_code == 404
    assert admin.post(path, json={"queue": here}).json()["field"] == "queue"
    full = httpx.post(f"{admin.base_url}{path[1:]}", json={"queue": there}, headers=admin.headers)
    assert (full.status_code, full.json()["code"]) == (503, "queue_maintenance")
    assert admin.get(f"/queues/{here}/tickets/1").json()["position"] == 1
    admin.patch(f"/queues/{there}", json={"status": "active"})
    join(there, client_id="twice")
    join(here, client_id="twice")
    refused = admin.post(f"/queues/{here}/tickets/2/transfer", json={"queue": there})
    assert (refused.status_code, refused.json()["code"]) == (409, "already_in_line")


def test_a_stream_tells_where_someone_was_sent_on(
    admin: httpx.Client, server: RunningServer, make_queue: MakeQueue, join: Join
) -> None:
    here, there = make_queue(), make_queue()
    token = join(here)["token"]
    with httpx.stream("GET", f"{server.base_url}/api/v1/stream", params={"token": token}, timeout=20) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if line == "event: position")
        admin.post(f"/queues/{here}/tickets/1/transfer", json={"queue": there})
        next(line for line in lines if line == "event: expired")
        assert '"transferred_to"' in next(lines)


def test_labels_are_counted_by_series_and_day(
    admin: httpx.Client, server: RunningServer, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(ticket_prefix="OFF", series=["A", "B"], label_restart="daily", time_zone="Asia/Seoul")
    with ThreadPoolExecutor(8) as pool:
        labels = [*pool.map(lambda n: try_join(server, queue, series="AB"[n % 2]).json()["label"], range(20))]
    assert sorted(labels) == [f"ROFF-{name}{n:04d}" for name in "AB" for n in range(1, 11)]
    assert join(queue)["label"] == "ROFF-A0011"
    refused = try_join(server, queue, series="C")
    assert (refused.status_code, refused.json()["field"]) == (422, "series")
    assert admin.post(f"/queues/{queue}/join", json={"series": "B"}).json()["label"] == "ROFF-B0011"


def test_desks_have_names_and_statistics(admin: httpx.Client, make_queue: MakeQueue, join: Join) -> None:
    queue = make_queue(desks=["Desk 1", "Desk 2"])
    join(queue)
    refused = admin.post(f"/queues/{queue}/call-next", json={"desk": "Desk 9"})
    assert (refused.status_code, refused.json()["field"]) == (422, "desk")
    refused = admin.post(f"/queues/{queue}/desks", json={"name": "Desk 9", "open": True})
    assert (refused.status_code, refused.json()["field"]) == (422, "name")
    admin.post(f"/queues/{queue}/call-next", json={"desk": " Desk 1 "})
    for action in ("start", "complete"):
        admin.post(f"/queues/{queue}/tickets/1/{action}")
    desks = admin.post(f"/queues/{queue}/desks", json={"name": "Desk 2", "open": True}).json()["desks"]
    assert [(desk["name"], desk["open"]) for desk in desks] == [("Desk 1", True), ("Desk 2", True)]
    admin.post(f"/queues/{queue}/desks", json={"name": "Desk 1", "open": False})
    assert [desk["open"] for desk in admin.get(f"/queues/{queue}/desks").json()["desks"]] == [False, True]
    stats = admin.get(f"/queues/{queue}/stats/desks").json()
    assert [(desk["name"], desk["served"], desk["no_shows"]) for desk in stats["desks"]] == [("Desk 1", 1, 0)]
    assert len(stats["hours"]) == 1


ALWAYS = {
    day: ["00:00-24:00"] for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
}


def test_a_closed_queue_says_when_it_opens(
    admin: httpx.Client, server: RunningServer, make_queue: MakeQueue, join: Join
) -> None:
    queue = make_queue(opening_hours=ALWAYS)
    token = join(queue, client_id="in time")["token"]
    state = httpx.get(f"{server.base_url}/api/v1/queues/{queue}").json()
    assert (state["open"], state["closes_at"]) == (True, None)
    today = moment(admin.get(f"/queues/{queue}/stats").json()["at"]).date().isoformat()
    admin.patch(f"/queues/{queue}", json={"closed_dates": [today]})
    refused = try_join(server, queue, client_id="late")
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["early"]) == (503, "queue_closed", False)
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    assert moment(problem["opens_at"]).date().isoformat() > today
    assert try_join(server, queue, client_id="in time").status_code == 200
    assert public_status(server, token).json()["position"] == 1
    assert admin.post(f"/queues/{queue}/join", json={}).status_code == 201
    page = httpx.get(f"{server.base_url}/q/{queue}", follow_redirects=True)
    assert (page.status_code, page.headers["x-fairline-state"]) == (503, "closed")
    assert problem["opens_at"][:10] in page.text


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("phone", "12", "02-212-3456"),
        ("phone", "call me", "country code"),
        ("phone", "+82 10", "country code"),
        ("name", "Ada\nLovelace", "one line"),
        ("name", "x" * 10_000, "100"),
        ("party_size", 9, "1 to 8"),
        ("party_size", 0, "1"),
    ],
)
def test_what_cannot_be_right_is_answered_with_what_to_type(
    server: RunningServer, walk_in: str, field: str, value: object, hint: str
) -> None:
    refused = try_join(server, walk_in, **{field: value})
    assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert hint in refused.json()["detail"]


def test_a_large_party_is_told_to_ask_the_staff_who_can_put_it_in_line(
    admin: httpx.Client, server: RunningServer, walk_in: str
) -> None:
    assert "ask the staff" in try_join(server, walk_in, party_size=12).json()["detail"]
    added = admin.post(f"/queues/{walk_in}/join", json={"party_size": 12})
    assert added.status_code == 201
    assert admin.get(f"/queues/{walk_in}/tickets/{added.json()['ticket']}").json()["party_size"] == 12
    refused = admin.post(f"/queues/{walk_in}/join", json={"party_size": 101})
    assert (refused.status_code, refused.json()["field"]) == (422, "party_size")
    assert "from 1 to 100" in refused.json()["detail"]
    assert "staff" not in refused.json()["detail"]


@pytest.fixture(scope="module")
def walk_in(admin: httpx.Client) -> str:
    usual = {"admission": "manual", "join_limit_per_ip": 0, "phone_region": "KR", "max_party_size": 8}
    admin.post("/queues", json={"id": "walk-in", "one_per": "phone", "join_limit_per_phone": 2, **usual})
    return "walk-in"


def test_one_number_is_one_person_however_it_is_typed(admin: httpx.Client, server: RunningServer, walk_in: str) -> None:
    first = try_join(server, walk_in, phone="010-9876-5432", name=" 👩‍👩‍👧 Ada ", client_id="a").json()
    kept = admin.get(f"/queues/{walk_in}/tickets/{first['ticket']}").json()
    assert (kept["phone"], kept["name"]) == ("+821098765432", "👩‍👩‍👧 Ada")
    same = try_join(server, walk_in, phone="+82 10 9876 5432", client_id="a")
    assert (same.status_code, same.json()["ticket"]) == (200, first["ticket"])
    stranger = try_join(server, walk_in, phone="010 9876 5432", client_id="b")
    assert (stranger.status_code, stranger.json()["code"]) == (409, "already_in_line")
    post(server, "/leave", first["token"], final=True)
    again = try_join(server, walk_in, phone="01098765432", client_id="a").json()
    post(server, "/leave", again["token"], final=True)
    assert try_join(server, walk_in, phone="+82-10-9876-5432", client_id="a").json()["code"] == "rate_limited"


def test_a_place_moves_to_another_device_and_is_not_copied(server: RunningServer, queue: str, join: Join) -> None:
    old = join(queue, client_id="old", idempotency_key="form")
    link = post(server, "/move", old["token"]).json()
    assert link["url"].endswith(f"/join/{queue}/move#{link['code']}")
    with ThreadPoolExecutor(4) as pool:
        claims = [*pool.map(lambda n: post(server, "/moved", code=link["code"], client_id=f"new {n}"), range(4))]
    (won,) = [claim for claim in claims if claim.status_code == 200]
    assert {claim.json()["code"] for claim in claims if claim is not won} == {"token_moved"}
    new = won.json()
    assert (new["ticket"], new["position"]) == (old["ticket"], 1)
    assert won.cookies.get(f"fairline_ticket_{queue}") == new["token"]
    for path in ("/heartbeat", "/leave", "/step-back", "/move"):
        refused = post(server, path, old["token"])
        assert (refused.status_code, refused.json()["code"]) == (401, "token_moved"), path
    assert public_status(server, old["token"]).json()["code"] == "token_moved"
    assert public_status(server, new["token"]).json()["status"] == "waiting"
    again = try_join(server, queue, client_id="old", idempotency_key="form")
    assert (again.status_code, again.json()["code"]) == (401, "token_moved")
    assert "token" not in again.json()
    second = try_join(server, queue, client_id="old", idempotency_key="another form")
    assert (second.status_code, second.json()["ticket"]) == (201, old["ticket"] + 1)
    assert post(server, "/moved", code="forged").json()["code"] == "token_invalid"


def test_staff_whose_press_is_repeated_make_no_second_place_of_one_that_moved(
    admin: httpx.Client, server: RunningServer, queue: str
) -> None:
    pressed = {"name": "Ada", "idempotency_key": "add"}
    ticket = admin.post(f"/queues/{queue}/join", json=pressed).json()
    code = post(server, "/move", ticket["token"]).json()["code"]
    assert post(server, "/moved", code=code, client_id="phone").status_code == 200
    again = admin.post(f"/queues/{queue}/join", json=pressed)
    assert (again.status_code, again.json()["code"]) == (409, "already_in_line"), "401 would be about their own key"
    assert len(admin.get(f"/queues/{queue}/tickets").json()["tickets"]) == 1


def test_a_stream_ends_on_the_device_that_a_place_has_left(server: RunningServer, queue: str, join: Join) -> None:
    token = join(queue)["token"]
    code = post(server, "/move", token).json()["code"]
    with httpx.stream("GET", f"{server.base_url}/api/v1/stream", params={"token": token}, timeout=20) as stream:
        lines = stream.iter_lines()
        next(line for line in lines if line == "event: position")
        assert post(server, "/moved", code=code, client_id="new").status_code == 200
        assert "event: moved" in [*lines]
