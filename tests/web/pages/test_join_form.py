"""Taking a number over HTTP: whatever is typed, tapped twice or sent again, there is a clear answer and one ticket."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from fairline.domain.branding import LANGUAGES
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.settings_checks import checked
from fairline.web.pages.form import Filled, mistakes
from fairline.web.pages.languages import Language
from tests.web.walk_in import ANOTHER_DAY, BROWSER, WRONG, WalkIn, form_of, send, wrong

# One form, one ticket


def test_a_form_makes_a_ticket_and_leads_to_its_page(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(ask_party_size="optional"), walk_in.someone()
    answer = send(me, queue, form_of(me, queue), name="  Ada 🦊 ", phone="030 123456", party_size="3")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/q/{queue}")
    (ticket,) = walk_in.tickets(queue)
    assert (ticket["name"], ticket["phone"], ticket["party_size"]) == ("Ada 🦊", "+4930123456", 3)
    page = me.get(f"/q/{queue}")
    assert (page.status_code, page.headers["x-fairline-state"]) == (200, "waiting")
    assert ticket["label"].rpartition("-")[2] in page.text


def test_a_form_that_asks_for_an_e_mail_address_keeps_it(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(ask_email="required"), walk_in.someone()
    key = form_of(me, queue)
    assert wrong(send(me, queue, key)) == {"email": "Enter your e-mail address."}
    assert send(me, queue, key, email=" ada@example.com ").status_code == 303
    assert walk_in.tickets(queue)[0]["email"] == "ada@example.com"
    unasked, other = walk_in.queue(), walk_in.someone()
    assert 'id="email"' not in other.get(f"/join/{unasked}").text
    assert send(other, unasked, "k", email="ada@example.com").status_code == 303
    assert walk_in.tickets(unasked)[0]["email"] is None, "what is not asked is not kept"


def test_twenty_taps_at_once_are_one_ticket(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    key = form_of(me, queue)
    cookies = dict(me.cookies)

    def tap(_: int) -> httpx.Response:
        with httpx.Client(base_url=walk_in.server.base_url, headers=BROWSER, cookies=cookies) as finger:
            return send(finger, queue, key, name="Ada")

    with ThreadPoolExecutor(8) as fingers:
        answers = list(fingers.map(tap, range(20)))
    assert {answer.status_code for answer in answers} == {303}
    assert len(walk_in.tickets(queue)) == 1


def test_a_form_sent_again_is_the_same_ticket_also_without_cookies_or_filled_in_otherwise(walk_in: WalkIn) -> None:
    queue = walk_in.queue(one_per="none")
    me = walk_in.someone()
    key = form_of(me, queue)
    assert send(me, queue, key, name="Ada").status_code == 303
    for name in ("Ada", "Ada Lovelace"):  # the answer got lost with its cookies, and they went back
        again = walk_in.someone()
        assert send(again, queue, key, name=name).status_code == 303
        assert again.get(f"/q/{queue}").headers["x-fairline-state"] == "waiting"
    assert [ticket["name"] for ticket in walk_in.tickets(queue)] == ["Ada"]


def test_back_and_a_new_form_lead_to_the_ticket_one_has(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    first, second = form_of(me, queue), form_of(me, queue)
    assert send(me, queue, first, name="Ada").status_code == 303
    back = me.get(f"/join/{queue}")
    assert (back.status_code, back.headers["location"]) == (303, f"/q/{queue}")
    assert send(me, queue, second, name="Ada").headers["location"] == f"/q/{queue}"
    assert len(walk_in.tickets(queue)) == 1


def test_a_stale_form_shows_what_became_of_its_ticket_and_makes_no_other(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    key = form_of(me, queue)
    send(me, queue, key, name="Ada")
    (called,) = walk_in.staff.post(f"/queues/{queue}/call-next").json()["tickets"]
    for step in ("start", "complete"):
        assert walk_in.staff.post(f"/queues/{queue}/tickets/{called['ticket']}/{step}").is_success
    assert send(me, queue, key, name="Ada").status_code == 303
    page = me.get(f"/q/{queue}")
    assert page.headers["x-fairline-state"] == "finished"
    assert "Thank you for your visit." in page.text
    assert f'href="/join/{queue}?lang=en"' in page.text
    assert len(walk_in.tickets(queue)) == 1
    assert send(me, queue, form_of(me, queue), name="Ada").status_code == 303, "a new form is a new number"
    assert len(walk_in.tickets(queue)) == 2


def test_a_form_from_before_a_change_is_checked_by_what_is_asked_now(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    key = form_of(me, queue)
    walk_in.staff.patch(f"/queues/{queue}", json={"ask_name": "required", "ask_phone": "no"})
    answer = send(me, queue, key, phone="030 123456")
    assert wrong(answer) == {"name": "Enter your name."}
    assert f'value="{key}"' in answer.text, "the same form, to be sent again"
    assert send(me, queue, key, name="Ada", phone="no number").status_code == 303
    assert walk_in.tickets(queue)[0]["phone"] is None, "what is not asked is not kept"


def test_a_form_on_another_site_takes_no_number(walk_in: WalkIn) -> None:
    queue = walk_in.queue()
    for origin in ("cross-site", "same-site"):
        someone = walk_in.someone(**{"Sec-Fetch-Site": origin})
        answer = send(someone, queue, "k", name="Ada")
        assert (answer.status_code, "set-cookie" in answer.headers) == (303, False)
    assert walk_in.tickets(queue) == []


def test_a_form_with_the_key_of_a_call_is_another_join(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(), walk_in.someone()
    called = {"idempotency_key": "k" * 20, "client_id": "someone"}
    assert me.post(f"/api/v1/queues/{queue}/join", json=called).is_success
    assert send(walk_in.someone(), queue, "k" * 20, name="Ada").status_code == 303
    assert len(walk_in.tickets(queue)) == 2


def test_a_form_with_a_foreign_key_is_a_new_form(walk_in: WalkIn) -> None:
    queue = walk_in.queue()
    for key in ("1", "1", "x" * 65):
        assert send(walk_in.someone(), queue, key).status_code == 303
    assert len(walk_in.tickets(queue)) == 3


# What is typed


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"phone": "12"}, {"phone": "This is not a phone number. Write it like this: 030 123456."}),
        ({"phone": "call me"}, {"phone": "This is not a phone number. Write it like this: 030 123456."}),
        ({"phone": "+" + "4" * 500}, {"phone": "This is not a phone number. Write it like this: 030 123456."}),
        ({"name": "x" * 10_000}, {"name": "Use at most 100 characters."}),
        ({"name": "a\x00b"}, {"name": "This contains characters we can’t display. Please type your name again."}),
        ({"name": "a\nb"}, {"name": "This contains characters we can’t display. Please type your name again."}),
        ({"name": "a\u202eb"}, {"name": "This contains characters we can’t display. Please type your name again."}),
        ({"email": "ada"}, {"email": "This is not an e-mail address. Write it like this: ada@example.com."}),
        (
            {"email": "a@b.example\nBcc: x"},
            {"email": "This is not an e-mail address. Write it like this: ada@example.com."},
        ),
        ({"email": "x" * 999}, {"email": "This is not an e-mail address. Write it like this: ada@example.com."}),
        (
            {"party_size": "0"},
            {"party_size": "Enter a whole number from 1 to 20. For larger groups, ask at the desk."},
        ),
        (
            {"party_size": "2.5"},
            {"party_size": "Enter a whole number from 1 to 20. For larger groups, ask at the desk."},
        ),
        (
            {"party_size": "9" * 99},
            {"party_size": "Enter a whole number from 1 to 20. For larger groups, ask at the desk."},
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_mistake_is_told_at_its_field_and_nobody_joins(
    walk_in: WalkIn, fields: dict[str, str], found: dict[str, str]
) -> None:
    queue, me = walk_in.queue(ask_party_size="optional", ask_email="optional"), walk_in.someone()
    answer = send(me, queue, form_of(me, queue), **fields)
    assert wrong(answer) == found
    (field,) = found
    (at_field,) = re.findall(rf'<input id="{field}"[^>]*>', answer.text)
    assert 'aria-invalid="true"' in at_field
    assert f'aria-describedby="{field}-wrong' in at_field
    assert " autofocus" in at_field
    assert len(answer.text) < 20_000
    assert walk_in.tickets(queue) == []


def test_all_mistakes_are_told_at_once_and_nothing_right_is_lost(walk_in: WalkIn) -> None:
    queue, me = walk_in.queue(ask_name="required", ask_party_size="required"), walk_in.someone()
    answer = send(me, queue, form_of(me, queue), phone="+49 30 123456 <b>")
    assert wrong(answer).keys() == {"name", "phone", "party_size"}
    assert "&lt;b&gt;" in answer.text
    assert "<b>" not in answer.text


def test_a_body_that_is_too_large_is_413(walk_in: WalkIn) -> None:
    me = walk_in.someone()
    assert send(me, walk_in.queue(), "k", name="🦊" * 10_000).status_code == 413


@pytest.mark.parametrize("lang", LANGUAGES)
def test_mistakes_are_in_words_of_every_language(lang: str) -> None:
    asked = dict.fromkeys(("ask_name", "ask_phone", "ask_email", "ask_party_size"), "required")
    settings = checked(asked)
    words = Language(lang, walk_in=True)
    found = [
        *mistakes(Filled(key="k"), settings, words).values(),
        *mistakes(Filled(key="k", name="x" * 101, phone="1", email="@", party_size="x"), settings, words).values(),
    ]
    assert len(set(found)) == 8
    assert not any("{" in each for each in found)
    assert mistakes(Filled(key="k"), QueueSettings(), words) == {}


# Limits


def test_three_numbers_an_hour_for_one_phone_in_words_people_understand(walk_in: WalkIn) -> None:
    queue = walk_in.queue(one_per="none")
    for _ in range(3):
        someone = walk_in.someone()
        assert send(someone, queue, form_of(someone, queue), phone="030 123456").status_code == 303
    me = walk_in.someone()
    answer = send(me, queue, form_of(me, queue), phone="+49 30 123456", name="Ada")
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (429, "form")
    assert int(answer.headers["retry-after"]) > 3000
    assert dict(WRONG.findall(answer.text)) == {
        "phone": "You can take 3 numbers an hour with one phone. Try again in 60 minutes, or ask at the desk."
    }
    assert 'value="Ada"' in answer.text
    assert len(walk_in.tickets(queue)) == 3


def test_three_numbers_an_hour_for_one_mailbox_in_words_people_understand(walk_in: WalkIn) -> None:
    queue = walk_in.queue(ask_email="required")
    for number in range(3):
        someone = walk_in.someone()
        assert send(someone, queue, form_of(someone, queue), email=f"ada+{number}@example.com").status_code == 303
    me = walk_in.someone()
    answer = send(me, queue, form_of(me, queue), email="Ada@example.com")
    assert answer.status_code == 429
    assert dict(WRONG.findall(answer.text)) == {
        "email": "You can take 3 numbers an hour with one e-mail address. Try again in 60 minutes, or ask at the desk."
    }


def test_the_limit_of_an_address_is_told_above_the_form(walk_in: WalkIn) -> None:
    queue = walk_in.queue(join_limit_per_ip=1)
    first, second = walk_in.someone(), walk_in.someone()
    assert send(first, queue, form_of(first, queue)).status_code == 303
    answer = send(second, queue, form_of(second, queue, "de"), "de")
    assert answer.status_code == 429
    assert "Aus einem Netz kann man 1 Nummer pro Minute ziehen. Versuchen Sie es in 1 Minute noch einmal" in answer.text


def test_a_phone_that_has_a_number_elsewhere_is_told_so(walk_in: WalkIn) -> None:
    queue = walk_in.queue(one_per="phone")
    first, second = walk_in.someone(), walk_in.someone()
    assert send(first, queue, form_of(first, queue), phone="030 123456").status_code == 303
    answer = send(second, queue, form_of(second, queue), phone="+49 30 123456")
    assert answer.status_code == 409
    assert "You already have a number." in dict(WRONG.findall(answer.text))["phone"]


@pytest.mark.parametrize(
    ("settings", "state", "status"),
    [
        ({"status": "maintenance"}, "maintenance", 503),
        ({"max_queue_size": 1}, "full", 503),
        ({"opening_hours": {"monday": []}, "closed_dates": ["2026-01-01"]}, "form", 200),
        ({"opening_hours": ANOTHER_DAY}, "closed", 503),
    ],
)
def test_a_desk_that_takes_nobody_says_why(walk_in: WalkIn, settings: dict[str, Any], state: str, status: int) -> None:
    queue = walk_in.queue(**settings)
    if state == "full":
        first = walk_in.someone()
        send(first, queue, form_of(first, queue))
    answer = walk_in.someone().get(f"/join/{queue}")
    assert (answer.status_code, answer.headers["x-fairline-state"]) == (status, state)


def test_an_unknown_queue_has_no_form_no_code_and_no_poster(walk_in: WalkIn) -> None:
    for path in ("", "/qr.svg", "/poster", "/move", "/kiosk"):
        assert walk_in.someone().get(f"/join/nowhere{path}").status_code in (403, 404), path
    assert walk_in.someone().post("/join/nowhere", data={"key": "k"}).status_code == 404
