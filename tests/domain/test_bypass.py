"""Who needs no session token: by path, by name, by address."""

from __future__ import annotations

import pytest

from fairline.domain.bypass import address_passes, agent_passes, decoded, path_passes
from fairline.domain.settings_checks import checked
from fairline.errors import InvalidSettings

PATTERNS = ["/static/*", "*.css", "/healthz"]


@pytest.mark.parametrize(
    "uri", ["/static/app.js", "/static/a/b.png?v=1", "/shop/site.css", "/healthz", "/healthz?x=/.."]
)
def test_a_named_path_passes(uri: str) -> None:
    assert path_passes(decoded(uri), PATTERNS)


@pytest.mark.parametrize(
    "uri",
    [
        "/",
        "/staticx/app.js",
        "/STATIC/app.js",
        "/healthz/",
        "/checkout?file=/static/app.css",
        "/static/../checkout",
        "/static/%2e%2e/checkout",
        "/static/%252e%252e/checkout",
        "/static/..%2fcheckout",
        "/static/..;/checkout",
        "/static//../checkout",
        "/static/..\\checkout",
        "/checkout;x.css",
        "/checkout%3f.css",
        "/checkout%23.css",
        "/static/%00.css",
        "//static/app.js",
        "",
    ],
)
def test_what_a_server_might_read_in_another_way_does_not(uri: str) -> None:
    assert not path_passes(decoded(uri), PATTERNS)


def test_a_robot_passes_by_its_name() -> None:
    assert agent_passes("Mozilla/5.0 (compatible; Googlebot/2.1)", ["googlebot"])
    assert not agent_passes("Mozilla/5.0", ["googlebot"])
    assert not agent_passes("", ["googlebot"])


def test_an_address_passes_by_its_network() -> None:
    assert address_passes("10.1.2.3", ["192.0.2.1", "10.0.0.0/8"])
    assert address_passes("::1", ["::/64"])
    assert not address_passes("11.1.2.3", ["10.0.0.0/8"])
    assert not address_passes(None, ["10.0.0.0/8"])
    assert not address_passes("unknown", ["10.0.0.0/8"])


@pytest.mark.parametrize(
    ("field", "rules"),
    [
        ("bypass_paths", ["static"]),
        ("bypass_paths", ["/a b"]),
        ("bypass_paths", ["/x"] * 51),
        ("bypass_agents", [""]),
        ("bypass_agents", ["  a "]),
        ("bypass_addresses", ["10.0.0.0/33"]),
        ("bypass_addresses", ["example.com"]),
    ],
)
def test_a_rule_that_means_nothing_is_refused(field: str, rules: list[str]) -> None:
    with pytest.raises(InvalidSettings) as caught:
        checked({field: rules})
    assert caught.value.field == field
