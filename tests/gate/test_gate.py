"""The gate by itself: limits of time and number, and what is read off a request."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fairline.domain.bypass import is_plain
from fairline.domain.tokens import Keyring, SessionClaims
from fairline.gate import Options, ServerAway, keys, reports, server
from fairline.gate.gate import Answer, Gate, Through
from fairline.gate.reports import Reporter
from fairline.gate.request import Bypass, Request
from fairline.gate.server import Visitor
from fairline.gate.sessions import Session, Sessions
from tests.backends import HOST, wait_until

KEYRING = Keyring(b"secret", 1)
COOKIES = "fairline_session={}; fairline_client=a.b.c"


def minted(number: int = 1) -> str:
    now = int(time.time())
    claims = SessionClaims(queue="demo", subject="X", number=number, joined=1, issued=now, expires=now + 600)
    return KEYRING.sessions.sign(claims)


def asked(path: str = "/", query: str = "", **more: Any) -> Request:
    usual: dict[str, Any] = {"method": "GET", "headers": {}, "address": "192.0.2.1", "secure": False}
    return Request(**usual | {"path": path, "raw_path": path, "query": query} | more)


class Pretender:
    """Answers as a Fairline server would, and notes what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.awake = threading.Event()
        """While it is not set, nobody is answered."""
        self.awake.set()
        self.answers: dict[str, tuple[int, dict[str, Any]]] = {
            "/.well-known/jwks.json": (200, KEYRING.jwks()),
            "/api/v1/queues/demo": (200, {"id": "demo", "estimated_wait_seconds": 500}),
        }
        pretender = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                pretender.calls.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                pretender.awake.wait(90)
                status, content = pretender.answers.get(self.path, (200, {"status": "active"}))
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self._thread.start()

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def count(self, what: str) -> int:
        return sum(path.endswith(what) for path, _ in self.calls)


@pytest.fixture
def pretender() -> Iterator[Pretender]:
    found = Pretender()
    yield found
    found.close()


@pytest.fixture
def make_gate(pretender: Pretender) -> Iterator[Callable[..., Gate]]:
    made: list[Gate] = []

    def make(**options: Any) -> Gate:
        made.append(Gate(Options(**{"server": pretender.url, "queue": "demo"} | options)))
        return made[-1]

    yield make
    for gate in made:
        gate.close()


@pytest.fixture
def deaf() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server((HOST, 0)) as listening:
        yield f"http://{HOST}:{listening.getsockname()[1]}"


class TestTime:
    def test_nobody_waits_longer_than_the_limit(
        self, make_gate: Any, deaf: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "AWAY_SECONDS", 60)
        for headers in ({}, {"cookie": COOKIES.format(minted())}):
            gate = make_gate(server=deaf, time_limit_seconds=0.3)
            outcome = gate.decide(asked(headers=headers))
            assert isinstance(outcome, Answer), headers
            assert outcome.status == 503
            # The next ones need not find that out again.
            assert gate.at_once(asked()) is not None

    def test_each_site_waits_as_long_as_it_says(self, make_gate: Any, pretender: Pretender) -> None:
        pretender.awake.clear()
        patient, hasty = make_gate(time_limit_seconds=60), make_gate(time_limit_seconds=0.3)
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(patient.decide, asked())
            wait_until(lambda: bool(pretender.calls), "it does not ask")
            gives_up = hasty.decide(asked())
            pretender.awake.set()
            assert (gives_up.status, waiting.result().status) == (503, 302)

    def test_a_site_that_is_open_on_errors_goes_on_after_the_limit(self, make_gate: Any, deaf: str) -> None:
        gate = make_gate(server=deaf, time_limit_seconds=0.3, on_error="open")
        assert isinstance(gate.decide(asked(query=f"x=1&fairline_session={minted()}")), Answer)
        outcome = gate.decide(asked(headers={"cookie": COOKIES.format(minted())}))
        assert isinstance(outcome, Through)
        assert outcome.visit.ticket is None
        outcome.visit.complete()

    def test_a_report_never_delays_a_request(self, make_gate: Any, pretender: Pretender) -> None:
        gate = make_gate(report_seconds=0.001, time_limit_seconds=60)
        headers = {"cookie": COOKIES.format(minted())}
        assert isinstance(gate.decide(asked(headers=headers)), Through)
        pretender.awake.clear()
        reported: list[float] = []
        while not pretender.count("/activity"):
            began = time.monotonic()
            assert isinstance(gate.at_once(asked(headers=headers)), Through)
            reported.append(time.monotonic() - began)
        pretender.awake.set()
        assert max(reported) < 30, "it waited for an answer that did not come"


