"""What a walk-in line has on the wall and at the door: a code, a poster, and a kiosk that takes numbers for many."""

from __future__ import annotations

import re
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx

from fairline.domain.tokens import Keyring, MoveClaims
from tests.backends import wait_until
from tests.web.walk_in import ANOTHER_DAY, WalkIn

# On the wall


def test_the_code_is_a_picture_of_the_address(walk_in: WalkIn) -> None:
    queue = walk_in.queue()
    answer = walk_in.someone().get(f"/join/{queue}/qr.svg?size=300&colour=%230b6bcb")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert 'width="300" height="300"' in answer.text
    assert "#0b6bcb" in answer.text
    for query, field in (("size=9", "size"), ("size=x", "size"), ("colour=red", "colour"), ("colour=ffff00", "colour")):
        refused = walk_in.someone().get(f"/join/{queue}/qr.svg?{query}")
        assert (refused.status_code, refused.json()["field"]) == (422, field)


def test_the_poster_says_it_in_the_languages_asked_for(walk_in: WalkIn) -> None:
    queue = walk_in.queue(name="Bo's <b>")
    text = walk_in.someone().get(f"/join/{queue}/poster?lang=ar,de,xx,de").text
    assert '<html lang="ar" dir="rtl">' in text
    assert text.count("Nummer ziehen und warten") == 1
    assert "Bo&#39;s &lt;b&gt;" in text
    assert f"{urlsplit(walk_in.server.base_url).netloc}/join/{queue}" in text
    odd = walk_in.someone().get(f"/join/{queue}/poster", headers={"host": "[::::]:80"})
    assert f"[::::]:80/join/{queue}" in odd.text


# At the door


def open_kiosk(walk_in: WalkIn, queue: str, **body: Any) -> httpx.Client:
    made = walk_in.staff.post(f"/queues/{queue}/kiosk", json=body)
    assert made.status_code == 201, made.text
    tablet = walk_in.someone()
    answer = tablet.get(made.json()["url"])
    assert (answer.status_code, answer.headers["location"]) == (303, f"/join/{queue}/kiosk")
    assert "token=" not in answer.headers["location"]
    return tablet


#: The key of one press: as long as those that the page has.
SAME = "the same press twice"


def press(tablet: httpx.Client, queue: str, key: str = "", **fields: str) -> httpx.Response:
    return tablet.post(f"/join/{queue}/kiosk", data={"key": key or secrets.token_hex(8), **fields})


def test_a_kiosk_takes_numbers_for_many_and_the_same_press_once(walk_in: WalkIn) -> None:
    queue = walk_in.queue(
        series=["A", "B"],
        texts={"series_B": "Beards"},
        join_limit_per_ip=1,
        ask_party_size="optional",
        ask_email="required",
    )
    tablet = open_kiosk(walk_in, queue)
    start = tablet.get(f"/join/{queue}/kiosk")
    assert start.headers["x-fairline-state"] == "start"
    assert re.search(r'value="B">Beards</button>', start.text)
    labels = []
    for _ in range(5):
        taken = press(tablet, queue, series="B", party_size="4")
        assert (taken.status_code, taken.headers["x-fairline-state"]) == (201, "taken")
        assert taken.text.count(">Beards</p>") == 2, "on the screen, and on paper"
        labels += re.findall(r"</small>(B\d+)</p>", taken.text)[:1]
        assert "set-cookie" not in taken.headers, "the tablet holds nobody's ticket"
    assert labels == [f"B000{n}" for n in range(1, 6)]
    first, again = press(tablet, queue, SAME), press(tablet, queue, SAME)
    assert (first.status_code, again.status_code) == (201, 200)
    assert len(walk_in.tickets(queue)) == 6
    assert walk_in.tickets(queue)[0]["party_size"] == 4
    wrong_size = press(tablet, queue, party_size="99")
    assert wrong_size.status_code == 422
    assert "Enter a whole number from 1 to 20" in wrong_size.text


def test_a_press_whose_number_went_along_on_a_phone_leads_to_the_start(walk_in: WalkIn) -> None:
    queue = walk_in.queue()
    tablet = open_kiosk(walk_in, queue)
    assert press(tablet, queue, SAME).status_code == 201
    (ticket,) = walk_in.tickets(queue)
    code = code_on_paper(walk_in, queue, ticket)
    assert walk_in.someone().post(f"/join/{queue}/move", data={"code": code}).status_code == 303
    again = press(tablet, queue, SAME)
    assert (again.status_code, again.headers["location"]) == (303, f"/join/{queue}/kiosk")
    assert tablet.get(f"/join/{queue}/kiosk").headers["x-fairline-state"] == "start"
    assert len(walk_in.tickets(queue)) == 1


def code_on_paper(walk_in: WalkIn, queue: str, ticket: dict[str, Any]) -> str:
    """What a phone reads off the picture: no test has a camera, so it is made with the server's keys."""
    secret = (walk_in.server.data / "secret").read_text(encoding="utf-8").strip().encode()
    known = walk_in.someone().get("/.well-known/jwks.json").json()
    keyring = next(ring for n in range(1, 99) if (ring := Keyring(secret, n)).jwks() == known)
    joined = round(datetime.fromisoformat(ticket["joined_at"]).timestamp() * 1000)
    expires = int(time.time()) + 60
    return keyring.moves.sign(MoveClaims(queue=queue, number=ticket["ticket"], joined=joined, moved=0, expires=expires))


