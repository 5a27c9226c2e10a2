"""The server's settings: where they come from, which wins, and what is said of bad ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fairline.domain.drand import QUICKNET
from fairline.errors import InvalidSettings
from fairline.process.beacon import beacon_of
from fairline.settings import ServerRole, load, unknown_variables


def test_flags_win_over_variables_over_the_file_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "fairline.toml"
    file.write_text('host = "10.0.0.1"\nport = 1111\nworkers = 3\n', encoding="utf-8")
    settings = load(file=file, environ={"FAIRLINE_PORT": "2222", "FAIRLINE_WORKERS": "4"}, flags={"workers": 5})
    assert (settings.host, settings.port, settings.workers, settings.role) == ("10.0.0.1", 2222, 5, ServerRole.ALL)


@pytest.mark.parametrize("name", ["fairline.yaml", "fairline.yml"])
def test_a_file_may_be_yaml(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("trusted_proxies: [10.0.0.0/8]\nsweep_seconds: 2s\n", encoding="utf-8")
    settings = load(file=file, environ={})
    assert settings.trusted_proxies == ["10.0.0.0/8"]
    assert settings.sweep_seconds == 2


@pytest.mark.parametrize(("text", "seconds"), [("100ms", 0.1), ("2s", 2), ("0.5m", 30), ("1", 1), ("0.25", 0.25)])
def test_durations_have_units(text: str, seconds: float) -> None:
    assert load(environ={"FAIRLINE_TICK_SECONDS": text}).tick_seconds == seconds


def test_lists_in_variables_are_separated_by_commas() -> None:
    settings = load(environ={"FAIRLINE_CORS_ORIGINS": "https://a.example, https://b.example"})
    assert settings.cors_origins == ["https://a.example", "https://b.example"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://wait.example", "https://wait.example"),
        ("https://wait.example/", "https://wait.example"),
        ("https://example.com/wait//", "https://example.com/wait"),
        ("HTTPS://Wait.Example:443/Line", "https://wait.example/Line"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://127.0.0.1:443", "http://127.0.0.1:443"),
        ("https://bücher.example/", "https://bücher.example"),
    ],
)
def test_a_path_can_be_put_behind_the_public_address(text: str, kept: str) -> None:
    assert load(environ={"FAIRLINE_PUBLIC_URL": text}).public_url == kept


@pytest.mark.parametrize(
    "text",
    [
        *("wait.example", "//wait.example", "/wait", "ftp://wait.example", "https://", "https://[wait", "http://a:0"),
        *("https://a:b@wait.example", "https://wait.example/?a=b", "https://wait.example/#a", "https://wait .example"),
    ],
)
def test_a_public_address_that_nobody_reaches_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^public_url: must be .* such as https://wait\.example; got ") as caught:
        load(environ={"FAIRLINE_PUBLIC_URL": text})
    assert text in caught.value.message


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("*", "*"),
        ("https://shop.example/", "https://shop.example"),
        ("HTTPS://Shop.Example:443", "https://shop.example"),
        ("http://shop.example:80", "http://shop.example"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:80", "http://[::1]"),
        ("capacitor://localhost", "capacitor://localhost"),
    ],
)
def test_origins_are_kept_as_browsers_send_them(text: str, kept: str) -> None:
    assert load(environ={"FAIRLINE_CORS_ORIGINS": text}).cors_origins == [kept]


@pytest.mark.parametrize(
    "text",
    [
        *("shop.example", "https://shop.example/sale", "https://shop.example?a", "https://shop.example#a", "null"),
        *("https://*.shop.example", "https://", "https://[shop", "https://a@shop.example", "https://bücher.example"),
    ],
)
def test_an_origin_that_no_page_has_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^cors_origins: must be origins .*without a path") as caught:
        load(environ={"FAIRLINE_CORS_ORIGINS": f"https://a.example, {text}"})
    assert text in caught.value.message


def said(**given: Any) -> str:
    """What is said of settings that are refused."""
    with pytest.raises(InvalidSettings) as caught:
        load(**{"environ": {}} | given)
    return caught.value.message


def test_a_bad_setting_is_named_with_its_source_and_what_it_may_be() -> None:
    for name, value, problem in (
        ("PORT", "99999", "port: must be a whole number from 0 to 65,535; got '99999' from FAIRLINE_PORT"),
        ("PORT", "many", "port: must be a whole number from 0 to 65,535; got 'many' from FAIRLINE_PORT"),
        ("WORKERS", "0", "workers: must be a whole number from 1 to 256; got '0' from FAIRLINE_WORKERS"),
        ("ROLE", "queen", "role: must be one of all, web, keeper; got 'queen' from FAIRLINE_ROLE"),
        ("TICK_SECONDS", "10ms", "tick_seconds: must be from 0.1 to 60 seconds, or text such as 10s or 5m; got '10ms'"),
        ("TRUSTED_PROXIES", "10.0.0.0/8, nonsense", "trusted_proxies: must be addresses or networks"),
    ):
        assert said(environ={f"FAIRLINE_{name}": value}).startswith(problem)


def test_a_bad_setting_in_a_file_is_named_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fairline.toml"
    for text, problem in (
        ("host = 5", f"host: must be text; got 5 from {file}"),
        ("cors_origins = [1]", f"cors_origins: must be a list of texts, or one text with commas; got [1] from {file}"),
        ("prot = 80", f"prot: is not a server setting, in {file}. Did you mean port?"),
        ("proxies = []", f"proxies: is not a server setting, in {file}. Did you mean trusted_proxies?"),
        ("speed = 3", f"speed: is not a server setting, in {file}. Settings are: host, port, store, "),
    ):
        file.write_text(text, encoding="utf-8")
        assert said(file=file).startswith(problem)


def test_a_server_does_not_start_with_a_secret_that_can_be_guessed(tmp_path: Path) -> None:
    file, weak, good = tmp_path / "fairline.toml", "fifteen-letters", "sixteen--letters"
    for name in ("secret", "admin_key"):
        file.write_text(f'{name} = "{weak}"', encoding="utf-8")
        variable = f"FAIRLINE_{name.upper()}"
        for given, source in (({"file": file}, file), ({"environ": {variable: f" {weak}  "}}, variable)):
            told = said(**given, serving=True)
            assert told.startswith(f"{name}: has 15 characters in {source}; it needs at least 16")
            assert told.endswith("openssl rand -hex 32")
            assert weak not in told
        assert getattr(load(environ={variable: good}, serving=True), name) == good
        assert getattr(load(environ={variable: weak}), name) == weak  # a command is no server


def test_no_secret_is_shown_in_an_error() -> None:
    for name in ("SECRET", "ADMIN_KEY"):
        assert "abcdef" not in said(environ={f"FAIRLINE_{name}": "abcdef" * 200})


def test_a_variable_that_nothing_reads_is_reported_with_the_likely_name() -> None:
    for name, hint in (
        ("FAIRLINE_PUBLIC_ULR", " Did you mean FAIRLINE_PUBLIC_URL?"),
        ("FAIRLINE_PROXIES", " Did you mean FAIRLINE_TRUSTED_PROXIES?"),
        ("FAIRLINE_LONG", ""),
    ):
        assert unknown_variables({name: "x", "HOME": "/"}) == [f"{name} is not a setting and is ignored.{hint}"]
    assert unknown_variables({"FAIRLINE_URL": "x", "FAIRLINE_PORT": "1", "OTHER_PORT": "1"}) == []


@pytest.mark.parametrize("text", ["port = ", "[1, 2", "- just\n- a list"])
def test_a_broken_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / ("broken.yaml" if text.startswith("-") else "broken.toml")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSettings, match="broken"):
        load(file=file, environ={})


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="missing"):
        load(file=tmp_path / "missing.toml", environ={})


OWN_NETWORK = {
    "FAIRLINE_BEACON_CHAIN": "ab" * 32,
    "FAIRLINE_BEACON_PUBLIC_KEY": QUICKNET.public_key,
    "FAIRLINE_BEACON_GENESIS": "1700000000",
    "FAIRLINE_BEACON_URLS": "https://drand.example/, http://10.0.0.1:8080",
}


def test_draws_have_no_beacon_unless_it_is_asked_for() -> None:
    assert beacon_of(load(environ={}, serving=True)) is None
    assert beacon_of(load(environ=OWN_NETWORK, serving=True)) is None
    found = beacon_of(load(environ={"FAIRLINE_BEACON": "drand"}, serving=True))
    assert found is not None
    assert found.chain == QUICKNET.id
    assert found.appears_at(2) == 1000 * (QUICKNET.genesis + 3)


def test_a_drand_network_of_your_own_is_described_in_full() -> None:
    environ = {**OWN_NETWORK, "FAIRLINE_BEACON": "drand", "FAIRLINE_BEACON_PERIOD_SECONDS": "30s"}
    settings = load(environ=environ, serving=True)
    assert settings.beacon_urls == ["https://drand.example", "http://10.0.0.1:8080"]
    found = beacon_of(settings)
    assert found is not None
    assert (found.chain, found.appears_at(2)) == ("ab" * 32, 1000 * (1_700_000_000 + 30))
    for name, value, problem in (
        ("URLS", "", "beacon_urls: is required with beacon_chain"),
        ("CHAIN", "", "beacon_chain: is required with beacon_public_key"),
        ("PUBLIC_KEY", "", "beacon_public_key: is required with beacon_chain"),
        ("GENESIS", "", "beacon_genesis: is required with beacon_chain"),
        ("CHAIN", "AB" * 32, "beacon_chain: must be 32 bytes in lower-case hex"),
        ("PUBLIC_KEY", "ab" * 95, "beacon_public_key: must be 96 bytes in lower-case hex"),
        ("PUBLIC_KEY", "ab" * 96, "beacon_public_key: is not a public key of bls-unchained-g1-rfc9380"),
        ("URLS", "drand.example", "beacon_urls: must be addresses of drand, such as https://api.drand.sh"),
        ("URLS", ",".join(["https://a.example"] * 11), "beacon_urls: must be at most 10; got 11"),
        ("PERIOD_SECONDS", "2m", "beacon_period_seconds: must be a whole number from 1 to 60"),
    ):
        assert said(environ={**environ, f"FAIRLINE_BEACON_{name}": value}, serving=True).startswith(problem), name


def test_a_beacon_whose_signatures_cannot_be_checked_stops_the_start_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "py_ecc", None)
    environ = {"FAIRLINE_BEACON": "drand"}
    assert "pip install 'fairline[beacon]'" in said(environ=environ, serving=True)
    load(environ={}, serving=True)
    load(environ=environ)  # commands that need no beacon run all the same
