"""People who wait as a group: the link, the pages of those who wait and of those who join, and the calls."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.web.walk_in import WalkIn


class Line:
    """A line to a site that takes groups, and the devices of people."""

    def __init__(self, venue: WalkIn, **settings: Any) -> None:
        self.name = venue.queue(**{"target_url": "https://shop.test/in", "group_size": 3} | settings)
        self.staff, self.device = venue.staff, venue.someone

    def joined(self) -> httpx.Client:
        device = self.device()
        assert device.post(f"/q/{self.name}", data={"do": "join"}).status_code == 303
        return device

    def code(self, device: httpx.Client) -> str:
        return str(device.post(f"/api/v1/group?queue={self.name}").json()["code"])

    def page(self, device: httpx.Client, query: str = "") -> httpx.Response:
        return device.get(f"/q/{self.name}{query}")

    def state(self, device: httpx.Client, query: str = "") -> str:
        return str(self.page(device, query).headers["x-fairline-state"])

    def join(self, device: httpx.Client, code: str) -> httpx.Response:
        return device.post(f"/q/{self.name}", data={"do": "join", "group": code})

    def waiting(self) -> list[int]:
        tickets = self.staff.get(f"/queues/{self.name}/tickets?status=waiting").json()["tickets"]
        return [ticket["ticket"] for ticket in tickets]


def test_others_join_with_the_link_that_the_page_shows_without_any_script(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    mine, stranger, friend = line.joined(), line.joined(), line.device()
    assert "together=1" in line.page(mine).text
    shown = line.page(mine, "?together=1")
    assert (shown.headers["x-fairline-state"], shown.headers["x-fairline-here"]) == ("together", "1")
    assert "1 of 3 are here" in shown.text
    (link,) = re.findall(r'<input readonly value="([^"]+)"', shown.text)
    parts = urlsplit(link)
    page = friend.get(f"{parts.path}?{parts.query}")
    assert page.headers["x-fairline-state"] == "group"
    (code,) = parse_qs(parts.query)["group"]
    assert f'name="group" value="{code}"' in page.text
    assert f"/q/{line.name}?lang=de&amp;group={code}" in page.text, "another language keeps the group"
    assert line.join(friend, code).headers["location"] == f"/q/{line.name}"
    assert line.waiting() == [1, 3, 2]
    assert "2 of 3 are here" in line.page(friend, "?together=1").text
    assert line.state(friend, f"?group={code}") == "waiting", "who has a place keeps it"
    assert line.state(stranger) == "waiting"


def test_the_pages_say_when_a_group_takes_nobody(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    mine = line.joined()
    code = line.code(mine)
    for _ in range(2):
        assert line.join(line.device(), code).status_code == 303
    late = line.join(line.device(), code)
    assert (late.status_code, late.headers["x-fairline-state"]) == (409, "group_over")
    assert f'href="/q/{line.name}' in late.text
    for nonsense in ("nonsense", "a" * 3000, "\0", "é"):
        assert line.join(line.device(), nonsense).headers["x-fairline-state"] == "group_over"
    line.staff.patch(f"/queues/{line.name}", json={"group_size": 0})
    assert "together=1" not in line.page(mine).text
    assert line.state(mine, "?together=1") == "waiting"
    assert line.waiting() == [1, 2, 3]


def test_the_calls(walk_in: WalkIn) -> None:
    line, other = Line(walk_in), Line(walk_in)
    mine = line.joined()
    answer = mine.post(f"/api/v1/group?queue={line.name}").json()
    assert (answer["size"], answer["most"]) == (1, 3)
    assert answer["url"].endswith(f"/q/{line.name}?group={answer['code']}")

    def join(queue: str, **body: Any) -> tuple[int, Any]:
        got = line.device().post(f"/api/v1/queues/{queue}/join", json={"client_id": f"c{len(body)}"} | body)
        return got.status_code, got.json().get("position") or got.json().get("code")

    assert join(other.name, group=answer["code"]) == (409, "group_gone")
    assert join(line.name, group=answer["code"], priority_pass="x") == (422, "invalid_request")
    assert join(line.name, group=answer["code"], client_id="friend") == (201, 2)
    assert mine.post(f"/api/v1/group?queue={line.name}").json()["size"] == 2
    stepped = mine.post(f"/api/v1/step-back?queue={line.name}", json={"places": 1})
    assert (stepped.status_code, stepped.json()["code"]) == (409, "in_group")
    raised = line.staff.post(f"/queues/{line.name}/tickets/1/prioritise", json={"level": 3})
    assert (raised.status_code, raised.json()["code"]) == (409, "in_group")
    mine.post(f"/api/v1/leave?queue={line.name}", json={"final": True})
    line.staff.patch(f"/queues/{line.name}", json={"group_size": 0})
    assert join(line.name, group=answer["code"], client_id="late") == (409, "groups_off")


def test_all_are_let_in_together_each_with_a_session_of_their_own(walk_in: WalkIn) -> None:
    line = Line(walk_in, admission="auto", admission_rate=0.01, burst=1)
    mine = line.joined()
    friend = line.device()
    line.join(friend, line.code(mine))
    states = [device.get(f"/api/v1/status?queue={line.name}").json() for device in (mine, friend)]
    assert len({each["ticket"] for each in states}) == 2
    assert len({each["status"] for each in states}) == 1


def test_a_form_keeps_the_group(walk_in: WalkIn) -> None:
    name = walk_in.queue(group_size=3, ask_name="required")
    first, friend = walk_in.someone(), walk_in.someone()
    form = first.get(f"/join/{name}").text
    (key,) = re.findall(r'name="key" value="([^"]+)"', form)
    assert first.post(f"/join/{name}", data={"key": key, "name": "Ada"}).status_code == 303
    code = first.post(f"/api/v1/group?queue={name}").json()["code"]
    sent = friend.get(f"/q/{name}?group={code}")
    assert sent.status_code == 303
    form = friend.get(sent.headers["location"]).text
    (kept,) = re.findall(r'name="group" value="([^"]+)"', form)
    assert f"/join/{name}?lang=de&amp;group={code}" in form
    (key,) = re.findall(r'name="key" value="([^"]+)"', form)
    wrong = friend.post(f"/join/{name}", data={"key": key, "group": kept, "name": ""})
    assert f'name="group" value="{code}"' in wrong.text
    assert friend.post(f"/join/{name}", data={"key": key, "group": kept, "name": "Bo"}).status_code == 303
    assert first.post(f"/api/v1/group?queue={name}").json()["size"] == 2