class TestReports:
    def test_activity_is_told_at_most_every_so_often(self, make_gate: Any, pretender: Pretender) -> None:
        gate = make_gate(report_seconds=60)
        headers = {"cookie": COOKIES.format(minted())}
        for _ in range(20):
            assert isinstance(gate.decide(asked(headers=headers)), Through)
        gate.close()
        assert (pretender.count("/start"), pretender.count("/activity")) == (1, 0)

    def test_the_visitor_is_passed_on(self, make_gate: Any, pretender: Pretender) -> None:
        gate = make_gate()
        agent = "Browser/1 " + "x" * 2000
        gate.decide(asked(query=f"fairline_session={minted()}", address="2001:db8::1", headers={"user-agent": agent}))
        ((_, sent),) = [call for call in pretender.calls if call[0].endswith("/start")]
        assert sent["x-forwarded-for"] == "2001:db8::1"
        assert sent["user-agent"] == agent[:512]
        assert "cookie" not in sent

    def test_a_session_token_can_be_confirmed_before_the_request_goes_on(
        self, make_gate: Any, pretender: Pretender
    ) -> None:
        gate = make_gate(confirm_seconds=0)
        request = asked(headers={"cookie": COOKIES.format(minted()), "accept": "application/json"})
        assert isinstance(gate.decide(request), Through)
        pretender.answers["/api/v1/session/start"] = (409, {"code": "transition_refused"})
        assert gate.at_once(request) is None
        refused = gate.decide(request)
        assert isinstance(refused, Answer)
        assert json.loads(refused.body)["reason"] == "ended"
        assert ("retry-after", "60") in refused.headers

    def test_someone_inside_is_turned_away_once_the_key_of_the_session_token_is_withdrawn(
        self, make_gate: Any, pretender: Pretender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keys, "LOOK_AGAIN_SECONDS", 0.0)
        gate = make_gate(keys_seconds=0.01)
        inside = asked(headers={"cookie": COOKIES.format(minted())})
        assert isinstance(gate.decide(inside), Through)
        pretender.answers["/.well-known/jwks.json"] = (200, Keyring(b"another secret", 1).jwks())
        wait_until(
            lambda: isinstance(gate.decide(inside), Answer), "a session token of a key that is no more still lets in"
        )

    def test_a_session_that_is_completed_stays_so(self, make_gate: Any, pretender: Pretender) -> None:
        gate = make_gate(report_seconds=0.001)
        request = asked(headers={"cookie": COOKIES.format(minted())})
        outcome = gate.decide(request)
        assert isinstance(outcome, Through)
        outcome.visit.complete()
        outcome.visit.complete()
        wait_until(lambda: pretender.count("/complete") == 1, "the server is not told")
        # The server of this test would say yes again; and a report under way may have been answered with yes.
        assert outcome.visit.session
        outcome.visit.session.confirm(time.monotonic())
        assert isinstance(gate.decide(request), Answer)

    def test_a_completion_is_told_however_long_the_server_is_unwell(
        self, make_gate: Any, pretender: Pretender, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reports, "AWAY_SECONDS", 0.01)
        monkeypatch.setattr(server, "AWAY_SECONDS", 0.005)
        gate = make_gate()
        outcome = gate.decide(asked(headers={"cookie": COOKIES.format(minted())}))
        pretender.answers["/api/v1/session/complete"] = (503, {"code": "store_unavailable"})
        outcome.visit.complete()
        wait_until(lambda: pretender.count("/complete") > 3, "it is given up")
        del pretender.answers["/api/v1/session/complete"]
        wait_until(lambda: gate.reporter.waiting == 0, "it is not told")

    def test_what_waits_is_bounded_and_completion_comes_before_activity(self) -> None:
        reporter = Reporter(limit=3)
        on_hold = threading.Event()
        done: list[object] = []
        reporter.run("first", lambda: on_hold.wait(30))
        wait_until(lambda: reporter.waiting == 0, "nobody runs it")
        for number in range(5):
            reporter.run(("activity", number), partial(done.append, number))
        assert reporter.waiting == 3
        reporter.run("complete", lambda: done.append("complete"), lasting=True)
        assert reporter.waiting == 3
        on_hold.set()
        reporter.close()
        assert done == [1, 2, "complete"]

    def test_what_fails_is_tried_once_more_and_what_must_be_told_until_it_is(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reports, "AWAY_SECONDS", 0.02)
        reporter = Reporter(limit=10)
        tries: list[str] = []

        def fail(name: str, times: int) -> None:
            tries.append(name)
            if tries.count(name) <= times:
                raise ServerAway("away")

        reporter.run("activity", lambda: fail("activity", 99))
        reporter.run("complete", lambda: fail("complete", 2), lasting=True)
        wait_until(lambda: tries.count("complete") == 3, "it is given up")
        reporter.close()
        assert tries.count("activity") == 2

    def test_a_report_that_fails_stops_no_other(self) -> None:
        reporter, done = Reporter(limit=10), threading.Event()
        reporter.run("broken", lambda: 1 / 0)
        reporter.run("whole", done.set)
        assert done.wait(30)
        reporter.close()
        reporter.run("late", done.clear)
        assert done.is_set()

    def test_the_threads_end_with_the_gate_even_if_the_server_is_away(self, make_gate: Any, deaf: str) -> None:
        before = set(threading.enumerate())
        gate = make_gate(server=deaf, time_limit_seconds=0.2)
        gate.reporter.run("one", gate._server.keys, lasting=True)
        gate.pool.submit(str).result()
        gate.close()
        wait_until(lambda: set(threading.enumerate()) <= before, "a thread is left")