def test_a_kiosk_is_open_only_by_its_link_and_as_long_as_its_key(walk_in: WalkIn) -> None:
    queue, other = walk_in.queue(), walk_in.queue()
    stranger = walk_in.someone()
    assert stranger.get(f"/join/{queue}/kiosk").status_code == 403
    assert press(stranger, queue).status_code == 403
    assert stranger.get(f"/join/{queue}/kiosk?token=forged").status_code == 403
    made = walk_in.staff.post("/keys", json={"role": "operator", "name": "door"}).json()
    with httpx.Client(base_url=walk_in.staff.base_url, headers={"Authorization": f"Bearer {made['key']}"}) as desk:
        link = desk.post(f"/queues/{queue}/kiosk").json()["url"]
    tablet = walk_in.someone()
    tablet.get(link)
    assert press(tablet, queue).status_code == 201
    assert tablet.get(link.replace(queue, other)).status_code == 403, "a link is for one queue"
    assert walk_in.staff.delete(f"/keys/{made['id']}").status_code == 204
    assert press(tablet, queue).status_code == 403
    assert len(walk_in.tickets(queue)) == 1


def test_a_kiosk_says_when_nobody_is_taken_and_is_not_made_where_paper_would_lapse(walk_in: WalkIn) -> None:
    queue = walk_in.queue(opening_hours=ANOTHER_DAY)
    tablet = open_kiosk(walk_in, queue)
    for answer in (tablet.get(f"/join/{queue}/kiosk"), press(tablet, queue)):
        assert (answer.status_code, answer.headers["x-fairline-state"]) == (503, "refused")
        assert "Closed" in answer.text
    assert walk_in.tickets(queue) == []
    refused = walk_in.staff.post(f"/queues/{walk_in.queue(heartbeat_timeout_seconds=60)}/kiosk")
    assert refused.status_code == 422
    assert "heartbeat_timeout_seconds" in refused.json()["detail"]


def test_a_kiosk_offers_small_parties_at_once_and_up_to_twenty_behind_more(walk_in: WalkIn) -> None:
    for most, offered, at_once in ((4, 4, 4), (8, 8, 8), (12, 12, 6), (500, 20, 6)):
        queue = walk_in.queue(ask_party_size="optional", max_party_size=most)
        page = open_kiosk(walk_in, queue).get(f"/join/{queue}/kiosk").text
        assert page.count('name="party_size"') == offered
        assert page.partition("<details>")[0].count('name="party_size"') == at_once


def test_no_page_lets_a_browser_look_for_an_icon_elsewhere(walk_in: WalkIn) -> None:
    queue = walk_in.queue()
    tablet = open_kiosk(walk_in, queue)
    for path in ("", "/poster", "/kiosk"):
        assert '<link rel="icon" href="data:' in tablet.get(f"/join/{queue}{path}").text, path


def test_a_line_that_is_as_long_as_can_be_served_is_closed_on_every_screen(walk_in: WalkIn) -> None:
    today_and_tomorrow = {f"{datetime.now(UTC) + timedelta(days):%A}".lower(): ["00:00-24:00"] for days in (0, 1)}
    queue = walk_in.queue(
        admission="auto",
        admission_rate=0.000001,
        max_queue_size=100,
        opening_hours=today_and_tomorrow,
        close_early=False,
        message="Welcome.",
        closed_message="Come tomorrow.",
    )
    for _ in range(3):
        assert walk_in.staff.post(f"/queues/{queue}/join", json={}).status_code == 201
    tablet = open_kiosk(walk_in, queue)

    def told() -> tuple[bool, str, bool, bool, bool]:
        state = walk_in.someone().get(f"/api/v1/queues/{queue}").json()
        board = walk_in.someone().get(f"/api/v1/queues/{queue}/board").json()
        floor = walk_in.staff.get(f"/queues/{queue}/floor").json()
        glance = walk_in.staff.get(f"/queues/{queue}/live").json()["glance"]
        return state["open"], state["message"], board["open"], floor["takes_more"], glance["takes_more"]

    assert told() == (True, "Welcome.", True, True, True)
    walk_in.staff.patch(f"/queues/{queue}", json={"close_early": True})
    wait_until(lambda: told() == (False, "Come tomorrow.", False, False, False), "some screen still says open")
    assert walk_in.someone().post(f"/api/v1/queues/{queue}/join", json={}).json()["early"] is True
    page = tablet.get(f"/join/{queue}/kiosk")
    assert page.headers["x-fairline-state"] == "refused"
    assert "serve any more people today" in page.text
    opens = walk_in.someone().get(f"/api/v1/queues/{queue}").json()["opens_at"]
    assert re.search(rf'Opens <time datetime="{opens[:16]}', page.text)
