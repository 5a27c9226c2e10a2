"""Sites whose Fairline server goes away and comes back, and turns its keys.

To end and start a server takes seconds, so everything that an outage is to show is shown in one: each scene is told up
to the outage, goes on in it, and ends after it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias

import httpx

from tests.gate.sites import Fairline, Site, awaited, running

#: Told in three parts: before, during and after.
Scene: TypeAlias = Generator[None, None, None]


def people_inside_are_served(site: Site) -> Scene:
    late, _ = site.fairline.admitted(site.queue)
    with site.arrive(site.fairline.admitted(site.queue)[0]) as visitor, site.visitor() as other:
        yield
        for _ in range(5):
            assert visitor.get("/seats").status_code == 200
        # A new visitor is kept out: nobody can say whether the session token is in use.
        answer = other.get("/seats", params={"fairline_session": late})
        assert (answer.status_code, answer.headers["content-type"][:9]) == (503, "text/html")
        assert other.get("/seats").status_code == 503
        answer = other.get("/seats", headers={"accept": "application/json"})
        assert (answer.status_code, answer.json()["reason"]) == (503, "server_away")
        assert int(answer.headers["retry-after"]) >= 1
        yield
        assert visitor.get("/seats").status_code == 200
        awaited(lambda: other.get("/seats").status_code == 302)
        other.get("/seats", params={"fairline_session": late})
        assert other.get("/seats").status_code == 200


def a_site_that_is_open_on_errors_lets_everyone_in(site: Site) -> Scene:
    token, number = site.fairline.admitted(site.queue)
    with site.visitor() as early, site.visitor() as late:
        assert early.get("/seats").status_code == 302
        yield
        assert "Ticket None is inside." in early.get("/seats").text
        # The keys were never fetched: the session token is kept for later, and leaves the address all the same.
        answer = late.get("/seats", params={"fairline_session": token})
        assert (answer.status_code, answer.headers["location"]) == (302, "/seats")
        assert late.get("/seats").status_code == 200
        yield
        awaited(lambda: early.get("/seats").status_code == 302)
        awaited(lambda: f"Ticket {number} is inside." in late.get("/seats").text)
        assert site.fairline.ticket(site.queue, number)["status"] == "active"


def a_purchase_is_reported_once_the_server_is_back(site: Site) -> Scene:
    token, number = site.fairline.admitted(site.queue)
    with site.arrive(token) as buyer:
        yield
        assert buyer.post("/buy").status_code == 200
        assert buyer.get("/seats").status_code == 503
        yield
        awaited(lambda: site.fairline.ticket(site.queue, number)["status"] == "completed")
        assert site.is_refused(buyer)


def an_invented_cookie_opens_nothing(site: Site) -> Scene:
    used, bought = (site.fairline.admitted(site.queue)[0] for _ in range(2))
    with site.arrive(used) as holder, site.arrive(bought) as buyer, site.visitor(user_agent="thief") as thief:
        assert buyer.post("/buy").status_code == 200
        yield
        for token in (used, bought):
            thief.cookies.clear()
            thief.cookies.update({"fairline_session": token, "fairline_client": "invented.by.me"})
            assert thief.get("/seats").status_code == 503
        assert holder.get("/seats").status_code == 200
        yield
        assert site.is_refused(thief)


def another_process_of_the_site_serves_them_too(site: Site, second: Site) -> Scene:
    token, number = site.fairline.admitted(site.queue)
    with site.arrive(token) as visitor, second.arrive(site.fairline.admitted(site.queue)[0]):

        def elsewhere() -> httpx.Response:
            with second.visitor() as same:
                same.cookies = visitor.cookies
                return same.get("/seats")

        yield
        assert f"Ticket {number} is inside." in elsewhere().text
        yield
        site.fairline.revoke(site.queue, number)
        awaited(lambda: elsewhere().status_code == 302)


def test_an_outage_of_the_server(fairline: Fairline, sites: dict[str, Site], tmp_path: Path) -> None:
    opened = [
        Site(tmp_path / kind, kind, fairline, fairline.queue(), on_error="open") for kind in ("starlette", "flask")
    ]
    second = Site(tmp_path / "second", "flask", fairline, sites["flask"].queue)
    with ExitStack() as stack:
        stack.enter_context(running(*opened, second))
        scenes = [
            *map(people_inside_are_served, sites.values()),
            *map(a_site_that_is_open_on_errors_lets_everyone_in, opened),
            *map(a_purchase_is_reported_once_the_server_is_back, sites.values()),
            *map(an_invented_cookie_opens_nothing, sites.values()),
            another_process_of_the_site_serves_them_too(sites["flask"], second),
        ]
        for scene in scenes:
            stack.callback(scene.close)
            next(scene)
        fairline.server.stop()
        try:
            for scene in scenes:
                next(scene)
        finally:
            fairline.server.start()
        for scene in scenes:
            assert next(scene, "ended") == "ended"


def test_keys_that_turn_turn_nobody_away(fairline: Fairline, sites: dict[str, Site]) -> None:
    everywhere = sites.values()
    before = {site: fairline.admitted(site.queue)[0] for site in everywhere}
    with ExitStack() as stack:
        inside = [stack.enter_context(site.arrive(fairline.admitted(site.queue)[0])) for site in everywhere]
        answer = fairline.admin.post("/keys/rotate")
        assert answer.status_code == 200, answer.text
        for site, token in before.items():
            with site.arrive(token) as visitor:
                assert visitor.get("/seats").status_code == 200
            awaited(partial(_another_key_signs, site, token))
            with site.arrive(fairline.admitted(site.queue)[0]) as visitor:
                assert visitor.get("/seats").status_code == 200
        for visitor in inside:
            assert visitor.get("/seats").status_code == 200


def _another_key_signs(site: Site, token: str) -> bool:
    return _key_of(site.fairline.admitted(site.queue)[0]) != _key_of(token)


def _key_of(token: str) -> str:
    return token.partition(".")[0]
