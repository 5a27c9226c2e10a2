"""Taking a number over HTTP: whatever is typed, tapped twice or sent again, there is a clear answer and one ticket."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from fairline.look import LANGUAGES
from fairline.queue import QueueSettings, checked
from fairline.web.pages.form import Filled, mistakes
from fairline.web.pages.languages import Language
from tests.web.running import RunningServer

BROWSER = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Site": "same-origin"}
#: Hours that are not now, whenever that is.
ANOTHER_DAY = {f"{datetime.now(UTC) + timedelta(days=3):%A}".lower(): ["09:00-12:00"]}
_KEY = re.compile(r'name="key" value="([^"]+)"')
_WRONG = re.compile(r'<p class="wrong" id="(\w+)-wrong">([^<]*)</p>')


class Counter:
    """A walk-in counter, its staff, and whoever comes to it."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self.closing = ExitStack()
        key = {"Authorization": f"Bearer {server.admin_key}"}
        self.staff = self._client(base_url=f"{server.base_url}/api/v1/admin", headers=key)

    def queue(self, **settings: Any) -> str:
        name = f"counter-{secrets.token_hex(4)}"
        usual = {
            "name": "Barber Bo",
            "admission": "manual",
            "join_limit_per_ip": 0,
            "heartbeat_timeout_seconds": 0,
            "phone_region": "DE",
        }
        answer = self.staff.post("/queues", json={"id": name, **usual, **settings})
        assert answer.status_code == 201, answer.text
        return name

    def someone(self, **headers: str) -> httpx.Client:
        return self._client(base_url=self.server.base_url, headers=BROWSER | headers)

    def tickets(self, queue: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.staff.get(f"/queues/{queue}/tickets").json()["tickets"]
        return found

    def _client(self, **options: Any) -> httpx.Client:
        return self.closing.enter_context(httpx.Client(**options))


@pytest.fixture
def counter(server: RunningServer) -> Iterator[Counter]:
    found = Counter(server)
    with found.closing:
        yield found


def form_of(someone: httpx.Client, queue: str, lang: str = "") -> str:
    """The key of a new form."""
    answer = someone.get(f"/join/{queue}", params={"lang": lang} if lang else {})
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (200, "form")
    assert answer.headers["cache-control"] == "no-store"
    (key,) = _KEY.findall(answer.text)
    return str(key)


def send(someone: httpx.Client, queue: str, key: str, lang: str = "", **fields: str) -> httpx.Response:
    return someone.post(f"/join/{queue}" + (f"?lang={lang}" if lang else ""), data={"key": key, **fields})


def wrong(answer: httpx.Response) -> dict[str, str]:
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (422, "form")
    return dict(_WRONG.findall(answer.text))


# One form, one ticket


def test_a_form_makes_a_ticket_and_leads_to_its_page(counter: Counter) -> None:
    queue, me = counter.queue(ask_party_size="optional"), counter.someone()
    answer = send(me, queue, form_of(me, queue), name="  Ada 🦊 ", phone="030 123456", party_size="3")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}")
    (ticket,) = counter.tickets(queue)
    assert (ticket["name"], ticket["phone"], ticket["party_size"]) == ("Ada 🦊", "+4930123456", 3)
    page = me.get(f"/q/{queue}")
    assert (page.status_code, page.headers["x-fairline-state"]) == (200, "waiting")
    assert ticket["label"].rpartition("-")[2] in page.text


def test_a_form_that_asks_for_an_e_mail_address_keeps_it(counter: Counter) -> None:
    queue, me = counter.queue(ask_email="required"), counter.someone()
    key = form_of(me, queue)
    assert wrong(send(me, queue, key)) == {"email": "Please tell us your e-mail address."}
    assert send(me, queue, key, email=" ada@example.com ").status_code == 303
    assert counter.tickets(queue)[0]["email"] == "ada@example.com"
    unasked, other = counter.queue(), counter.someone()
    assert 'id="email"' not in other.get(f"/join/{unasked}").text
    assert send(other, unasked, "k", email="ada@example.com").status_code == 303
    assert counter.tickets(unasked)[0]["email"] is None, "what is not asked is not kept"


