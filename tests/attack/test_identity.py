"""Who is the same person, and who may learn it: places taken more than once, and tokens handed to strangers."""

from __future__ import annotations

from typing import Any

import httpx

from tests.attack.conftest import MakeQueue
from tests.web.running import RunningServer


def join(client: httpx.Client, queue: str, **more: Any) -> httpx.Response:
    headers = more.pop("headers", None)
    return client.post(f"/api/v1/queues/{queue}/join", json=more, headers=headers)


def someone(server: RunningServer, **cookies: str) -> httpx.Client:
    return httpx.Client(base_url=server.base_url, cookies=cookies)


# One place for one person

LEFT_OUT: list[tuple[str, dict[str, Any]]] = [("phone", {}), ("user", {}), ("phone", {"name": "Ada"}), ("ip", {})]


def test_who_leaves_out_what_makes_two_the_same_has_one_place(server: RunningServer, make_queue: MakeQueue) -> None:
    for one_per, told in LEFT_OUT:
        queue = make_queue(one_per=one_per, admission="manual", join_limit_per_ip=0)
        with someone(server) as browser:
            by_cookie = [join(browser, queue, **told) for _ in range(5)]
        assert [answer.status_code for answer in by_cookie] == [201, 200, 200, 200, 200], (one_per, told)
        if one_per == "ip":
            continue
        with someone(server) as program:
            by_client = []
            for _ in range(5):
                by_client.append(join(program, queue, client_id="a secret of the client", **told))
                program.cookies.clear()
        assert [answer.status_code for answer in by_client] == [201, 200, 200, 200, 200], (one_per, told)
        assert len({answer.json()["ticket"] for answer in by_cookie + by_client}) == 2, (one_per, told)


REQUIRED: list[tuple[str, dict[str, Any]]] = [
    ("name", {"name": "Ada"}),
    ("name", {"name": "   "}),
    ("phone", {"phone": "+49 30 901820"}),
    ("email", {"email": "ada@example.com"}),
    ("party_size", {"party_size": 1}),
]


def test_what_a_queue_requires_is_required_of_a_call(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    for field, told in REQUIRED:
        queue = make_queue(**{f"ask_{field}": "required"}, admission="manual")
        with someone(server) as browser:
            answers = [join(browser, queue) for _ in range(3)]
            assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(422, "invalid_request")}
            assert {answer.json()["field"] for answer in answers} == {field}
            blank = [value for value in told.values() if isinstance(value, str) and not value.strip()]
            assert join(browser, queue, **told).status_code == (422 if blank else 201), told
            if not blank:
                assert join(browser, queue).status_code == 200, "they have a place, and come back to it"
        by_staff = operator.post(f"/api/v1/admin/queues/{queue}/join", json={})
        assert by_staff.status_code == 201, by_staff.text


def test_nobody_gets_past_what_is_required_by_the_pages_or_the_gate(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(ask_phone="required", passthrough=True, target_url="https://shop.test/")
    with someone(server) as browser:
        for answer in (browser.get(f"/q/{queue}"), browser.post(f"/q/{queue}", data={"do": "join"})):
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, f"/join/{queue}")
        gate = browser.get("/api/v1/session/verify", params={"queue": queue}, headers={"x-original-uri": "/"})
        assert gate.status_code == 401
        form = browser.post(f"/join/{queue}", data={"name": "Ada"})
        assert form.status_code == 422
    assert operator.get(f"/api/v1/admin/queues/{queue}/stats").json()["joined_total"] == 0


# Idempotency keys


def test_a_weak_idempotency_key_hands_nobody_the_token_of_another(server: RunningServer, make_queue: MakeQueue) -> None:
    body = {"name": "Ada"}
    key = {"idempotency-key": "1"}
    for cookie, mine in (("", {"client_id": "a secret of Ada"}), ("Ada's secret", {})):
        queue = make_queue(admission="manual", join_limit_per_ip=0)
        with someone(server, **({"fairline_visitor": cookie} if cookie else {})) as ada:
            first = join(ada, queue, **body, **mine, headers=key)
        assert first.status_code == 201
        strangers: list[tuple[dict[str, str], dict[str, Any]]] = [
            ({}, body),
            ({"fairline_visitor": "a stranger's"}, body),
            ({}, {**body, "client_id": "a secret of Eve"}),
        ]
        for cookies, told in strangers:
            with someone(server, **cookies) as stranger:
                answer = join(stranger, queue, **told, headers=key)
                assert answer.status_code == 201, (cookies, told)
                assert answer.json()["ticket"] != first.json()["ticket"], (cookies, told)


