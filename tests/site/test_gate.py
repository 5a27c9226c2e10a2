"""The shop behind nginx, Caddy and HAProxy, each set up as the how-tos say."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import httpx
import pytest

from tests.site.conftest import Venue
from tests.site.visitor import Site, Visitor, waiting_page


async def soon() -> None:
    """The pause between two signs of life."""
    await asyncio.sleep(0.05)


def is_in(answer: dict[str, Any]) -> bool:
    return bool(answer["status"] == "admitted")


async def let_in(visitor: Visitor) -> str:
    """The way in of someone who has waited."""
    await visitor.joins()
    return str((await visitor.waits(is_in, soon))["redirect_url"])


async def gets(visitor: Visitor, path: str) -> None:
    """Someone gets a page at once: new settings hold for every worker as soon as they are answered."""
    answer = await visitor.asks(path)
    assert answer.status_code == 200, answer.headers


async def test_who_has_no_session_token_waits_and_then_is_where_they_wanted_to_be(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site) as someone:
        page, said = waiting_page(await someone.asks("/lamp?colour=red&size=2"))
        assert page == f"{site.fairline_url}/q/shop"
        assert said == {"return": ["/lamp?colour=red&size=2"]}
        shown = await let_in(someone)
        answer = await someone.goes_in(shown.replace("/?", "/lamp?colour=red&"))
        assert answer.status_code == 200
        assert "ticket 1." in answer.text
        assert (await someone.asks("/lamp")).status_code == 200
    assert venue.stats()["active"] == 1


async def test_the_session_token_leaves_the_address(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site) as someone:
        way_in = await let_in(someone)
        arrived = await someone.asks(way_in.replace("/?", "/lamp?colour=red&") + "&size=2")
        assert arrived.headers["location"] == "/lamp?colour=red&size=2"
        assert "HttpOnly" in arrived.headers["set-cookie"]
        assert "SameSite=Lax" in arrived.headers["set-cookie"]


async def test_a_link_that_was_passed_on_lets_nobody_else_in(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    for name in ("friend", "holder"):  # also where they share the kind of browser and the address
        async with Visitor(site, "holder") as holder, Visitor(site, name) as friend:
            way_in = await let_in(holder)
            assert (await holder.goes_in(way_in)).status_code == 200
            page, said = waiting_page(await friend.asks(way_in))
            assert (page, said["taken"]) == (f"{site.fairline_url}/q/shop", ["1"])
            shown = await friend.asks(f"{page}?taken=1")
            assert (shown.status_code, shown.headers["x-fairline-state"]) == (409, "link_used")
            assert "This link has been used" in shown.text
            assert (await holder.asks("/")).status_code == 200
            assert (await holder.goes_in(way_in)).status_code == 200, "a reload, or back"


async def test_of_many_who_come_at_once_by_one_link_one_is_let_in(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site) as holder:
        way_in = await let_in(holder)
        friends = [Visitor(site) for _ in range(8)]
        await asyncio.gather(*(friend.asks(way_in) for friend in friends))
        after = await asyncio.gather(*(friend.asks("/lamp") for friend in friends))
        assert sorted(answer.status_code for answer in after) == [200] + [302] * 7
        for friend in friends:
            await friend.browser.aclose()
            await friend._line.aclose()
    assert venue.stats()["active"] == 1


async def test_the_parts_of_the_first_page_are_let_in_together(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site) as someone:
        await someone.asks(await let_in(someone))
        answers = await asyncio.gather(*(someone.asks("/lamp") for _ in range(8)))
        assert [answer.status_code for answer in answers] == [200] * 8


async def test_a_bad_session_token_is_as_good_as_none(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    venue.admin.post("/queues", json={"id": "other", "admission_rate": 1000})
    async with Visitor(site) as someone:
        good = httpx.QueryParams((await let_in(someone)).partition("?")[2])["fairline_session"]
        head, body, signature = good.split(".")
        claims = json.loads(base64.urlsafe_b64decode(body + "=="))
        bad = {
            "forged": f"{head}.{_part(claims | {'n': 2})}.{signature}",
            "none": f"{_part({'alg': 'none'})}.{body}.",
            "no signature": f"{head}.{body}.",
            "nonsense": "nonsense",
            "another queue's": await _pass_of(site, "other"),
        }
        for name, token in bad.items():
            async with Visitor(site) as stranger:
                waiting_page(await stranger.asks(f"/?fairline_session={token}"))
                waiting_page(await stranger.asks("/", headers={"cookie": f"fairline_session={token}"}))
                answer = await stranger.asks("/", headers={"authorization": f"Bearer {token}"})
                assert answer.status_code == 302, name


async def test_a_session_token_that_was_revoked_or_has_ended_is_refused_at_once(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site, "revoked") as revoked, Visitor(site, "done") as done:
        await revoked.goes_in(await let_in(revoked))
        await done.goes_in(await let_in(done))
        assert (await done.browser.post("/buy")).text.count("It is yours") == 1
        waiting_page(await done.asks("/"))
        venue.admin.post("/queues/shop/revoke", json={"ticket": 1, "reason": "abuse"}).raise_for_status()
        waiting_page(await revoked.asks("/"))


async def test_a_session_token_that_is_over_is_refused(venue: Venue, site: Site) -> None:
    venue.queue(site.url, session_seconds=1, session_max_seconds=1)
    async with Visitor(site) as someone, Visitor(site, "friend") as friend:
        way_in = await let_in(someone)
        await someone.goes_in(way_in)
        async with asyncio.timeout(30):
            while (await someone.asks("/")).status_code == 200:
                await soon()
        waiting_page(await someone.asks("/"))
        for each in (someone, friend):
            waiting_page(await each.asks(way_in))


async def test_programs_are_answered_with_the_queue(venue: Venue, site: Site) -> None:
    venue.queue(site.url, admission="manual", name="The shop")
    async with Visitor(site, accept="application/json") as program:
        answer = await program.asks("/lamp")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        told = answer.json()
        assert (told["name"], told["status"], told["queue_length"], told["sold_out"]) == (
            "The shop",
            "active",
            0,
            False,
        )
        assert (await program.browser.post(told["join_url"])).status_code == 201


async def test_a_post_that_is_refused_does_not_come_back(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site) as someone:
        _, said = waiting_page(await someone.browser.post("/buy"))
        assert said == {}
    assert site.report()["buyers"] == site.report()["sold"]


async def test_what_needs_no_session_token_passes(venue: Venue, site: Site) -> None:
    venue.queue(site.url, bypass_paths=["/static/*"], bypass_agents=["Googlebot"])
    async with Visitor(site) as someone, Visitor(site, "Googlebot") as robot:
        await gets(someone, "/static/shop.css")
        await gets(robot, "/")
        for path in ("/", "/static/%2e%2e/lamp", "/lamp?/static/x"):
            waiting_page(await someone.asks(path))


async def test_only_what_the_proxy_says_was_asked_for_counts(venue: Venue, site: Site) -> None:
    venue.queue(site.url, bypass_paths=["/static/*"])
    async with Visitor(site) as someone:
        await gets(someone, "/static/shop.css")
        for name in ("x-original-uri", "x-forwarded-uri"):
            waiting_page(await someone.asks("/lamp", headers={name: "/static/shop.css"}))


async def test_a_site_may_have_an_authorization_of_its_own(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site) as someone:
        await someone.goes_in(await let_in(someone))
        answer = await someone.asks("/lamp", headers={"authorization": "Bearer the-sites-own"})
        assert answer.status_code == 200


async def test_nothing_is_made_up_on_the_way(venue: Venue, site: Site) -> None:
    venue.queue(site.url, bypass_paths=["/lamp"])
    async with Visitor(site) as someone, Visitor(site, "passer-by") as passer_by:
        await someone.goes_in(await let_in(someone))
        cookies = [(await someone.asks("/")).headers.get_list("set-cookie") for _ in range(3)]
        assert cookies[1:] == [[], []]
        await gets(passer_by, "/lamp")
        answer = await passer_by.asks("/lamp", headers={"x-fairline-ticket": "1"})
        assert "with ticket ." in answer.text
        assert "set-cookie" not in answer.headers


async def test_a_link_with_a_used_session_token_throws_nobody_out(venue: Venue, site: Site) -> None:
    venue.queue(site.url)
    async with Visitor(site, "inside") as inside, Visitor(site, "other") as other:
        await inside.goes_in(await let_in(inside))
        others = await let_in(other)
        await other.goes_in(others)
        arrived = await inside.asks(others)
        assert arrived.status_code == 302
        assert (await inside.asks(arrived.headers["location"])).text.count("with ticket 1.") == 1


async def test_parts_of_one_page_are_one_person(venue: Venue, site: Site) -> None:
    venue.queue(site.url, passthrough=True)
    async with Visitor(site) as someone:
        await gets(someone, "/lamp")
        await someone.browser.post("/buy")
        old = {"cookie": f"fairline_session={someone.browser.cookies['fairline_session']}"}
        answers = await asyncio.gather(*(someone.asks("/lamp", headers=old) for _ in range(6)))
        assert {answer.status_code for answer in answers} <= {200, 302}
        assert venue.stats()["joined_total"] == 2


async def test_without_a_rush_nobody_sees_a_waiting_page(venue: Venue, site: Site) -> None:
    venue.queue(site.url, passthrough=True, max_active=2)
    async with Visitor(site, "one") as one, Visitor(site, "two") as two, Visitor(site, "three") as three:
        for someone in (one, two):
            await gets(someone, "/lamp")
            assert "fairline_session" in someone.browser.cookies
        waiting_page(await three.asks("/lamp"))
        assert (await one.asks("/")).status_code == 200
        assert venue.stats()["active"] == 2
        await one.browser.post("/leave")
        await gets(three, "/lamp")


@pytest.mark.parametrize("evil", ["//evil.example/x", "/\\evil.example", "https://evil.example/x"])
async def test_nobody_is_sent_to_another_site(venue: Venue, site: Site, evil: str) -> None:
    venue.queue(site.url)
    async with Visitor(site) as someone:
        token = (await someone.joins())["token"]
        await someone.waits(is_in, soon)
        cookie = {"cookie": f"fairline_ticket_shop={token}"}
        page = await someone.asks(f"{site.fairline_url}/q/shop", params={"return": evil}, headers=cookie)
        assert page.status_code == 200
        assert f'href="{site.url}/' in page.text
        assert 'href="https://evil' not in page.text
        assert 'href="//evil' not in page.text


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


async def _pass_of(site: Site, queue: str) -> str:
    async with httpx.AsyncClient(base_url=site.fairline_url) as client:
        token = (await client.post(f"/api/v1/queues/{queue}/join")).json()["token"]
        while True:
            headers = {"authorization": f"Bearer {token}"}
            answer = (await client.get("/api/v1/status", headers=headers)).json()
            if is_in(answer):
                return str(answer["session_token"])
            await soon()
