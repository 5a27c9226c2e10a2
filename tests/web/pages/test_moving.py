"""A place in the line to a site moves to another device: once, never copied, by a link or by a code that is typed."""

from __future__ import annotations

import re

import httpx

from fairline.service.walk_in import MOST_TYPED
from tests.web.walk_in import WalkIn

_TYPED = re.compile(r'<b dir="ltr">([0-9A-Z-]+)</b>')


class Line:
    """A line to a site, and the devices of people."""

    def __init__(self, venue: WalkIn) -> None:
        self.name = venue.queue(target_url="https://shop.test/in")
        self.staff, self.device = venue.staff, venue.someone

    def joined(self) -> httpx.Client:
        device = self.device()
        assert device.post(f"/q/{self.name}", data={"do": "join"}).status_code == 303
        return device

    def state(self, device: httpx.Client, query: str = "") -> str:
        return str(device.get(f"/q/{self.name}{query}").headers["x-fairline-state"])

    def typed(self, device: httpx.Client) -> str:
        """The code that the page of this device shows, to be typed on another one."""
        (code,) = _TYPED.findall(device.get(f"/q/{self.name}?move=1").text)
        return str(code)

    def move(self, device: httpx.Client, code: str) -> tuple[int, str]:
        answer = device.post(f"/join/{self.name}/move", data={"code": code})
        return answer.status_code, answer.headers.get("x-fairline-state") or answer.headers["location"]

    def waiting(self) -> list[int]:
        tickets = self.staff.get(f"/queues/{self.name}/tickets?status=waiting").json()["tickets"]
        return [ticket["ticket"] for ticket in tickets]


def test_a_place_moves_by_its_link_and_the_old_page_says_so(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    first, old, new = line.joined(), line.joined(), line.device()
    assert "?lang=en&amp;move=1" in old.get(f"/q/{line.name}").text
    assert line.state(old, "?move=1") == "moving"
    code = old.post(f"/api/v1/move?queue={line.name}").json()["code"]
    assert line.move(new, code) == (303, f"/q/{line.name}")
    assert line.state(new) == "waiting"
    assert line.state(old) == "moved"
    assert line.waiting() == [1, 2]
    assert line.move(new, code) == (303, f"/q/{line.name}"), "the same link again, where it has led to"
    assert line.move(line.device(), code) == (410, "move_over")
    assert line.move(first, code) == (410, "move_over")
    code = new.post(f"/api/v1/move?queue={line.name}").json()["code"]
    assert line.move(first, code) == (409, "move_taken"), "one device has one place"
    assert old.post(f"/q/{line.name}", data={"do": "leave"}).status_code == 303
    assert line.waiting() == [1, 2], "the old device has nothing to give up"
    assert old.post(f"/q/{line.name}", data={"do": "join"}).status_code == 303
    assert line.waiting() == [1, 2, 3], "who wants another place joins behind"


def test_a_place_moves_by_a_code_that_is_typed_without_any_script(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    old, new = line.joined(), line.device()
    page = new.get(f"/join/{line.name}/move")
    assert page.headers["x-fairline-state"] == "move"
    assert 'name="code"' in page.text.partition("<noscript>")[2]
    code = line.typed(old)
    assert line.typed(old) == code, "the page that refreshes itself shows the same code"
    assert line.move(new, f" {code.lower().replace('-', ' ')} ") == (303, f"/q/{line.name}")
    assert (line.state(new), line.state(old)) == ("waiting", "moved")
    assert line.move(new, code) == (303, f"/q/{line.name}"), "a second tap"
    assert line.move(line.device(), code) == (410, "move_over"), "it works once"
    assert line.waiting() == [1]


def test_a_typed_code_is_good_in_its_queue_only_and_a_wrong_one_moves_nothing(walk_in: WalkIn) -> None:
    line, other = Line(walk_in), Line(walk_in)
    mine, theirs = line.joined(), other.joined()
    code = line.typed(mine)
    wrong = code[:-1] + ("0" if code[-1] != "0" else "1")
    for typed in (wrong, code.replace("1-", "2-", 1), "1", "nonsense", "9" * 300):
        assert line.move(line.device(), typed) == (410, "move_over"), typed
    assert other.move(other.device(), code) == (410, "move_over")
    assert (line.state(mine), other.state(theirs)) == ("waiting", "waiting")


def test_nobody_finds_a_code_by_trying(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    mine, stranger = line.joined(), line.device()
    code = line.typed(mine)
    tried = [line.move(stranger, "1-0000-0000") for _ in range(MOST_TYPED + 1)]
    assert tried[:-1] == [(410, "move_over")] * MOST_TYPED
    assert tried[-1] == (429, "limited")
    assert line.move(stranger, code) == (429, "limited"), "from their address not even the right one"
    link = mine.post(f"/api/v1/move?queue={line.name}").json()["code"]
    assert line.move(stranger, link) == (303, f"/q/{line.name}"), "links are too long to be found"


def test_who_is_let_in_while_the_code_is_shown_goes_in_where_they_are(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    mine = line.joined()
    assert line.state(mine, "?move=1") == "moving"
    line.staff.post(f"/queues/{line.name}/call-next")
    assert line.state(mine, "?move=1") == "admitted"


def test_a_moved_place_keeps_the_page_of_the_site_that_was_asked_for(walk_in: WalkIn) -> None:
    line = Line(walk_in)
    page = line.joined().get(f"/q/{line.name}?return=%2Flamp&move=1")
    assert f'href="/q/{line.name}?lang=en&amp;return=%2Flamp">Back to my place</a>' in page.text
