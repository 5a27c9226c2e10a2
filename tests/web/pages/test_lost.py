"""Wrong addresses: a browser gets a page with ways on, or the right page if only a slash is wrong; a program JSON."""

from __future__ import annotations

import httpx

from tests.web.running import RunningServer

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_browser_at_a_wrong_address_gets_a_page_with_ways_on(server: RunningServer) -> None:
    for path in ("/nothing", "/admin/nothing", "/api/v1/nothing", "/q/demo/nothing", "//evil.example/"):
        found = httpx.get(server.base_url + path, headers=BROWSER | {"accept-language": "de"})
        assert found.status_code == 404, path
        assert found.headers["content-type"].startswith("text/html")
        assert "Seite nicht gefunden" in found.text
        assert 'href="/admin"' in found.text
        assert "evil.example" not in found.text
        told = httpx.get(server.base_url + path)
        assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json"), path
        assert told.json()["code"] == "not_found"
    posted = httpx.post(f"{server.base_url}/nothing", headers=BROWSER)
    assert (posted.status_code, posted.json()["code"]) == (404, "not_found")


def test_a_missing_or_extra_slash_leads_to_the_page_and_never_to_another_site(server: RunningServer) -> None:
    rows = {
        "/admin/": "/admin",
        "//admin": "/admin",
        "/admin//audit/": "/admin/audit",
        "/q/demo/?lang=de": "/q/demo?lang=de",
        "/docs/": "/docs",
    }
    for wrong, right in rows.items():
        found = httpx.get(server.base_url + wrong, headers=BROWSER | {"host": "evil.example"})
        assert (found.status_code, found.headers["location"]) == (307, right), wrong
        assert httpx.get(server.base_url + wrong).status_code == 404
    assert httpx.get(f"{server.base_url}//evil.example/q/demo", headers=BROWSER).status_code == 404


def test_signing_in_leads_to_where_one_wanted_to_go(server: RunningServer) -> None:
    with httpx.Client(base_url=server.base_url, headers=BROWSER) as browser:
        wanted = "/api/v1/admin/queues/demo/report?format=html&day=today"
        sent = browser.get(wanted)
        assert sent.status_code == 303
        form = browser.get(sent.headers["location"])
        assert f'value="{wanted.replace("&", "&amp;")}"' in form.text
        signed = browser.post("/admin/sign-in", data={"key": server.admin_key, "next": wanted})
        assert (signed.status_code, signed.headers["location"]) == (303, wanted)
        assert browser.get(sent.headers["location"]).headers["location"] == wanted  # signed in already
        for elsewhere in ("https://evil.example", "//evil.example", "/q/demo", "/api/v1/admin/keys", "/admin//x"):
            assert browser.get("/admin/sign-in", params={"next": elsewhere}).headers["location"] == "/admin"
    assert httpx.get(f"{server.base_url}/api/v1/admin/queues").json()["code"] == "key_missing"
