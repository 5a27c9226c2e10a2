"""The command line against a running server, as an operator types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx

from fairline import __version__ as fairline_version
from tests.cli.typed import Here, Run, fairline
from tests.web.running import RunningServer


def test_the_night_of_a_sale(run: Run, server: RunningServer) -> None:
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


def test_an_evening_is_tried_out_with_the_settings_of_a_queue(run: Run) -> None:
    run("queue", "create", "tried", "admission_rate=3", "max_active=17", "status=paused")
    words = ("--like", "tried", "--people", "60", "--over", "10s", "--stay", "5s", "--json")
    tried = json.loads(run("simulate", *words))
    assert (tried["admission_rate"], tried["max_active"], tried["admitted"]) == (3, 17, 60)
    assert json.loads(run("simulate", *words, "--rate", "20/s"))["admission_rate"] == 20


def test_a_person_is_called_served_and_done(run: Run, server: RunningServer) -> None:
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


def test_a_line_in_a_walk_in_line(run: Run, server: RunningServer) -> None:
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
    run("ticket", "cancel", "office", "3")
    assert "at position 1" in run("ticket", "put-back", "office", "3")
    assert "RANNEX-000001 in annex now" in run("ticket", "transfer", "office", "3", "--to", "annex")


def test_keys_are_made_listed_taken_away_and_rotated(run: Run, server: RunningServer) -> None:
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


def test_tables_fit_into_80_columns(run: Run, server: RunningServer) -> None:
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


def test_a_report_is_printed_or_written(run: Run, server: RunningServer, tmp_path: Path) -> None:
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
