"""Every site of the how-to behind its gate, with a Fairline server that is well."""

from __future__ import annotations

import http.client
import json
import time
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from fairline.token import Keyring, SessionClaims
from tests.backends import HOST
from tests.gate.sites import BROWSER, Site, awaited

OTHER_ADDRESS = "127.0.0.2"


def minted(keyring: Keyring, queue: str, **changes: Any) -> str:
    """A pass with the keys of the server, which says what the test wants."""
    now = int(time.time())
    usual: dict[str, Any] = {
        "queue": queue,
        "subject": "X-1",
        "number": 1,
        "joined": 1,
        "issued": now,
        "expires": now + 600,
    }
    return keyring.sessions.sign(SessionClaims(**usual | changes))


def unsigned(claims: dict[str, Any]) -> str:
    """A pass in which the algorithm is none."""
    parts = ({"alg": "none", "typ": "fairline-session"}, claims)
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def raw(site: Site, target: str) -> http.client.HTTPResponse:
    """A request whose address is sent as it is written here."""
    connection = http.client.HTTPConnection(HOST, site.port, timeout=10)
    connection.putrequest("GET", target, skip_host=False)
    for name, value in BROWSER.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


class TestWithoutAPass:
    def test_people_go_to_the_waiting_page_and_come_back_to_what_they_asked_for(self, site: Site) -> None:
        with site.visitor() as visitor:
            answer = visitor.get("/seats?day=2&row=a%26b")
        assert answer.status_code == 302
        assert answer.headers["location"] == site.fairline.waiting_page(site.queue, "/seats?day=2&row=a%26b")
        assert answer.headers["cache-control"] == "no-store"

    @pytest.mark.parametrize(
        ("method", "headers"),
        [
            ("GET", {"accept": "application/json"}),
            ("GET", {"accept": "*/*", "sec-fetch-mode": "cors"}),
            ("POST", {"accept": "text/html"}),
        ],
        ids=["json", "fetch", "post"],
    )
    def test_programs_are_told_the_state_of_the_queue(self, site: Site, method: str, headers: dict[str, str]) -> None:
        with site.visitor() as visitor:
            answer = visitor.request(method, "/seats", headers=headers)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/json"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        told = answer.json()
        assert (told["id"], told["status"], told["queue_length"]) == (site.queue, "active", 0)
        assert told["reason"] == "missing"
        assert told["waiting_page"] == site.fairline.waiting_page(site.queue, "/seats")

    def test_an_answer_to_head_has_no_body(self, site: Site) -> None:
        with site.visitor() as visitor:
            assert visitor.head("/seats").status_code == 302

    def test_listed_paths_need_none(self, site: Site) -> None:
        with site.visitor() as visitor:
            assert visitor.get("/healthz").status_code == 200
            assert visitor.get("/static/nothing.css").status_code == 404

    @pytest.mark.parametrize(
        "path",
        [
            "/static/../seats",
            "/static/%2e%2e/seats",
            "/static/%252e%252e/seats",
            "/static/..%2fseats",
            "/static/..%5cseats",
            "/static/..;/seats",
            "/static//../seats",
            "/static/./x",
        ],
    )
    def test_a_path_in_disguise_bypasses_nothing(self, site: Site, path: str) -> None:
        assert raw(site, path).status == 302

    @pytest.mark.parametrize("path", ["//evil.test/x", "/%5Cevil.test/x", "/\\evil.test", "///evil.test"])
    def test_nobody_is_led_to_another_site(self, site: Site, path: str) -> None:
        token, _ = site.fairline.admitted(site.queue)
        onward = raw(site, path).headers["location"].partition("?return=")[2]
        assert onward.startswith("%2F")
        assert not onward.startswith(("%2F%2F", "%2F%5C"))
        arrival = raw(site, f"{path}?fairline_session={token}").headers["location"]
        assert arrival.startswith("/")
        assert arrival[1] not in "/\\"


