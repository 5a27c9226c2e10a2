"""The command line against a running server, as an operator types it."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest
from rich.console import Console

from fairline import __version__ as fairline_version
from fairline.cli import show
from fairline.cli.app import main
from fairline.cli.client import Api
from fairline.domain.queue_settings import SETTINGS, grouped_settings
from fairline.process.running_server import found_in, published
from tests.backends import wait_until
from tests.cli.typed import fairline
from tests.web.running import RunningServer

Here: TypeAlias = Callable[..., tuple[str, str]]


@pytest.fixture
def run(server: RunningServer) -> object:
    def run(*words: str) -> str:
        done = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_night_of_a_sale(run: object, server: RunningServer) -> None:
    assert callable(run)
    assert "created" in run("queue", "create", "night", "admission=manual", "name=Night sale", "stock=3")
    assert "paused" in run("queue", "pause", "night")
    assert "active" in run("queue", "resume", "night")
    assert "in maintenance" in run("queue", "maintenance", "night")
    assert json.loads(run("queue", "show", "night", "--json"))["settings"]["status"] == "maintenance"
    assert "open: active" in run("queue", "open", "night")
    assert "called by staff" in run("queue", "set", "night", "admission_rate=40", "stock=")
    shown = json.loads(run("queue", "show", "night", "--json"))
    assert (shown["settings"]["admission_rate"], shown["settings"]["stock"]) == (40, None)
    assert "night" in run("queue", "list")
    assert "Nobody could be called" in run("ticket", "call-next", "night")
    run("queue", "set", "night", "heartbeat_timeout_seconds=0")
    assert f"{server.base_url}/join/night/kiosk?token=" in run("queue", "kiosk", "night", "--print")
    assert "is removed" in run("queue", "delete", "night", "--yes")


def test_an_evening_is_tried_out_with_the_settings_of_a_queue(run: object) -> None:
    assert callable(run)
    run("queue", "create", "tried", "admission_rate=3", "max_active=17", "status=paused")
    words = ("--like", "tried", "--people", "60", "--over", "10s", "--stay", "5s", "--json")
    tried = json.loads(run("simulate", *words))
    assert (tried["admission_rate"], tried["max_active"], tried["admitted"]) == (3, 17, 60)
    assert json.loads(run("simulate", *words, "--rate", "20/s"))["admission_rate"] == 20


def test_a_person_is_called_served_and_done(run: object, server: RunningServer) -> None:
    assert callable(run)
    run("queue", "create", "desk", "admission=manual", "ticket_prefix=DESK")
    for name in ("Ada", "Grace"):
        httpx.post(f"{server.base_url}/api/v1/queues/desk/join", json={"name": name}).raise_for_status()
    listed = run("ticket", "list", "desk")
    assert listed.index("Ada") < listed.index("Grace")
    assert "RDESK-000001" in run("ticket", "call-next", "desk", "--desk", "Desk 2")
    assert "is active" in run("ticket", "start", "desk", "1")
    assert "is completed" in run("ticket", "complete", "desk", "1")
    assert "is expired (cancelled)" in run("ticket", "cancel", "desk", "2")
    assert json.loads(run("ticket", "show", "desk", "1", "--json"))["desk"] == "Desk 2"


def test_a_line_in_a_walk_in_line(run: object, server: RunningServer) -> None:
    assert callable(run)
    run("queue", "create", "office", "admission=manual", 'series=["A"]', 'opening_hours={"monday": ["00:00-24:00"]}')
    run("queue", "set", "office", "opening_hours={}")
    run("queue", "create", "annex", "admission=manual")
    for _ in range(3):
        httpx.post(f"{server.base_url}/api/v1/queues/office/join", json={}).raise_for_status()
    assert "ROFFICE-A0001 is on hold." in run("ticket", "hold", "office", "1")
    assert "at position 1" in run("ticket", "release", "office", "1")
    assert "at position 3" in run("ticket", "step-back", "office", "1", "--places", "2")
    run("ticket", "call-next", "office")
    run("ticket", "no-show", "office", "2")
    assert "is admitted" in run("ticket", "reinstate", "office", "2")
    assert "RANNEX-000001 in annex now" in run("ticket", "transfer", "office", "3", "--to", "annex")


def test_keys_are_made_listed_taken_away_and_rotated(run: object, server: RunningServer) -> None:
    assert callable(run)
    made = json.loads(run("keys", "create", "--role", "viewer", "--name", "the board", "--json"))
    key = ("--key", made["key"])
    assert "the board" in run("keys", "list")
    seen = fairline("queue", "--key", made["key"], "--server", server.base_url, "list")
    assert seen.returncode == 0
    after = fairline("queue", "list", "--key", made["key"], "--server", server.base_url)
    assert (after.returncode, after.stdout) == (0, seen.stdout)
    corrected = fairline("queue", "--server", "http://127.0.0.1:9", "list", "--server", server.base_url, *key)
    assert (corrected.returncode, corrected.stdout) == (0, seen.stdout), "what is said last counts"
    ends = fairline("ticket", "call-next", "mine", "--server", "http://127.0.0.1:9", *key)
    assert "http://127.0.0.1:9" in ends.stderr
    refused = fairline("queue", "--key", made["key"], "--server", server.base_url, "create", "mine")
    assert refused.returncode == 1
    assert "admin" in refused.stderr
    run("keys", "remove", made["id"])
    gone = fairline("queue", "--key", made["key"], "--server", server.base_url, "list")
    assert gone.returncode == 1
    assert "not valid" in gone.stderr
    assert "generation 2" in run("keys", "rotate")


@pytest.fixture
def here(server: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs a command in this process, which is quicker; answers what it said, on which of the two."""
    monkeypatch.setenv("FAIRLINE_URL", server.base_url)
    monkeypatch.setenv("FAIRLINE_DATA", str(server.data))
    monkeypatch.setattr(show, "console", Console(highlight=False, width=200, no_color=True))

    def here(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["fairline", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code == 0) == (err == ""), err
        return out, err

    return here


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("queue", "set", "demo", "admission_rate=fast"), "admission_rate"),
        (("queue", "set", "demo", "admission_rate"), "name=value"),
        (("queue", "set", "demo", "speed=3"), "speed"),
        (("queue", "show", "nowhere"), "no queue"),
        (("ticket", "show", "demo", "4711"), "no ticket 4711"),
        (("keys", "remove", "nobody"), "no admin key"),
    ],
)
def test_a_mistake_is_one_clear_line(server: RunningServer, words: tuple[str, ...], said: str) -> None:
    done = fairline(*words, FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_server_or_a_key_it_says_what_to_do(tmp_path: Path) -> None:
    away = fairline("queue", "--key", "k", "--server", "http://127.0.0.1:9", "list")
    assert away.returncode == 1
    assert "fairline serve" in away.stderr
    for wrong in ("http://[foo", "[foo", "ftp://127.0.0.1"):
        refused = fairline("queue", "--key", "k", "--server", wrong, "list")
        assert f"must be an http:// or https:// address; got {wrong!r}" in refused.stderr
    keyless = fairline("queue", "list", FAIRLINE_DATA=str(tmp_path))
    assert keyless.returncode == 1
    assert "--key" in keyless.stderr


def test_the_server_is_found_in_the_order_that_the_help_says(server: RunningServer, tmp_path: Path) -> None:
    data, other = {"FAIRLINE_DATA": str(server.data)}, tmp_path / "other"
    other.mkdir()
    (other / "admin-key").write_text(server.admin_key, encoding="utf-8")
    port = {"FAIRLINE_PORT": str(server.port), "FAIRLINE_HOST": server.host}
    nowhere = "http://127.0.0.1:9"
    for words, settings in (
        ((), data),  # the port is another than the usual one
        (("--data", str(server.data)), {}),
        ((), {"FAIRLINE_DATA": str(other), **port}),
        ((), {"FAIRLINE_DATA": str(other), "FAIRLINE_URL": f"{server.host}:{server.port}"}),
        (("--server", f"localhost:{server.port}"), {**data, "FAIRLINE_URL": nowhere}),
    ):
        done = fairline("queue", "list", *words, **settings)
        assert done.returncode == 0, done.stderr
    (other / "address").write_text(server.base_url, encoding="utf-8")
    for words, settings in (
        (("--server", "127.0.0.1:9"), data),
        ((), {**data, "FAIRLINE_URL": nowhere}),
        ((), {**data, "FAIRLINE_PORT": "9"}),
    ):
        assert f"No server answers at {nowhere} " in fairline("queue", "list", *words, **settings).stderr
    told = " ".join(re.sub("[│╭╰─]", " ", fairline("queue", "list", "--help").stdout).split())
    assert "FAIRLINE_URL, or the server that runs with the data folder, or host and port of the settings" in told


def test_a_server_is_not_looked_for_where_it_was(tmp_path: Path) -> None:
    first, second = (published(tmp_path, url) for url in ("http://127.0.0.1:1", "http://127.0.0.1:2"))
    with published(tmp_path, None):  # does not listen
        assert found_in(tmp_path) is None
    with first:
        assert found_in(tmp_path) == "http://127.0.0.1:1"
        with second:  # with the same secrets, and another store
            assert found_in(tmp_path) == "http://127.0.0.1:2"
        assert found_in(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_the_first_queue_is_shown_at_a_start_only_where_there_is_one(tmp_path: Path) -> None:
    running = RunningServer(tmp_path, workers=1)
    ready, log = "Fairline is ready.", tmp_path / "server.log"

    def restart(times: int) -> None:
        wait_until(lambda: log.read_text(encoding="utf-8").count(ready) == times, f"it is not ready; see {log}")
        running.restart()

    try:
        with httpx.Client(headers={"authorization": f"Bearer {running.admin_key}"}) as admin:
            queues = f"{running.base_url}/api/v1/admin/queues"
            assert admin.post(queues, json={"id": "sale"}).status_code == 201
            restart(1)
            assert admin.delete(f"{queues}/demo").status_code == 204
            restart(2)
        wait_until(lambda: log.read_text(encoding="utf-8").count(ready) == 3, f"it is not ready; see {log}")
    finally:
        running.stop()
    *with_it, without_it = log.read_text(encoding="utf-8").split(ready)[1:]
    for told in with_it:
        assert f"{running.base_url}/q/demo" in told
        assert "queues/demo/join" in told
    assert f"{running.base_url}/admin" in without_it
    assert "demo" not in without_it


def test_a_port_in_use_is_said_at_once(server: RunningServer, tmp_path: Path) -> None:
    done = fairline("serve", "--port", str(server.port), "--data", str(tmp_path))
    assert done.returncode == 1
    assert "--port" in done.stderr


def test_a_folder_in_use_is_said_at_once(server: RunningServer) -> None:
    done = fairline("serve", "--port", "0", "--data", str(server.data))
    assert done.returncode == 1
    assert str(server.process.pid) in done.stderr


def test_the_doctor_finds_what_would_hurt(tmp_path: Path) -> None:
    well = fairline("doctor", "--data", str(tmp_path / "fresh"))
    assert well.returncode == 0, well.stdout
    assert "Ready" in well.stdout
    assert "FAIRLINE_PUBLIC_URL" in well.stdout
    told = fairline("doctor", "--data", str(tmp_path / "fresh"), FAIRLINE_PUBLIC_URL="https://wait.example")
    assert "https://wait.example" in told.stdout
    (tmp_path / "secret").write_text("open to all", encoding="utf-8")
    (tmp_path / "secret").chmod(0o644)
    ill = fairline("doctor", "--data", str(tmp_path))
    assert ill.returncode == 1
    assert f"chmod 600 {tmp_path / 'secret'}" in ill.stdout
    (tmp_path / "secret").write_text("", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    empty = fairline("doctor", "--data", str(tmp_path))
    assert empty.returncode == 1
    assert "has 0 characters" in empty.stdout
    assert "Ready" in fairline("doctor", "--data", str(tmp_path), FAIRLINE_SECRET="s" * 32).stdout  # it is not used
    away = fairline("doctor", "--store", "valkey://127.0.0.1:9", "--data", str(tmp_path / "fresh"))
    assert away.returncode == 1
    assert "The store is unavailable" in away.stdout
    odd = fairline("doctor", "--store", "valkey://[foo", "--data", str(tmp_path / "fresh"))
    assert "The store's address cannot be read" in odd.stdout
    weak = fairline("doctor", "--data", str(tmp_path / "fresh"), FAIRLINE_SECRET="short")
    assert "openssl rand" in weak.stdout


def test_secrets_are_for_the_owner_alone(server: RunningServer) -> None:
    for name in ("secret", "admin-key"):
        assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600


def test_tables_fit_into_80_columns(run: object, server: RunningServer) -> None:
    assert callable(run)
    run("queue", "create", "citizens-office", "admission=manual", "heartbeat_timeout_seconds=0")
    httpx.post(f"{server.base_url}/api/v1/queues/citizens-office/join", json={"name": "Zoë [Müller]"})
    run("ticket", "call-next", "citizens-office", "--desk", "Desk 1, second floor")
    run("ticket", "no-show", "citizens-office", "1")
    narrow = {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data), "COLUMNS": "80"}
    whole = {
        ("audit", "--queue", "citizens-office"): ("queue.status_changed", "citizens-office", "first key", "no_show"),
        ("report", "citizens-office"): (
            "joined",
            "called",
            "Entire event",
            "Desk 1, second floor",
            f"{now():%d %b }",
        ),
        ("ticket", "list", "citizens-office"): (
            "RCITIZENS-OFFICE-000001",
            "Zoë [Müller]",
            "no_show",
            f"{now():%Y-%m-%d }",
        ),
    }
    for words, parts in whole.items():
        shown = fairline(*words, **narrow).stdout
        assert max(map(len, shown.splitlines())) <= 80
        for part in parts:
            assert part in shown, f"{part} is broken in\n{shown}"
    wide = run("audit", "--queue", "citizens-office")
    assert wide.splitlines()[1].split() == ["when", "key", "role", "did", "queue", "ticket", "what"]


def now() -> datetime:
    return datetime.now(UTC)


def test_help_teaches(here: Here) -> None:
    for words in (
        (),
        ("queue",),
        ("ticket",),
        ("ticket", "add"),
        ("desk",),
        ("keys",),
        ("serve",),
        ("doctor",),
        ("db",),
        ("audit",),
    ):
        told = here(*words, "--help")[0]
        assert "Usage:" in told
        assert here(*words, "-h")[0] == told
    assert {here(option)[0] for option in ("--version", "-V", "-v")} == {f"fairline {fairline_version}\n"}
    assert "fairline queue set sale admission_rate=40" in " ".join(fairline("queue", "--help").stdout.split())


def test_a_shell_completes_commands() -> None:
    words = {"COMP_WORDS": "fairline queue ma", "COMP_CWORD": "2", "_FAIRLINE_COMPLETE": "complete_bash"}
    program = str(Path(sys.executable).with_name("fairline"))
    done = subprocess.run([program], env=os.environ | words, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.split() == ["maintenance"]


def test_a_report_is_printed_or_written(run: object, server: RunningServer, tmp_path: Path) -> None:
    assert callable(run)
    made = run("queue", "create", "reported", "admission=manual", "name=Night sale")
    assert "people are called by staff, 0 waiting, 0 called or served." in " ".join(made.split())
    httpx.post(f"{server.base_url}/api/v1/queues/reported/join").raise_for_status()
    shown = run("report", "reported")
    assert "Night sale" in shown
    assert "Entire event" in shown
    assert "called" in shown
    assert json.loads(run("report", "reported", "--json"))["totals"]["joined"] == 1
    run("ticket", "call-next", "reported", "--desk", "Desk 1")
    assert "Desk 1" in run("report", "reported", "--day", "today")
    assert ",Desk 1,1,0,0," in run("report", "reported", "--day", "today", "--csv", "--by", "desk")
    rows = run("report", "reported", "--csv").splitlines()
    assert rows[0].startswith("queue,name,hour,local_hour,joined,")
    assert rows[1].startswith("reported,Night sale,")
    file = tmp_path / "report.html"
    assert str(file) in run("report", "reported", "--html", str(file)).replace("\n", "")
    assert "<h1>Night sale</h1>" in file.read_text(encoding="utf-8")
    where = {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data)}
    for words, why in (
        (("--csv", "--json"), "one of"),
        (("--from", "soon"), "2027-01-15"),
        (("--html", "/"), "written"),
    ):
        refused = fairline("report", "reported", *words, **where)
        assert refused.returncode == 1
        assert why in refused.stderr