def test_a_weak_key_hands_nobody_a_token_who_only_shares_the_address(
    server: RunningServer, make_queue: MakeQueue
) -> None:
    queue = make_queue(admission="manual", join_limit_per_ip=0)
    tickets = []
    for browser in ("Ada's", "Eve's", "Ada's"):
        with someone(server) as each:
            answer = join(each, queue, name="Ada", headers={"idempotency-key": "1", "user-agent": browser})
            tickets.append(answer.json()["ticket"])
    assert tickets == [1, 2, 1]


def test_the_same_call_again_is_the_same_ticket_for_the_one_who_made_it(
    server: RunningServer, make_queue: MakeQueue
) -> None:
    key = {"idempotency-key": "b7f0"}
    for mine in ({"client_id": "a secret of Ada"}, {}):
        queue = make_queue(admission="manual", one_per="none", join_limit_per_ip=0)
        with someone(server) as ada:
            first, again = (join(ada, queue, name="Ada", **mine, headers=key) for _ in range(2))
            other = join(ada, queue, name="Eve", **mine, headers=key)
        with someone(server) as ada:  # the first answer was lost, and the cookies with it
            lost = join(ada, queue, name="Ada", **mine, headers=key)
        assert [answer.status_code for answer in (first, again, lost)] == [201, 200, 200], mine
        assert len({answer.json()["ticket"] for answer in (first, again, lost)}) == 1, mine
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict"), mine


# Sessions


def way_in(server: RunningServer, operator: httpx.Client, make_queue: MakeQueue) -> tuple[str, str]:
    """The session token of someone who was let in, and their queue."""
    queue = make_queue(admission="manual", target_url="https://shop.test/")
    with someone(server) as holder:
        token = join(holder, queue).json()["token"]
    operator.post(f"/api/v1/admin/queues/{queue}/call-next").raise_for_status()
    status = httpx.get(f"{server.base_url}/api/v1/status", headers={"authorization": f"Bearer {token}"}).json()
    return str(status["session_token"]), queue


def call(client: httpx.Client, what: str, token: str, **headers: str) -> httpx.Response:
    return client.post(f"/api/v1/session/{what}", headers={"authorization": f"Bearer {token}", **headers})


def call_alone(server: RunningServer, what: str, token: str, **headers: str) -> httpx.Response:
    """A call of a program that keeps no cookies."""
    with someone(server) as program:
        return call(program, what, token, **headers)


