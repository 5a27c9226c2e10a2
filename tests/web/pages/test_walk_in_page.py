"""The ticket page of a walk-in line: it shows what staff do, and moves to another phone."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

import msgspec

from tests.web.walk_in import ANOTHER_DAY, WalkIn, form_of, send


def test_in_a_walk_in_line_nobody_joins_but_by_the_form_and_nobody_is_sent_to_a_site(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    for answer in (me.get(f"/q/{queue}"), me.post(f"/q/{queue}", data={"do": "join"})):
        assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, f"/join/{queue}")
    assert walk_in.tickets(queue) == []
    send(me, queue, form_of(me, queue))
    (called,) = walk_in.staff.post(f"/queues/{queue}/call-next", json={"desk": "Desk 2"}).json()["tickets"]
    page = me.get(f"/q/{queue}")
    assert page.headers["x-fairline-state"] == "admitted"
    assert "Go to Desk 2" in page.text
    assert "fairline_session" not in page.text
    for action, state in (("start", "inside"), ("complete", "finished")):
        walk_in.staff.post(f"/queues/{queue}/tickets/{called['ticket']}/{action}")
        assert me.get(f"/q/{queue}").headers["x-fairline-state"] == state


def test_what_staff_do_is_told_in_walk_in_words(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    send(me, queue, form_of(me, queue))
    (ticket,) = walk_in.tickets(queue)

    def told(action: str) -> tuple[str, str]:
        assert walk_in.staff.post(f"/queues/{queue}/tickets/{ticket['ticket']}/{action}").is_success
        page = me.get(f"/q/{queue}")
        return page.headers["x-fairline-state"], page.text

    for action, state, words in (
        ("hold", "on_hold", "You are on hold"),
        ("release", "waiting", "You are next"),
        ("call", "admitted", "Please come to the desk."),
        ("no-show", "expired", "staff can call you again"),
        ("reinstate", "admitted", "It is your turn"),
        ("return", "waiting", "You are next"),
        ("cancel", "expired", '"retry":0.5'),
        ("put-back", "waiting", "You are next"),
        ("call", "admitted", "It is your turn"),
        ("start", "inside", "You are being served"),
    ):
        found, text = told(action)
        assert found == state
        assert words in text


def test_stepping_back_twice_from_one_page_is_once(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    send(me, queue, form_of(me, queue))
    mine = walk_in.tickets(queue)[0]["ticket"]
    for _ in range(3):
        other = walk_in.someone()
        send(other, queue, form_of(other, queue))
    assert 'name="position" value="1"' in me.get(f"/q/{queue}").text
    for _ in range(2):
        assert me.post(f"/q/{queue}", data={"do": "step_back", "position": "1"}).status_code == 303
    assert [ticket["ticket"] for ticket in walk_in.tickets(queue)].index(mine) == 1
    me.post(f"/q/{queue}", data={"do": "step_back", "position": "⅞"})
    assert [ticket["ticket"] for ticket in walk_in.tickets(queue)].index(mine) == 2


def test_a_number_moves_to_another_phone_and_does_not_copy(walk_in: WalkIn) -> None:
    queue, old, new = walk_in.queue(), walk_in.someone(), walk_in.someone()
    key = form_of(old, queue)
    send(old, queue, key, name="Ada")
    moving = old.get(f"/q/{queue}?move=1")
    assert moving.headers["x-fairline-state"] == "moving"
    assert 'src="data:image/svg+xml' in moving.text
    assert new.get(f"/join/{queue}/move").headers["x-fairline-state"] == "move"
    code = old.post(f"/api/v1/move?queue={queue}").json()["code"]
    answer = new.post(f"/join/{queue}/move", data={"code": code})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}")
    assert new.get(f"/q/{queue}").headers["x-fairline-state"] == "waiting"
    gone = old.get(f"/q/{queue}")
    assert (gone.status_code, gone.headers["x-fairline-state"]) == (410, "moved")
    again = walk_in.someone().post(f"/join/{queue}/move", data={"code": code})
    assert (again.status_code, again.headers["x-fairline-state"]) == (410, "move_over")
    damaged = walk_in.someone().post(f"/join/{queue}/move", data={"code": "x"})
    assert (damaged.status_code, damaged.headers["x-fairline-state"]) == (410, "move_over")
    assert old.post(f"/q/{queue}", data={"do": "leave"}).status_code == 303
    for phone in (old, walk_in.someone()):  # the back button, with and without its cookies
        stale = send(phone, queue, key, name="Ada")
        assert (stale.status_code, stale.headers["x-fairline-state"]) == (410, "moved")
        assert "It is on another phone now." in stale.text
        assert "fairline_ticket" not in stale.headers.get("set-cookie", "")
    assert send(new, queue, key, name="Ada").headers["location"] == f"/q/{queue}"
    assert len(walk_in.tickets(queue)) == 1
    assert walk_in.tickets(queue)[0]["status"] == "waiting", "the old phone has nothing to give up"


def test_a_link_that_was_used_leads_to_the_number_where_that_is(walk_in: WalkIn) -> None:
    """People open the link of their message again, on the phone that took the number along with it."""
    queue, old, new = walk_in.queue(), walk_in.someone(), walk_in.someone()
    send(old, queue, form_of(old, queue))
    code = old.post(f"/api/v1/move?queue={queue}").json()["code"]
    for _ in range(2):
        answer = new.post(f"/join/{queue}/move", data={"code": code})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}")
    walk_in.staff.post(f"/queues/{queue}/tickets/{walk_in.tickets(queue)[0]['ticket']}/cancel")
    assert new.post(f"/join/{queue}/move", data={"code": code}).status_code == 303, "the page says what became of it"
    other = walk_in.someone()
    send(other, queue, form_of(other, queue))
    assert other.post(f"/join/{queue}/move", data={"code": code}).status_code == 410, "that is another number"
    assert old.post(f"/join/{queue}/move", data={"code": code}).status_code == 410, "it has gone from there"


def test_the_way_to_take_a_number_along_is_no_dead_end_without_a_code(walk_in: WalkIn) -> None:
    queue, me, stranger = walk_in.queue(), walk_in.someone(), walk_in.someone()
    send(me, queue, form_of(me, queue))
    assert me.post(f"/join/{queue}/move").headers["location"] == f"/q/{queue}"
    assert f'data-else="/q/{queue}?lang=en"' in me.get(f"/join/{queue}/move").text
    assert f'href="/join/{queue}?lang=en">Take a number</a>' in stranger.get(f"/join/{queue}/move").text
    assert stranger.post(f"/join/{queue}/move").headers["x-fairline-state"] == "move_over"


def test_a_number_in_a_walk_in_line_is_kept_for_a_day_with_the_page_closed(walk_in: WalkIn) -> None:
    lasts = {}
    for at, settings in {"desk": {}, "site": {"target_url": "https://shop.example/"}}.items():
        queue, me = walk_in.queue(**settings), walk_in.someone()
        answer = send(me, queue, form_of(me, queue))
        assert answer.status_code == 303
        kept = SimpleCookie(answer.headers["set-cookie"])[f"fairline_ticket_{queue}"]
        claims = msgspec.json.decode(urlsafe_b64decode(kept.value.split(".")[1] + "=="))
        lasts[at] = int(kept["max-age"])
        assert abs(claims["exp"] - time.time() - lasts[at]) < 30, "the cookie and what is in it end together"
    assert lasts == {"desk": 24 * 3600, "site": 2 * 3600}


def test_a_desk_that_has_closed_offers_no_new_number_but_says_when_it_opens(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    send(me, queue, form_of(me, queue))
    walk_in.staff.post(f"/queues/{queue}/tickets/{walk_in.tickets(queue)[0]['ticket']}/cancel")
    page = me.get(f"/q/{queue}").text
    assert ("Take a new number" in page, "<time" in page) == (True, False)
    walk_in.staff.patch(f"/queues/{queue}", json={"opening_hours": ANOTHER_DAY})
    page = me.get(f"/q/{queue}").text
    assert ("Take a new number" in page, "Opens <time" in page) == (False, True)
