"""Commands on queues, tickets and desks, and what they say of a mistake; run in this process."""

from __future__ import annotations

import json
import re

import httpx
import pytest

from fairline.cli.client import Api
from fairline.domain.queue_settings import SETTINGS
from fairline.domain.settings_groups import grouped_settings
from tests.cli.typed import Here
from tests.web.running import RunningServer


def test_a_change_is_seen_and_undone(here: Here) -> None:
    here("queue", "create", "undo", "admission_rate=10", "name=Before")
    here("queue", "set", "undo", "admission_rate=40", "name=After", f"closed_message={'x' * 500}")
    here("queue", "set", "undo", "stock=3")
    told, _ = here("queue", "history", "undo")
    assert "first key" in told
    assert "admission_rate: 10 → 40" in told
    assert "stock: none → 3" in told
    assert "x" * 100 not in told
    revisions = json.loads(here("queue", "history", "undo", "--json")[0])["revisions"]
    assert revisions[0]["changes"] == {"stock": {"from": None, "to": 3}}
    assert f"--before {revisions[0]['version']}" in here("queue", "history", "undo", "--limit", "1")[0]
    assert "as it was" in here("queue", "restore", "undo")[0]
    assert json.loads(here("queue", "show", "undo", "--json")[0])["settings"]["stock"] is None
    assert "10 a second" in here("queue", "restore", "undo", str(revisions[2]["version"]))[0]
    assert json.loads(here("queue", "show", "undo", "--json")[0])["settings"]["name"] == "Before"


def test_a_setting_that_is_text_takes_what_is_typed(here: Here) -> None:
    def settings() -> dict[str, object]:
        found: dict[str, object] = json.loads(here("queue", "show", "typed", "--json")[0])["settings"]
        return found

    here("queue", "create", "typed", "ticket_prefix=24", "name=2027", "one_per=none")
    made = settings()
    assert (made["ticket_prefix"], made["name"], made["one_per"]) == ("24", "2027", "none")
    for text in ("true", "none", "null", '"Sale"', "[x]", "2 = 1+1", ""):
        told, _ = here("queue", "set", "typed", f"name={text}")
        assert settings()["name"] == text
        assert ("To remove it: name=" in told) == (text in ("none", "null"))


def test_nothing_after_the_sign_puts_back_the_default_of_any_setting(here: Here) -> None:
    def settings() -> dict[str, object]:
        found = json.loads(here("queue", "show", "back", "--json")[0])["settings"]
        return {name: found[name] for name in SETTINGS}

    here("queue", "create", "back", "name=")
    before = settings()
    changed = {
        "message": "Soon",
        "opens_at": "2027-01-15T09:00:00Z",
        "stock": "3",
        "stock_url": "https://seats.example/",
        "burst": "2",
        "admission_rate": "3",
        "series": '["A"]',
        "texts": '{"waiting_title": "Soon"}',
        "passthrough": "true",
        "one_per": "ip",
        "status": "paused",
        "clear_after_minutes": "5",
    }
    here("queue", "set", "back", *(f"{name}={text}" for name, text in changed.items()))
    after = settings()
    assert {name for name in before if before[name] != after[name]} == set(changed)
    here("queue", "set", "back", *(f"{name}=" for name in changed))
    assert settings() == before


def test_a_refused_setting_says_how_it_is_unset_and_a_mistyped_one_what_was_meant(here: Here) -> None:
    here("queue", "create", "refused")
    for typed, told in (
        ("stock=none", "got 'none'. To restore the default: stock="),
        ("opens_at=none", "got 'none'. To restore the default: opens_at="),
        ("admision_rate=4", "admision_rate: is not a queue setting. Did you mean admission_rate or admission?"),
        ("rate=", "rate: is not a queue setting. Did you mean admission_rate?"),
        (
            "speed=3",
            "speed: is not a queue setting. 'fairline queue set --help' and /docs of the server list them.",
        ),
    ):
        assert here("queue", "set", "refused", typed)[1].strip().endswith(told)


def test_the_help_has_the_settings_as_they_are_typed_and_so_has_show(here: Here) -> None:
    here("queue", "create", "names")
    shown = here("queue", "show", "names")[0]
    for words in (("set", "-h"), ("create", "--help")):
        told = here("queue", *words)[0]
        for name in SETTINGS:
            for text in (told, shown):
                assert re.search(rf"^ *{name}(  |$)", text, re.MULTILINE), f"{name} is not in\n{text}"
        for text in (told, shown):
            titles = [line.strip() for line in text.splitlines() if line.strip() in grouped_settings()]
            assert titles == list(grouped_settings()), text
        assert "Nothing after = restores the default" in " ".join(re.sub("[│╭╰─]", " ", told).split())


