"""The server's settings: where they come from, which wins, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairline.errors import InvalidSettings
from fairline.settings import ServerRole, load


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


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PORT", "99999", "port"),
        ("PORT", "many", "port"),
        ("WORKERS", "0", "workers"),
        ("ROLE", "queen", "role"),
        ("TICK_SECONDS", "10ms", "tick_seconds"),
        ("TRUSTED_PROXIES", "10.0.0.0/8, nonsense", "trusted_proxies"),
    ],
)
def test_a_bad_setting_is_named_with_its_source(variable: str, value: str, said: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load(environ={f"FAIRLINE_{variable}": value})
    assert caught.value.field == said
    assert said == "trusted_proxies" or f"FAIRLINE_{variable}" in caught.value.message


def test_an_unknown_name_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fairline.toml"
    file.write_text("prot = 80\n", encoding="utf-8")
    with pytest.raises(InvalidSettings, match="prot"):
        load(file=file, environ={})


@pytest.mark.parametrize("text", ["port = ", "[1, 2", "- just\n- a list"])
def test_a_broken_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / ("broken.yaml" if text.startswith("-") else "broken.toml")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSettings, match="broken"):
        load(file=file, environ={})


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="missing"):
        load(file=tmp_path / "missing.toml", environ={})