def test_twenty_taps_at_once_are_one_ticket(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    key = form_of(me, queue)
    cookies = dict(me.cookies)

    def tap(_: int) -> httpx.Response:
        with httpx.Client(base_url=counter.server.base_url, headers=BROWSER, cookies=cookies) as finger:
            return send(finger, queue, key, name="Ada")

    with ThreadPoolExecutor(8) as fingers:
        answers = list(fingers.map(tap, range(20)))
    assert {answer.status_code for answer in answers} == {303}
    assert len(counter.tickets(queue)) == 1


def test_a_form_sent_again_is_the_same_ticket_also_without_cookies_or_filled_in_otherwise(counter: Counter) -> None:
    queue = counter.queue(one_per="none")
    me = counter.someone()
    key = form_of(me, queue)
    assert send(me, queue, key, name="Ada").status_code == 303
    for name in ("Ada", "Ada Lovelace"):  # the answer got lost with its cookies, and they went back
        again = counter.someone()
        assert send(again, queue, key, name=name).status_code == 303
        assert again.get(f"/q/{queue}").headers["x-fairline-state"] == "waiting"
    assert [ticket["name"] for ticket in counter.tickets(queue)] == ["Ada"]


def test_back_and_a_new_form_lead_to_the_ticket_one_has(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    first, second = form_of(me, queue), form_of(me, queue)
    assert send(me, queue, first, name="Ada").status_code == 303
    back = me.get(f"/join/{queue}")
    assert (back.status_code, back.headers["location"]) == (303, f"/q/{queue}")
    assert send(me, queue, second, name="Ada").headers["location"] == f"/q/{queue}"
    assert len(counter.tickets(queue)) == 1


def test_a_stale_form_shows_what_became_of_its_ticket_and_makes_no_other(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    key = form_of(me, queue)
    send(me, queue, key, name="Ada")
    (called,) = counter.staff.post(f"/queues/{queue}/call-next").json()["tickets"]
    for step in ("start", "complete"):
        assert counter.staff.post(f"/queues/{queue}/tickets/{called['ticket']}/{step}").is_success
    assert send(me, queue, key, name="Ada").status_code == 303
    page = me.get(f"/q/{queue}")
    assert page.headers["x-fairline-state"] == "finished"
    assert "Thank you for your visit." in page.text
    assert f'href="/join/{queue}?lang=en"' in page.text
    assert len(counter.tickets(queue)) == 1
    assert send(me, queue, form_of(me, queue), name="Ada").status_code == 303, "a new form is a new number"
    assert len(counter.tickets(queue)) == 2


def test_a_form_from_before_a_change_is_checked_by_what_is_asked_now(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    key = form_of(me, queue)
    counter.staff.patch(f"/queues/{queue}", json={"ask_name": "required", "ask_phone": "no"})
    answer = send(me, queue, key, phone="030 123456")
    assert wrong(answer) == {"name": "Please tell us your name."}
    assert f'value="{key}"' in answer.text, "the same form, to be sent again"
    assert send(me, queue, key, name="Ada", phone="no number").status_code == 303
    assert counter.tickets(queue)[0]["phone"] is None, "what is not asked is not kept"


def test_a_form_on_another_site_takes_no_number(counter: Counter) -> None:
    queue = counter.queue()
    for origin in ("cross-site", "same-site"):
        someone = counter.someone(**{"Sec-Fetch-Site": origin})
        answer = send(someone, queue, "k", name="Ada")
        assert (answer.status_code, "set-cookie" in answer.headers) == (303, False)
    assert counter.tickets(queue) == []


# What is typed


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"phone": "12"}, {"phone": "This is not a phone number. Write it like 030 123456."}),
        ({"phone": "call me"}, {"phone": "This is not a phone number. Write it like 030 123456."}),
        ({"phone": "+" + "4" * 500}, {"phone": "This is not a phone number. Write it like 030 123456."}),
        ({"name": "x" * 10_000}, {"name": "At most 100 characters, please."}),
        ({"name": "a\x00b"}, {"name": "This has signs that cannot be shown. Please type your name again."}),
        ({"name": "a\nb"}, {"name": "This has signs that cannot be shown. Please type your name again."}),
        ({"email": "ada"}, {"email": "This is not an e-mail address. Write it like ada@example.com."}),
        ({"email": "a@b.example\nBcc: x"}, {"email": "This is not an e-mail address. Write it like ada@example.com."}),
        ({"email": "x" * 999}, {"email": "This is not an e-mail address. Write it like ada@example.com."}),
        (
            {"party_size": "0"},
            {"party_size": "A whole number from 1 to 20, please. With more people, ask at the desk."},
        ),
        (
            {"party_size": "2.5"},
            {"party_size": "A whole number from 1 to 20, please. With more people, ask at the desk."},
        ),
        (
            {"party_size": "9" * 99},
            {"party_size": "A whole number from 1 to 20, please. With more people, ask at the desk."},
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_mistake_is_told_at_its_field_and_nobody_joins(
    counter: Counter, fields: dict[str, str], found: dict[str, str]
) -> None:
    queue, me = counter.queue(ask_party_size="optional", ask_email="optional"), counter.someone()
    answer = send(me, queue, form_of(me, queue), **fields)
    assert wrong(answer) == found
    (field,) = found
    (at_field,) = re.findall(rf'<input id="{field}"[^>]*>', answer.text)
    assert 'aria-invalid="true"' in at_field
    assert f'aria-describedby="{field}-wrong' in at_field
    assert " autofocus" in at_field
    assert len(answer.text) < 20_000
    assert counter.tickets(queue) == []


def test_all_mistakes_are_told_at_once_and_nothing_right_is_lost(counter: Counter) -> None:
    queue, me = counter.queue(ask_name="required", ask_party_size="required"), counter.someone()
    answer = send(me, queue, form_of(me, queue), phone="+49 30 123456 <b>")
    assert wrong(answer).keys() == {"name", "phone", "party_size"}
    assert "&lt;b&gt;" in answer.text
    assert "<b>" not in answer.text


def test_a_body_that_is_too_large_is_413(counter: Counter) -> None:
    me = counter.someone()
    assert send(me, counter.queue(), "k", name="🦊" * 10_000).status_code == 413


@pytest.mark.parametrize("lang", LANGUAGES)
def test_mistakes_are_in_words_of_every_language(lang: str) -> None:
    asked = dict.fromkeys(("ask_name", "ask_phone", "ask_email", "ask_party_size"), "required")
    settings = checked(asked)
    words = Language(lang, counter=True)
    found = [
        *mistakes(Filled(key="k"), settings, words).values(),
        *mistakes(Filled(key="k", name="x" * 101, phone="1", email="@", party_size="x"), settings, words).values(),
    ]
    assert len(set(found)) == 8
    assert not any("{" in each for each in found)
    assert mistakes(Filled(key="k"), QueueSettings(), words) == {}


# Limits


def test_three_numbers_an_hour_for_one_phone_in_words_people_understand(counter: Counter) -> None:
    queue = counter.queue(one_per="none")
    for _ in range(3):
        someone = counter.someone()
        assert send(someone, queue, form_of(someone, queue), phone="030 123456").status_code == 303
    me = counter.someone()
    answer = send(me, queue, form_of(me, queue), phone="+49 30 123456", name="Ada")
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (429, "form")
    assert int(answer.headers["retry-after"]) > 3000
    assert dict(_WRONG.findall(answer.text)) == {
        "phone": "3 numbers an hour for one phone. Try again in 60 minutes, or ask at the desk."
    }
    assert 'value="Ada"' in answer.text
    assert len(counter.tickets(queue)) == 3


def test_the_limit_of_an_address_is_told_above_the_form(counter: Counter) -> None:
    queue = counter.queue(join_limit_per_ip=1)
    first, second = counter.someone(), counter.someone()
    assert send(first, queue, form_of(first, queue)).status_code == 303
    answer = send(second, queue, form_of(second, queue, "de"), "de")
    assert answer.status_code == 429
    assert "1 Nummer in der Minute aus einem Netz. Versuchen Sie es in 1 Minute wieder" in answer.text


def test_a_phone_that_has_a_number_elsewhere_is_told_so(counter: Counter) -> None:
    queue = counter.queue(one_per="phone")
    first, second = counter.someone(), counter.someone()
    assert send(first, queue, form_of(first, queue), phone="030 123456").status_code == 303
    answer = send(second, queue, form_of(second, queue), phone="+49 30 123456")
    assert answer.status_code == 409
    assert "There is a number for you already." in dict(_WRONG.findall(answer.text))["phone"]


@pytest.mark.parametrize(
    ("settings", "state", "status"),
    [
        ({"status": "maintenance"}, "maintenance", 503),
        ({"max_queue_size": 1}, "full", 503),
        ({"opening_hours": {"monday": []}, "closed_dates": ["2026-01-01"]}, "form", 200),
        ({"opening_hours": ANOTHER_DAY}, "closed", 503),
    ],
)
def test_a_counter_that_takes_nobody_says_why(
    counter: Counter, settings: dict[str, Any], state: str, status: int
) -> None:
    queue = counter.queue(**settings)
    if state == "full":
        first = counter.someone()
        send(first, queue, form_of(first, queue))
    answer = counter.someone().get(f"/join/{queue}")
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (status, state)


def test_an_unknown_queue_has_no_form_no_code_and_no_poster(counter: Counter) -> None:
    for path in ("", "/qr.svg", "/poster", "/move", "/kiosk"):
        assert counter.someone().get(f"/join/nowhere{path}").status_code in (403, 404), path
    assert counter.someone().post("/join/nowhere", data={"key": "k"}).status_code == 404


# The ticket page of a counter


def test_at_a_counter_nobody_joins_but_by_the_form_and_nobody_is_sent_to_a_site(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    for answer in (me.get(f"/q/{queue}"), me.post(f"/q/{queue}", data={"do": "join"})):
        assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, f"/join/{queue}")
    assert counter.tickets(queue) == []
    send(me, queue, form_of(me, queue))
    (called,) = counter.staff.post(f"/queues/{queue}/call-next", json={"counter": "Desk 2"}).json()["tickets"]
    page = me.get(f"/q/{queue}")
    assert page.headers["x-fairline-state"] == "admitted"
    assert "Go to Desk 2" in page.text
    assert "fairline_session" not in page.text
    for action, state in (("start", "inside"), ("complete", "finished")):
        counter.staff.post(f"/queues/{queue}/tickets/{called['ticket']}/{action}")
        assert me.get(f"/q/{queue}").headers["x-fairline-state"] == state


def test_what_staff_do_is_told_in_a_counters_words(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    send(me, queue, form_of(me, queue))
    (ticket,) = counter.tickets(queue)

    def told(action: str) -> tuple[str, str]:
        assert counter.staff.post(f"/queues/{queue}/tickets/{ticket['ticket']}/{action}").is_success
        page = me.get(f"/q/{queue}")
        return page.headers["x-fairline-state"], page.text

    for action, state, words in (
        ("hold", "held", "You are on hold"),
        ("release", "waiting", "You are next"),
        ("call", "admitted", "Please come to the desk."),
        ("no-show", "expired", "they can call you again"),
        ("reinstate", "admitted", "It is your turn"),
        ("return", "waiting", "You are next"),
        ("call", "admitted", "It is your turn"),
        ("start", "inside", "You are being served"),
    ):
        found, text = told(action)
        assert found == state
        assert words in text


def test_letting_someone_pass_twice_with_one_look_is_once(counter: Counter) -> None:
    queue, me = counter.queue(), counter.someone()
    send(me, queue, form_of(me, queue))
    mine = counter.tickets(queue)[0]["ticket"]
    for _ in range(3):
        other = counter.someone()
        send(other, queue, form_of(other, queue))
    assert 'name="position" value="1"' in me.get(f"/q/{queue}").text
    for _ in range(2):
        assert me.post(f"/q/{queue}", data={"do": "pass", "position": "1"}).status_code == 303
    assert [ticket["ticket"] for ticket in counter.tickets(queue)].index(mine) == 1
    me.post(f"/q/{queue}", data={"do": "pass", "position": "⅞"})
    assert [ticket["ticket"] for ticket in counter.tickets(queue)].index(mine) == 2


def test_a_number_moves_to_another_phone_and_does_not_copy(counter: Counter) -> None:
    queue, old, new = counter.queue(), counter.someone(), counter.someone()
    send(old, queue, form_of(old, queue))
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
    again = counter.someone().post(f"/join/{queue}/move", data={"code": code})
    assert (again.status_code, again.headers["x-fairline-state"]) == (410, "move_over")
    damaged = counter.someone().post(f"/join/{queue}/move", data={"code": "x"})
    assert (damaged.status_code, damaged.headers["x-fairline-state"]) == (410, "move_over")
    assert old.post(f"/q/{queue}", data={"do": "leave"}).status_code == 303
    assert len(counter.tickets(queue)) == 1
    assert counter.tickets(queue)[0]["status"] == "waiting", "the old phone has nothing to give up"


# On the wall


def test_the_code_is_a_picture_of_the_address(counter: Counter) -> None:
    queue = counter.queue()
    answer = counter.someone().get(f"/join/{queue}/qr.svg?size=300&colour=%230b6bcb")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert 'width="300" height="300"' in answer.text
    assert "#0b6bcb" in answer.text
    for query, field in (("size=9", "size"), ("size=x", "size"), ("colour=red", "colour"), ("colour=ffff00", "colour")):
        refused = counter.someone().get(f"/join/{queue}/qr.svg?{query}")
        assert (refused.status_code, refused.json()["field"]) == (422, field)


def test_the_poster_says_it_in_the_languages_asked_for(counter: Counter) -> None:
    queue = counter.queue(name="Bo's <b>")
    text = counter.someone().get(f"/join/{queue}/poster?lang=ar,de,xx,de").text
    assert '<html lang="ar" dir="rtl">' in text
    assert text.count("Nummer ziehen und warten") == 1
    assert "Bo&#39;s &lt;b&gt;" in text
    assert f"{urlsplit(counter.server.base_url).netloc}/join/{queue}" in text


# At the door


def open_kiosk(counter: Counter, queue: str, **body: Any) -> httpx.Client:
    made = counter.staff.post(f"/queues/{queue}/kiosk", json=body)
    assert made.status_code == 201, made.text
    tablet = counter.someone()
    answer = tablet.get(made.json()["url"])
    assert (answer.status_code, answer.headers["location"]) == (303, f"/join/{queue}/kiosk")
    assert "token=" not in answer.headers["location"]
    return tablet


def press(tablet: httpx.Client, queue: str, key: str = "", **fields: str) -> httpx.Response:
    return tablet.post(f"/join/{queue}/kiosk", data={"key": key or secrets.token_hex(8), **fields})


def test_a_kiosk_takes_numbers_for_many_and_the_same_press_once(counter: Counter) -> None:
    queue = counter.queue(
        series=["A", "B"],
        texts={"series_B": "Beards"},
        join_limit_per_ip=1,
        ask_party_size="optional",
        ask_email="required",
    )
    tablet = open_kiosk(counter, queue)
    start = tablet.get(f"/join/{queue}/kiosk")
    assert start.headers["x-fairline-state"] == "start"
    assert re.search(r'value="B">Beards</button>', start.text)
    labels = []
    for _ in range(5):
        taken = press(tablet, queue, series="B", party_size="4")
        assert (taken.status_code, taken.headers["x-fairline-state"]) == (201, "taken")
        labels += re.findall(r"</small>(B\d+)</p>", taken.text)[:1]
        assert "set-cookie" not in taken.headers, "the tablet holds nobody's ticket"
    assert labels == [f"B000{n}" for n in range(1, 6)]
    first, again = press(tablet, queue, "same"), press(tablet, queue, "same")
    assert (first.status_code, again.status_code) == (201, 200)
    assert len(counter.tickets(queue)) == 6
    assert counter.tickets(queue)[0]["party_size"] == 4
    wrong_size = press(tablet, queue, party_size="99")
    assert wrong_size.status_code == 422
    assert "A whole number from 1 to 20" in wrong_size.text


def test_a_kiosk_is_open_only_by_its_link_and_as_long_as_its_key(counter: Counter) -> None:
    queue, other = counter.queue(), counter.queue()
    stranger = counter.someone()
    assert stranger.get(f"/join/{queue}/kiosk").status_code == 403
    assert press(stranger, queue).status_code == 403
    assert stranger.get(f"/join/{queue}/kiosk?token=forged").status_code == 403
    made = counter.staff.post("/keys", json={"role": "operator", "name": "door"}).json()
    with httpx.Client(base_url=counter.staff.base_url, headers={"Authorization": f"Bearer {made['key']}"}) as desk:
        link = desk.post(f"/queues/{queue}/kiosk").json()["url"]
    tablet = counter.someone()
    tablet.get(link)
    assert press(tablet, queue).status_code == 201
    assert tablet.get(link.replace(queue, other)).status_code == 403, "a link is for one queue"
    assert counter.staff.delete(f"/keys/{made['id']}").status_code == 204
    assert press(tablet, queue).status_code == 403
    assert len(counter.tickets(queue)) == 1


def test_a_kiosk_says_when_nobody_is_taken_and_is_not_made_where_paper_would_lapse(counter: Counter) -> None:
    queue = counter.queue(opening_hours=ANOTHER_DAY)
    tablet = open_kiosk(counter, queue)
    for answer in (tablet.get(f"/join/{queue}/kiosk"), press(tablet, queue)):
        assert (answer.status_code, answer.headers["x-fairline-state"]) == (503, "refused")
        assert "Closed" in answer.text
    assert counter.tickets(queue) == []
    refused = counter.staff.post(f"/queues/{counter.queue(heartbeat_timeout_seconds=60)}/kiosk")
    assert refused.status_code == 422
    assert "heartbeat_timeout_seconds" in refused.json()["detail"]
