"""The panel "Tell me when it's nearly my turn": what it asks of the browser and of the server, and what it says."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from fairline.web.description.examples import BODIES
from tests.browser.conftest import NewPerson
from tests.browser.prequeue import open_prequeue, start_soon
from tests.browser.venue import Venue, eventually, shows

#: The headless browser has no push service and no screen to keep on.
_DEVICE = """
const {endpoint, p256dh, auth} = %s;
PushManager.prototype.subscribe = async ({applicationServerKey}) => {
  window.server = applicationServerKey;
  return {toJSON: () => ({endpoint, keys: {p256dh, auth}})};
};
window.locks = [];
navigator.wakeLock.request = async (kind) => {
  window.locks.push(kind);
  return {release: async () => void window.locks.pop()};
};
"""


def test_the_panel_asks_for_what_was_chosen_and_says_what_comes(venue: Venue, come: NewPerson) -> None:
    queue = venue.queue()
    queue.others(8)
    me = come(permissions=["notifications"])
    page = me.tab()
    page.add_init_script(_DEVICE % json.dumps(BODIES["PushRequest"]))
    page.goto(queue.url)
    shows(page, "position").to_have_text("9")
    page.get_by_text("Tell me when it’s nearly my turn").click()
    with page.expect_response("**/api/v1/push?*") as pushed:
        page.get_by_role("button", name="Notification on this device").click()
    shows(page, "told").to_have_text("You get a notification, even if this page is closed.")
    with page.expect_response("**/api/v1/push?*") as changed:
        page.get_by_label("When?").select_option("10 minutes before")
    asked = [each.value.request.post_data_json for each in (pushed, changed)]
    kept = {name: BODIES["PushRequest"][name] for name in ("endpoint", "p256dh", "auth")}
    assert asked == [{**kept, "language": "en", "place": 3}, {**kept, "language": "en", "minutes": 10}]
    assert [each.value.status for each in (pushed, changed)] == [204, 204]
    assert page.evaluate("window.server.length") > 80

    awake = page.get_by_role("button", name="Keep the screen on")
    awake.click()
    assert page.evaluate("window.locks") == ["screen"]
    awake.click()
    page.wait_for_function("window.locks.length === 0")

    field = page.get_by_label("E-mail address")
    for typed, status, said in (
        ("ada@", 422, "This is not an e-mail address. Write it like this: ada@example.com."),
        ("ada@example.com", 204, ""),
    ):
        field.fill(typed)
        with page.expect_response("**/api/v1/mail?*") as mailed:
            field.press("Enter")
        assert mailed.value.status == status
        assert mailed.value.request.post_data_json == {"email": typed, "language": "en", "minutes": 10}
        shows(page, "mail-wrong").to_have_text(said)
    shows(page, "told").to_contain_text("We’ll e-mail ada@example.com")


def test_before_a_start_the_panel_offers_to_tell_it_and_afterwards_what_it_always_does(
    venue: Venue, come: NewPerson
) -> None:
    queue = venue.queue()
    opening = open_prequeue(queue)
    me = come(permissions=["notifications"])
    page = me.tab()
    page.add_init_script("window.told = []; window.Notification = function (title) { told.push(title); };")
    page.add_init_script("Notification.requestPermission = async () => (Notification.permission = 'granted');")
    page.add_init_script("PushManager.prototype.subscribe = async () => { throw new Error('no push service'); };")
    page.goto(queue.url)
    page.get_by_text("Tell me when it starts").click()
    page.get_by_role("button", name="Notification on this device").click()
    told = "You get a notification while this page is open. You are also told when it starts."
    shows(page, "told").to_have_text(told)
    field = page.get_by_label("E-mail address")
    field.fill("ada@example.com")
    with page.expect_response("**/api/v1/mail?*") as mailed:
        field.press("Enter")
    assert mailed.value.status == 204
    shows(page, "told").to_contain_text("You are also told when it starts.")
    start_soon(queue, opening)
    shows(page, "position").to_have_text("1")
    eventually(lambda: page.evaluate("told[0]") == "It has started", "the start is told on this device")
    expect(page.get_by_text("Tell me when it’s nearly my turn")).to_be_visible()