class TestRequests:
    @pytest.mark.parametrize("path", ["/", "/a/b.css", "/a/..b", "/a/b.."])
    def test_plain_paths_are_plain(self, path: str) -> None:
        assert is_plain(path)

    @pytest.mark.parametrize(
        "path",
        [
            "/a/../b",
            "/a/..",
            "/./a",
            "//a",
            "/a//b",
            "/a\\b",
            "/a/%2E%2e/b",
            "/a%2fb",
            "/a/..;x/b",
            "/a;b",
            "/100%",
            "/a\0",
        ],
    )
    def test_paths_in_disguise_are_not(self, path: str) -> None:
        assert not is_plain(path)

    def test_addresses_and_agents_bypass_where_the_site_says_so(self) -> None:
        options = Options(
            server="http://x", queue="demo", bypass_addresses=["10.0.0.0/8", "::1"], bypass_agents=["Googlebot"]
        )
        bypass = Bypass(options)
        assert bypass.lets(asked(address="10.2.3.4"))
        assert bypass.lets(asked(address="::1"))
        assert bypass.lets(asked(headers={"user-agent": "Mozilla/5.0 (compatible; googlebot/2.1)"}))
        assert not bypass.lets(asked(address="11.0.0.1", headers={"user-agent": "Mozilla/5.0"}))
        assert not bypass.lets(asked(address="a socket"))

    def test_cookies_are_secure_where_the_request_was(self, make_gate: Any) -> None:
        def cookies(gate: Gate, secure: bool) -> list[str]:
            outcome = gate.decide(asked(query=f"fairline_session={minted()}", secure=secure))
            assert isinstance(outcome, Answer)
            return [value for name, value in outcome.headers if name == "set-cookie"]

        assert all("; Secure" in each for each in cookies(make_gate(), True))
        assert not any("; Secure" in each for each in cookies(make_gate(), False))
        assert all("; Secure" in each for each in cookies(make_gate(secure=True), False))

    def test_a_form_that_arrives_with_a_session_token_stays_a_form(self, make_gate: Any) -> None:
        outcome = make_gate().decide(asked("/buy", f"fairline_session={minted()}", method="POST"))
        assert isinstance(outcome, Answer)
        assert outcome.status == 307

    def test_only_tokens_are_sent_on(self, make_gate: Any) -> None:
        request = asked(headers={"cookie": "fairline_client=a b; x", "user-agent": "a\r\n b"})
        assert (request.visitor.client, request.visitor.agent) == ("", "a b")

    def test_visitors_see_the_public_address(self, make_gate: Any) -> None:
        outcome = make_gate(public_url="https://line.example/w/").decide(asked("/a"))
        assert isinstance(outcome, Answer)
        assert ("location", "https://line.example/w/q/demo?return=%2Fa") in outcome.headers

    def test_what_is_longest_unused_is_forgotten(self) -> None:
        sessions = Sessions(limit=2)
        visitors = [Visitor(str(number), "", "") for number in range(3)]
        for visitor in visitors:
            sessions.keep(Session("token", None, visitor), visitor)  # type: ignore[arg-type]
        assert [sessions.find("token", visitor) is not None for visitor in visitors] == [False, True, True]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"server": "127.0.0.1:8080"},
            {"public_url": "/w"},
            {"public_url": "http://[foo/"},
            {"public_url": "http://x:99999/"},
            {"queue": ""},
            {"on_error": "maybe"},
            {"time_limit_seconds": 0},
            {"bypass": "/static/*"},
            {"bypass": ["static/*"]},
            {"bypass_agents": [""]},
            {"bypass_addresses": ["10.0.0"]},
        ],
        ids=str,
    )
    def test_options_that_cannot_be_right_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="|".join([*wrong, "10.0.0"])):
            Options(**{"server": "http://x", "queue": "demo"} | wrong)