class TestWithAPass:
    def test_the_pass_leaves_the_address_at_the_first_request(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.visitor() as visitor:
            first = visitor.get(f"/seats?day=2&fairline_session={token}&row=a%26b")
            assert first.status_code == 302
            assert first.headers["location"] == "/seats?day=2&row=a%26b"
            cookies = {each.partition("=")[0]: each for each in first.headers.get_list("set-cookie")}
            assert cookies.keys() == {"fairline_session", "fairline_client"}
            assert all("HttpOnly" in each and "SameSite=Lax" in each for each in cookies.values())
            assert not any("Secure" in each for each in cookies.values())
            second = visitor.get("/seats?day=2&row=a%26b")
        assert second.status_code == 200
        assert f"Ticket {number} is inside." in second.text
        assert site.fairline.ticket(site.queue, number)["status"] == "active"

    def test_a_bearer_token_does_as_well(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.visitor() as visitor:
            answer = visitor.get("/seats", headers={"authorization": f"Bearer {token}"})
        assert f"Ticket {number} is inside." in answer.text

    def test_activity_extends_the_session(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            before = site.fairline.ticket(site.queue, number)

            def extended() -> bool:
                visitor.get("/seats").raise_for_status()
                after = site.fairline.ticket(site.queue, number)
                return bool(after["deadline"] > before["deadline"] and after["page_views"] > before["page_views"])

            awaited(extended)

    def test_completion_frees_the_room_at_once(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            inside = site.fairline.admin.get(f"/queues/{site.queue}/stats").json()
            site.fairline.change(site.queue, max_active=inside["admitted"] + inside["active"])
            other = site.fairline.join(site.queue)
            assert site.fairline.status(other)["status"] == "waiting"
            answer = visitor.post("/buy")
            assert answer.status_code == 200
            assert "x-fairline-complete" not in answer.headers
            awaited(lambda: site.fairline.status(other)["status"] == "admitted")
            assert site.fairline.ticket(site.queue, number)["status"] == "completed"
            assert site.is_refused(visitor)
        site.fairline.change(site.queue, max_active=1000)


class TestWithABadPass:
    def refused(self, site: Site, token: str) -> None:
        """In the address, in the cookie and as a bearer token, it lets nobody in."""
        for sent in ({"cookie": f"fairline_session={token}"}, {"authorization": f"Bearer {token}"}):
            with site.visitor() as visitor:
                answer = visitor.get("/seats", headers=sent)
            assert answer.status_code == 302
            assert answer.headers["location"] == site.fairline.waiting_page(site.queue, "/seats")
        with site.visitor() as visitor:
            answer = visitor.get("/seats", params={"fairline_session": token})
        assert answer.headers["location"] == site.fairline.waiting_page(site.queue, "/seats")
        assert "set-cookie" not in answer.headers

    def test_an_expired_one_is_refused(self, site: Site) -> None:
        self.refused(site, minted(site.fairline.keyring(), site.queue, expires=int(time.time()) - 60))

    def test_a_forged_one_is_refused(self, site: Site) -> None:
        self.refused(site, minted(Keyring(b"another secret", 1), site.queue))

    def test_a_changed_one_is_refused(self, site: Site) -> None:
        head, _, signature = site.fairline.admitted(site.queue)[0].split(".")
        body = minted(Keyring(b"another secret", 1), site.queue).split(".")[1]
        self.refused(site, f"{head}.{body}.{signature}")

    def test_one_with_algorithm_none_is_refused(self, site: Site) -> None:
        claims = {"iss": "fairline", "sub": "X-1", "q": site.queue, "n": 1, "j": 1, "iat": 1, "exp": 4_000_000_000}
        self.refused(site, unsigned(claims))

    def test_the_token_of_a_ticket_is_no_pass(self, site: Site) -> None:
        self.refused(site, site.fairline.join(site.queue))

    def test_one_of_another_queue_is_refused(self, site: Site) -> None:
        self.refused(site, site.fairline.admitted(site.fairline.queue())[0])

    @pytest.mark.parametrize(
        "other", [{"user_agent": "Browser/2"}, {"address": OTHER_ADDRESS}], ids=lambda o: next(iter(o))
    )
    def test_the_link_of_another_person_is_refused(self, site: Site, other: dict[str, str]) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as first, site.visitor(**other) as second:
            answer = second.get("/seats", params={"fairline_session": token})
            assert answer.headers["location"] == site.fairline.waiting_page(site.queue, "/seats")
            second.cookies.set("fairline_session", token)
            assert site.is_refused(second)
            second.cookies.set("fairline_client", "made.up.here")
            assert site.is_refused(second)
            assert f"Ticket {number} " in first.get("/seats").text

    def test_whoever_began_may_go_on_from_another_address(self, site: Site) -> None:
        token, _ = site.fairline.admitted(site.queue)
        with site.arrive(token) as first, site.visitor(address=OTHER_ADDRESS, user_agent="Browser/2") as moved:
            moved.cookies = first.cookies
            assert moved.get("/seats").status_code == 200

    def test_a_revoked_one_is_refused_within_seconds(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            site.fairline.revoke(site.queue, number)
            awaited(lambda: site.is_refused(visitor), 3)
            assert visitor.get("/seats", headers={"accept": "application/json"}).json()["reason"] == "ended"

    def test_a_bad_link_does_no_harm_to_who_is_inside(self, site: Site) -> None:
        token, _ = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            answer = visitor.get("/seats", params={"fairline_session": "x.y.z"}, follow_redirects=True)
            assert answer.status_code == 200