def told(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code") or answer.json()["status"]


TAKEN = (409, "session_taken")


def test_a_link_starts_one_session_however_alike_those_are_who_have_it(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    token, _ = way_in(server, operator, make_queue)
    with someone(server) as holder, someone(server) as alike:
        assert told(call(holder, "start", token)) == (200, "active")
        assert told(call(alike, "start", token)) == TAKEN
        assert told(call(holder, "start", token)) == (200, "active"), "by its cookie it is the same client"


def test_a_start_that_is_made_again_is_known_by_its_key(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    token, _ = way_in(server, operator, make_queue)
    starts = [call_alone(server, "start", token, **{"idempotency-key": key}) for key in ("a1", "a1", "b2")]
    assert [told(start) for start in starts] == [(200, "active"), (200, "active"), TAKEN]


def test_nobody_ends_the_session_of_someone_else(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    for end, after in (("complete", "completed"), ("leave", "expired")):
        token, queue = way_in(server, operator, make_queue)
        with someone(server) as holder, someone(server) as stranger:
            mine = call(holder, "start", token).json()["session_token"]
            stranger.headers["user-agent"] = "another browser"
            for what in ("activity", end):
                assert told(call(stranger, what, token)) == TAKEN, what
            ticket = operator.get(f"/api/v1/admin/queues/{queue}/tickets/1").json()
            assert ticket["status"] == "active"
            # The site's own server has the session token from its visitor's cookie, and comes from its own address.
            assert told(call(stranger, "activity", mine)) == (200, "active")
            assert told(call(stranger, end, mine)) == (200, after)


def test_who_came_with_a_cookie_is_known_by_it_alone(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    """A stranger with the link, at the same address and with the same kind of browser, ends nothing."""
    for end, after in (("complete", "completed"), ("leave", "expired")):
        queue = make_queue(admission="manual", target_url="https://shop.test/")
        with someone(server) as holder, someone(server) as alike:
            ticket = join(holder, queue).json()
            operator.post(f"/api/v1/admin/queues/{queue}/call-next").raise_for_status()
            token = holder.get("/api/v1/status", params={"queue": queue}).json()["session_token"]
            assert told(call(holder, "start", token)) == (200, "active")
            for what in ("activity", end):
                assert told(call(alike, what, token)) == TAKEN, what
            path = f"/api/v1/admin/queues/{queue}/tickets/{ticket['ticket']}"
            assert operator.get(path).json()["status"] == "active"
            assert [told(call(holder, what, token)) for what in ("activity", end)] == [(200, "active"), (200, after)]


def test_a_program_that_keeps_no_cookies_goes_on_as_itself(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    token, _ = way_in(server, operator, make_queue)
    answers = [told(call_alone(server, what, token)) for what in ("start", "activity", "complete")]
    assert answers == [(200, "active"), (200, "active"), (200, "completed")]


def test_a_used_link_lets_nobody_in_who_puts_it_into_a_cookie_by_hand(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    for by_gate in (True, False):
        token, queue = way_in(server, operator, make_queue)
        verify = f"/api/v1/session/verify?queue={queue}"
        with someone(server) as holder, someone(server) as alike, someone(server, fairline_session=token) as by_hand:
            if by_gate:
                asked = {"x-original-uri": f"/?fairline_session={token}"}
                assert holder.get(f"{verify}&answer=redirect", headers=asked).headers["location"] == "/"
                assert holder.get(verify).status_code == 200
            else:
                holder.get(f"/arrived/{queue}", params={"fairline_session": token})
            assert told(by_hand.get(verify)) == (401, "session_taken"), by_gate
            assert told(alike.get(verify, headers={"authorization": f"Bearer {token}"})) == (401, "session_taken"), (
                by_gate
            )
            for what in ("activity", "complete", "leave"):
                assert told(call(alike, what, token)) == TAKEN, (what, by_gate)
            ticket = operator.get(f"/api/v1/admin/queues/{queue}/tickets/1").json()
            assert ticket["status"] == "active"


def test_the_place_to_arrive_takes_one_by_one_link(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    token, queue = way_in(server, operator, make_queue)
    with someone(server) as holder, someone(server) as alike:
        for _ in range(2):  # and again, by a reload
            answer = holder.get(f"/arrived/{queue}", params={"fairline_session": token})
            assert (answer.status_code, answer.headers["location"]) == (303, f"/arrived/{queue}")
            assert holder.get(f"/arrived/{queue}").headers["x-fairline-state"] == "arrived"
        answer = alike.get(f"/arrived/{queue}", params={"fairline_session": token})
        assert (answer.status_code, answer.headers["x-fairline-state"]) == (409, "link_used")
        assert "set-cookie" not in answer.headers
        program = alike.get(
            f"/arrived/{queue}", params={"fairline_session": token}, headers={"accept": "application/json"}
        )
        assert told(program) == TAKEN


def test_programs_are_told_that_a_link_is_used(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    token, queue = way_in(server, operator, make_queue)
    asked = {"x-original-uri": f"/?fairline_session={token}", "accept": "application/json"}
    with someone(server) as holder, someone(server) as alike:
        path = "/api/v1/session/verify"
        assert holder.get(path, params={"queue": queue, "answer": "refused"}, headers=asked).status_code == 302
        for answer in ("refused", "redirect"):
            assert told(alike.get(path, params={"queue": queue, "answer": answer}, headers=asked)) == TAKEN
        refused = alike.get(path, params={"queue": queue}, headers=asked)
        assert told(refused) == (401, "session_taken")
        assert refused.headers["x-fairline-redirect"].endswith("taken=1")
