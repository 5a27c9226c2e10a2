"""Every site of the how-to behind its gate, with a Fairline server that is well."""

from __future__ import annotations

import http.client
import json
import time
from base64 import urlsafe_b64encode
from typing import Any

from fairline.domain.tokens import Keyring, SessionClaims
from tests.backends import HOST
from tests.gate.sites import BROWSER, Site, awaited

OTHER_ADDRESS = "127.0.0.2"


def minted(keyring: Keyring, queue: str, **changes: Any) -> str:
    """A session token with the keys of the server, which says what the test wants."""
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
    """A session token in which the algorithm is none."""
    parts = ({"alg": "none", "typ": "fairline-session"}, claims)
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def raw(site: Site, target: str) -> http.client.HTTPResponse:
    """A request whose address is sent as it is written here."""
    connection = http.client.HTTPConnection(HOST, site.port, timeout=30)
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

    def test_programs_are_told_the_state_of_the_queue(self, site: Site) -> None:
        programs = [
            ("GET", {"accept": "application/json"}),
            ("GET", {"accept": "*/*", "sec-fetch-mode": "cors"}),
            ("POST", {"accept": "text/html"}),
        ]
        for method, headers in programs:
            with site.visitor() as visitor:
                answer = visitor.request(method, "/seats", headers=headers)
            assert answer.status_code == 503, (method, headers)
            assert answer.headers["content-type"] == "application/json", (method, headers)
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

    def test_a_path_in_disguise_bypasses_nothing(self, site: Site) -> None:
        dots = (
            "../seats",
            "%2e%2e/seats",
            "%252e%252e/seats",
            "..%2fseats",
            "..%5cseats",
            "..;/seats",
            "/../seats",
            "./x",
        )
        answers = {path: raw(site, f"/static/{path}").status for path in dots}
        assert answers == dict.fromkeys(dots, 302)

    def test_nobody_is_led_to_another_site(self, site: Site) -> None:
        for path in ("//evil.test/x", "/%5Cevil.test/x", "/\\evil.test", "///evil.test"):
            onward = raw(site, path).headers["location"].partition("?return=")[2]
            assert onward.startswith("%2F"), path
            assert not onward.startswith(("%2F%2F", "%2F%5C")), path
            token, _ = site.fairline.admitted(site.queue)
            arrival = raw(site, f"{path}?fairline_session={token}").headers["location"]
            assert arrival.startswith("/"), path
            assert arrival[1] not in "/\\", path


class TestWithAPass:
    def test_the_session_token_leaves_the_address_at_the_first_request(self, site: Site) -> None:
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
    def test_in_the_address_in_the_cookie_and_as_a_bearer_token_it_lets_nobody_in(self, site: Site) -> None:
        fairline, queue = site.fairline, site.queue
        keyring, stranger = fairline.keyring(), Keyring(b"another secret", 1)
        head, _, signature = fairline.admitted(queue)[0].split(".")
        claims = {"iss": "fairline", "sub": "X-1", "q": queue, "n": 1, "j": 1, "iat": 1, "exp": 4_000_000_000}
        bad = {
            "expired": minted(keyring, queue, expires=int(time.time()) - 60),
            "forged": minted(stranger, queue),
            "changed": f"{head}.{minted(stranger, queue).split('.')[1]}.{signature}",
            "with algorithm none": unsigned(claims),
            "the token of a ticket": fairline.join(queue),
            "of another queue": fairline.admitted(fairline.queue())[0],
        }
        waiting = fairline.waiting_page(queue, "/seats")
        with site.visitor() as visitor:
            for what, token in bad.items():
                for sent in ({"cookie": f"fairline_session={token}"}, {"authorization": f"Bearer {token}"}):
                    answer = visitor.get("/seats", headers=sent)
                    assert (answer.status_code, answer.headers.get("location")) == (302, waiting), (what, sent)
                answer = visitor.get("/seats", params={"fairline_session": token})
                assert answer.headers.get("location") == waiting, what
                assert "set-cookie" not in answer.headers, what

    def test_the_link_of_another_person_is_refused(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as first:
            used = f"{site.fairline.waiting_page(site.queue, '/seats')}&taken=1"
            with site.visitor() as alike:
                assert alike.get("/seats", params={"fairline_session": token}).headers["location"] == used
            for second in (site.visitor(user_agent="Browser/2"), site.visitor(address=OTHER_ADDRESS)):
                with second:
                    answer = second.get("/seats", params={"fairline_session": token})
                    assert answer.headers["location"] == used
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

    def test_the_same_browser_may_come_by_its_link_again(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            for _ in range(2):
                answer = visitor.get("/seats", params={"fairline_session": token}, follow_redirects=True)
                assert f"Ticket {number} is inside." in answer.text

    def test_a_revoked_one_is_refused(self, site: Site) -> None:
        token, number = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            site.fairline.revoke(site.queue, number)
            awaited(lambda: site.is_refused(visitor))
            assert visitor.get("/seats", headers={"accept": "application/json"}).json()["reason"] == "ended"

    def test_a_bad_link_does_no_harm_to_who_is_inside(self, site: Site) -> None:
        token, _ = site.fairline.admitted(site.queue)
        with site.arrive(token) as visitor:
            answer = visitor.get("/seats", params={"fairline_session": "x.y.z"}, follow_redirects=True)
            assert answer.status_code == 200
