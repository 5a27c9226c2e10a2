"""A morning at a walk-in line, on every screen: three phones, two desks, the board on the wall. Whatever anyone
presses, all of them come to show the same. On PostgreSQL, which is the usual store of a walk-in line."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import Struct
from playwright.sync_api import Error, Page, Response, expect

from fairline.web.pages.languages import Language
from tests.browser.boards import SCREEN, board_of
from tests.browser.conftest import NewPerson
from tests.browser.desks import Sit, can_call, next_, press, row
from tests.browser.venue import PATIENCE_SECONDS, Queue, Venue
from tests.browser.walk_in_line import WATCH, take_number, walk_in

#: Between two checks of all screens.
REST_MS = 30
ENGLISH = Language("en")
#: Six browsers that draw moving pictures are what would take the time.
STILL = {"reduced_motion": "reduce"}
DESKS = ("Desk 1", "Desk 2")
#: What stands above the number of someone who is no longer in line.
TITLES = {"serving": "You are being served", "no-show": "You were called", "done": "All done"}

#: What each kind of screen shows.
PHONE = """() => {
  const seen = (name) => [...document.querySelectorAll(`[data-show="${name}"]`)].find((it) => it.checkVisibility());
  const read = (name) => seen(name)?.textContent.trim() ?? "";
  const state = document.documentElement.dataset.state;
  if (state === "waiting") return [document.querySelector(".tag").textContent, read("ahead")];
  return state === "admitted" ? [read("desk"), `rung ${window.rung}`] : [document.querySelector("h1").textContent];
}"""
DESK = """() => {
  const rows = (name) => [...document.querySelectorAll(`[data-show="${name}"] li`)];
  const labels = (name) => rows(name).map((it) => it.querySelector("b").textContent);
  return {
    mine: [...document.querySelectorAll(".person")].map(
      (it) => [it.querySelector(".label-big").textContent, it.dataset.where]),
    elsewhere: rows("elsewhere").map(
      (it) => [it.querySelector("b").textContent, it.querySelector(".at").textContent]).sort(),
    line: labels("line"),
    missed: labels("missed"),
    status: document.querySelector('[data-show="status"]').textContent,
  };
}"""
BOARD = """() => [...document.querySelectorAll("section")].map((section) => {
  const part = (name) => section.querySelector(`[data-show="${name}"]`);
  const read = (name) => (part(name).checkVisibility() ? part(name).textContent.trim() : "");
  const now = read("call") ? [[read("call"), read("desk")]] : [];
  const others = [...part("serving").children].map((it) => [...it.children].map((each) => each.textContent));
  return {first: now[0]?.[0] ?? "", called: [...now, ...others].sort(),
          waiting: read("waiting"), stopped: read("stopped")};
})"""


class Guest(Struct, kw_only=True):
    """Someone with a number, and how it stands with them."""

    page: Page
    queue: Queue
    ticket: int
    label: str
    where: str = "waiting"
    desk: str = ""
    rung: int = 0
    """How many notes their phone has played."""

    def called(self, desk: str) -> None:
        """They are called, which their phone plays two notes for."""
        self.where, self.desk, self.rung = "called", desk, self.rung + 2


class WalkIn:
    """A walk-in line with all its screens, and what each of them should show."""

    def __init__(self, queue: Queue, other: Queue) -> None:
        self.queue, self.other = queue, other
        self.guests: list[Guest] = []
        self.desks: dict[str, Page] = {}
        self.wall: Page
        self.first = ""
        """Whom the board calls in large letters."""
        self.closed = False

    def comes(self, someone: Any, **fields: str) -> Guest:
        """Someone takes a number with their phone."""
        someone.context.add_init_script(WATCH)
        page = take_number(self.queue, someone, **fields)
        ticket = self.queue.newest()
        guest = Guest(page=page, queue=self.queue, ticket=ticket["ticket"], label=ticket["label"])
        self.guests.append(guest)
        return guest

    def guest(self, answer: Response) -> Guest:
        """Whom a press has called."""
        (ticket,) = answer.json()["tickets"]
        return next(guest for guest in self.guests if guest.label == ticket["label"])

    def call(self, desk: str) -> Guest:
        """A desk calls the next one."""
        can_call(self.desks[desk])
        with self.desks[desk].expect_response("**/call-next") as answer:
            next_(self.desks[desk]).click()
        guest = self.guest(answer.value)
        guest.called(desk)
        self.first = guest.label
        return guest

    def does(self, desk: str, act: Callable[[Page], None]) -> None:
        """Someone at a desk presses something, and it is answered."""
        with self.desks[desk].expect_response(lambda answer: answer.request.method == "POST"):
            act(self.desks[desk])

    def presses(self, desk: str, action: str) -> None:
        """Someone at a desk presses one of the buttons for who is there."""
        self.does(desk, lambda page: press(page, action))

    def closes(self) -> None:
        """Its hours are changed, so that it is closed now."""
        another_day = f"{datetime.now(UTC) + timedelta(days=3):%A}".lower()
        self.queue.set(opening_hours={another_day: ["09:00-12:00"]})
        self.closed = True

    # What the screens should show

    def agree(self) -> None:
        """Every screen comes to show the same."""
        screens: list[tuple[str, Page, str, Any]] = [
            *((f"the phone of {guest.label}", guest.page, PHONE, self._phone(guest)) for guest in self.guests),
            *((desk, page, DESK, self._desk(desk)) for desk, page in self.desks.items()),
            ("the board", self.wall, BOARD, [self._board(self.queue), self._board(self.other)]),
        ]
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            late = time.monotonic() > until
            wrong = [(name, _told(page, read), truth) for name, page, read, truth in screens]
            wrong = [(name, told, truth) for name, told, truth in wrong if told != truth]
            if not wrong:
                return
            assert not late, "\n".join(f"{name} tells {told}, and not {truth}" for name, told, truth in wrong)
            self.wall.wait_for_timeout(REST_MS)

    def _phone(self, guest: Guest) -> list[str]:
        if guest.where == "waiting":
            ahead = self._line(guest.queue).index(guest.label)
            return [guest.label, ENGLISH.count("ahead", ahead) if ahead else ENGLISH("ahead_none")]
        if guest.where == "called":
            return [ENGLISH("desk", desk=guest.desk), f"rung {guest.rung}"]
        return [TITLES[guest.where]]

    def _desk(self, desk: str) -> dict[str, Any]:
        words = {"called": "called to", "serving": "served at"}
        inside = [guest for guest in self.guests if guest.where in words]
        return {
            "mine": [[guest.label, guest.where] for guest in inside if guest.desk == desk],
            "elsewhere": sorted(
                [guest.label, f"{words[guest.where]} {guest.desk}"] for guest in inside if guest.desk != desk
            ),
            "line": self._line(self.queue),
            "missed": [guest.label for guest in self.guests if guest.where == "no-show"],
            "status": "Takes no more people" if self.closed else "Open",
        }

    def _board(self, queue: Queue) -> dict[str, Any]:
        inside = [each for each in self.guests if each.queue is queue and each.where in ("called", "serving")]
        waiting = len(self._line(queue))
        return {
            "first": _short(self.first) if inside else "",
            "called": sorted([_short(guest.label), guest.desk] for guest in inside),
            "waiting": ENGLISH.count("board_waiting", waiting) if waiting else ENGLISH("board_waiting_none"),
            "stopped": ENGLISH("closed_title") if self.closed and queue is self.queue else "",
        }

    def _line(self, queue: Queue) -> list[str]:
        return sorted(each.label for each in self.guests if each.queue is queue and each.where == "waiting")


def _short(label: str) -> str:
    """A label as the board shows it: its number alone."""
    return label.rpartition("-")[2].lstrip("0")


def _told(page: Page, read: str) -> Any:
    try:
        return page.evaluate(read)
    except Error:  # it is being reloaded
        return None


def transfer(page: Page, to: Queue) -> None:
    """Send who is at a desk on to another queue."""
    press(page, "transfer")
    page.get_by_label("To which queue").select_option(to.name)
    page.locator('dialog [data-do="confirm"]').click()


@pytest.fixture
def barber(venue: Venue, come: NewPerson, sit: Sit) -> WalkIn:
    """A walk-in line that has just opened: two at their desks, the board on the wall, nobody there yet."""
    found = WalkIn(
        walk_in(venue, desks=list(DESKS), claim_seconds=120), walk_in(venue, name="Colours", ticket_prefix="CO")
    )
    for desk in DESKS:
        found.desks[desk] = sit(found.queue, desk, **STILL)
    found.wall = come(viewport=SCREEN, **STILL).tab(board_of([found.queue, found.other]))
    expect(found.wall.locator("section")).to_have_count(2)
    return found


def test_every_screen_agrees_after_every_press(barber: WalkIn, come: NewPerson) -> None:
    for name, phone in (("Ada", "030 123456"), ("Grace 🦊", ""), ("Katherine", "030 123457")):
        barber.comes(come(**STILL), name=name, phone=phone)
        barber.agree()

    # Both press at once, and have different people.
    one, other = (barber.desks[desk] for desk in DESKS)
    with ExitStack() as stack:
        answers = [stack.enter_context(page.expect_response("**/call-next")) for page in (one, other)]
        for page in (one, other):
            page.evaluate("document.querySelector('[data-do=\"call-next\"]').click()")
    for desk, answer in zip(DESKS, answers, strict=True):
        barber.guest(answer.value).called(desk)
    ada, grace, katherine = barber.guests
    assert {ada.desk, grace.desk} == set(DESKS)
    barber.first = grace.label
    barber.agree()

    barber.presses(ada.desk, "recall")
    ada.rung += 2
    barber.first = ada.label
    barber.agree()

    barber.presses(ada.desk, "no_show")
    ada.where, barber.first = "no-show", grace.label
    barber.agree()

    # The other desk sees her come after all. Her page was reloaded, so its bell begins again.
    barber.does(grace.desk, lambda page: row(page, "missed", ada.ticket).get_by_role("button", name="Undo").click())
    ada.where, ada.rung, barber.first = "called", 0, ada.label
    barber.agree()

    barber.presses(grace.desk, "return")
    grace.where = "waiting"
    barber.agree()

    barber.presses(ada.desk, "start")
    ada.where = "serving"
    barber.agree()

    assert barber.call(grace.desk) is grace, "she is back at her old place"
    barber.agree()

    barber.does(grace.desk, lambda page: transfer(page, barber.other))
    grace.queue, grace.where, grace.label = barber.other, "waiting", "RCO-000001"
    barber.first = ada.label
    barber.agree()

    barber.closes()
    barber.agree()
    late = come().tab(barber.queue.form_url)
    expect(late.get_by_role("heading", name="Closed")).to_be_visible()
    expect(late.get_by_role("button", name="Take a number")).to_have_count(0)

    # People who have a number are served all the same.
    barber.presses(ada.desk, "complete")
    ada.where = "done"
    barber.agree()
    assert barber.call("Desk 1") is katherine
    barber.agree()
    for action, where in (("start", "serving"), ("complete", "done")):
        barber.presses("Desk 1", action)
        katherine.where = where
        barber.agree()