def test_a_ticket_is_named_by_what_is_printed_on_it(here: Here) -> None:
    made = here("queue", "create", "barber", "admission=manual", 'series=["A", "B"]', "ticket_prefix=OFF")[0]
    assert "The labels of its tickets are like ROFF-A0001." in made
    assert "ROFF-A0001 is waiting, at position 1" in here("ticket", "add", "barber", "--name", "Ada")[0]
    here("ticket", "add", "barber", "--name", "A0001", "--series", "B")  # whose name is another's label
    added = json.loads(here("ticket", "add", "barber", "--party-size", "2", "--priority", "1", "--json")[0])
    assert (added["label"], added["priority"]) == ("ROFF-A0002", 1)
    here("ticket", "call", "barber", "a0001", "--desk", "Desk 1")
    assert "ROFF-A0001 is active" in here("ticket", "start", "barber", "A0001")[0]
    assert "ROFF-A0001 is completed" in here("ticket", "complete", "barber", "roff-a0001")[0]
    assert "ROFF-B0001 is waiting" in here("ticket", "prioritise", "barber", "b0001")[0]
    assert "ROFF-B0001 is expired" in here("ticket", "revoke", "barber", "B0001")[0]
    assert json.loads(here("ticket", "show", "barber", "3", "--json")[0])["label"] == "ROFF-A0002"
    for typed in ("A0099", "ROFF-A0099", "RON-A0001", "0", "-"):
        told = here("ticket", "show", "barber", "--", typed)[1]
        assert told.startswith(f"Error: Queue 'barber' has no ticket '{typed}'"), told
        assert "fairline ticket list barber" in told


def test_a_label_without_series_is_the_number_with_its_zeros(here: Here) -> None:
    here("queue", "create", "web", "admission=manual")
    here("ticket", "add", "web")
    for typed in ("1", "000001", "RWEB-000001", "rweb-1"):
        assert json.loads(here("ticket", "show", "web", typed, "--json")[0])["ticket"] == 1


def test_a_label_that_comes_again_each_day_is_that_of_who_is_there(monkeypatch: pytest.MonkeyPatch, here: Here) -> None:
    """As the server describes them, without waiting for midnight."""
    there = [
        {"ticket": 41, "label": "ROFF-A0001", "status": "expired"},
        {"ticket": 7, "label": "ROFF-A0001", "status": "waiting"},
        {"ticket": 9, "label": "ROFF-A0010", "status": "waiting"},
    ]
    asked: list[str] = []

    def get(_: Api, path: str, **query: object) -> object:
        asked.append(path)
        return {"tickets": there, "cursor": None} if path.endswith("/tickets") else {"label": path}

    monkeypatch.setattr(Api, "get", get)
    here("ticket", "show", "office", "A0001")
    assert asked[-1] == "/queues/office/tickets/7"
    there[1]["status"] = "completed"
    here("ticket", "show", "office", "A0001")
    assert asked[-1] == "/queues/office/tickets/41"
    there[0]["status"] = there[1]["status"] = "waiting"
    assert "Name one by its number: 7 (waiting), 41 (waiting)." in here("ticket", "show", "office", "A0001")[1]


def test_desks_open_and_close(here: Here) -> None:
    here("queue", "create", "desks", "admission=manual")
    assert "There is no desk yet" in here("desk", "list", "desks")[0]
    assert re.search(r"Desk 1 +open", here("desk", "open", "desks", "Desk 1")[0])
    assert re.search(r"Desk 1 +closed", here("desk", "close", "desks", "Desk 1")[0])
    (desk,) = json.loads(here("desk", "list", "desks", "--json")[0])["desks"]
    assert (desk["name"], desk["open"]) == ("Desk 1", False)


def test_what_was_done_is_read_from_the_audit_log(here: Here) -> None:
    here("queue", "create", "noted")
    here("queue", "set", "noted", "stock=3", "name=Noted")
    told, _ = here("audit", "--queue", "noted")
    assert told.index("queue.configured") < told.index("queue.set_up")
    assert "settings name stock" in told
    (newest,) = json.loads(here("audit", "--queue", "noted", "--limit", "1", "--json")[0])["entries"]
    assert newest["detail"]["settings"] == ["name", "stock"]
    assert f"--before {newest['id']}" in here("audit", "--queue", "noted", "--limit", "1")[0]
    assert "queue.configured" not in here("audit", "--queue", "noted", "--before", newest["id"])[0]
    assert "Nothing was done" in here("audit", "--queue", "nobody-made-this")[0]


def test_a_person_is_searched_for(here: Here, server: RunningServer) -> None:
    here("queue", "create", "crowd", "admission=manual", "ticket_prefix=CROWD")
    for body in ({"name": "Ada", "phone": "+44 20 7946 0001"}, {"name": "Grace"}):
        httpx.post(f"{server.base_url}/api/v1/queues/crowd/join", json=body).raise_for_status()
    for text in ("ADA", "79460001", "1", "rcrowd-000001"):
        told, _ = here("ticket", "list", "crowd", "--search", text)
        assert "RCROWD-000001" in told
        assert "Grace" not in told
    assert "Nobody is there" in here("ticket", "list", "crowd", "--search", "Alan")[0]


def test_more_tickets_are_mentioned_only_where_there_are(here: Here, server: RunningServer) -> None:
    here("queue", "create", "three", "admission=manual")
    for _ in range(3):
        httpx.post(f"{server.base_url}/api/v1/queues/three/join", json={}).raise_for_status()
    assert "more" not in here("ticket", "list", "three", "--limit", "3")[0]
    assert "There are more; raise --limit (now 2)" in here("ticket", "list", "three", "--limit", "2")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("queue", "restore", "calm"), "nothing to undo"),
        (("queue", "restore", "calm", "4711"), "no version 4711"),
        (("queue", "history", "nowhere"), "no queue"),
        (("audit", "--before", "x"), "id of an entry"),
    ],
)
def test_what_cannot_be_undone_or_read_is_said(here: Here, words: tuple[str, ...], said: str) -> None:
    here("queue", "create", "calm")
    assert said in here(*words)[1]
    here("queue", "delete", "calm", "--yes")
