"""Traces: what a collector receives of requests and of the store calls that carry them; and nothing of it where nobody
asks for traces."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from structlog.testing import capture_logs

from fairline.process.telemetry import start_tracing, traces_wanted
from tests.backends import HOST, PATIENCE_SECONDS, wait_until
from tests.web.running import RunningServer

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
JOIN = "POST /api/v1/queues/{queue}/join"
SERVER, CLIENT = 2, 3


class Collector:
    """Takes spans by OTLP over HTTP, as an OpenTelemetry collector does."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
                assert self.path == "/v1/traces"
                for group in sent.resource_spans:
                    collector.resources.append(
                        {each.key: each.value.string_value for each in group.resource.attributes}
                    )
                    collector.spans += [span for scope in group.scope_spans for span in scope.spans]
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def named(self, name: str, request_id: str | None = None) -> list[Any]:
        """The spans of this name; of one request, if it is named."""
        found = [span for span in self.spans if span.name == name]
        return [span for span in found if request_id in (None, attributes(span).get("fairline.request_id"))]

    def one(self, name: str, request_id: str) -> Any:
        """The one span of a request, once it is there."""
        wait_until(lambda: bool(self.named(name, request_id)), f"no span {name} of {request_id}")
        (span,) = self.named(name, request_id)
        return span

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def attributes(span: Any) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "FAIRLINE_TRUSTED_PROXIES": HOST,
    }
    running = RunningServer(tmp_path_factory.mktemp("traced"), workers=1, environ=environ)
    yield running
    running.stop()


@pytest.fixture
def proxy(server: RunningServer) -> Iterator[httpx.Client]:
    """A trusted proxy, which takes part in a trace."""
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    with httpx.Client(base_url=server.base_url, headers=headers) as client:
        yield client


def test_a_join_continues_the_trace_of_its_proxy_and_the_store_call_continues_it_further(
    proxy: httpx.Client, collector: Collector
) -> None:
    joined = proxy.post("/api/v1/queues/demo/join", headers={"x-request-id": "traced-join"})
    assert joined.status_code == 201, joined.text
    span = collector.one(JOIN, "traced-join")
    assert (span.trace_id.hex(), span.parent_span_id.hex(), span.kind) == (TRACE, SPAN, SERVER)
    assert attributes(span) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/queues/{queue}/join",
        "http.response.status_code": 201,
        "fairline.request_id": "traced-join",
        "fairline.queue": "demo",
    }
    wait_until(lambda: any(call.parent_span_id == span.span_id for call in collector.named("store join")), "no call")
    (call,) = [call for call in collector.named("store join") if call.parent_span_id == span.span_id]
    assert (call.trace_id.hex(), call.kind) == (TRACE, CLIENT)
    assert [(link.trace_id.hex(), link.span_id) for link in call.links] == [(TRACE, span.span_id)]
    assert attributes(call) == {"db.operation.name": "join", "db.operation.batch.size": 1, "fairline.queue": "demo"}
    assert span.start_time_unix_nano <= call.start_time_unix_nano < call.end_time_unix_nano <= span.end_time_unix_nano
    (resource,) = {(each["service.name"], bool(each["service.instance.id"])) for each in collector.resources}
    assert resource == ("fairline", True)


def test_joins_that_share_a_store_call_and_the_call_have_links_to_each_other(
    server: RunningServer, collector: Collector
) -> None:
    names = [f"shared-{number}" for number in range(5)]
    store = server.store_pid()
    os.kill(store, signal.SIGSTOP)
    sockets = []
    try:
        # The first one is under way while the others come. What was sent before a call that is answered has arrived.
        for name in ("shared-first", *names):
            opened = socket.create_connection((HOST, server.port), timeout=60)
            lines = ("POST /api/v1/queues/demo/join HTTP/1.1", "host: x", f"x-request-id: {name}", "content-length: 0")
            opened.sendall("\r\n".join((*lines, "", "")).encode())
            sockets.append(opened)
            httpx.get(f"{server.base_url}/healthz").raise_for_status()
    finally:
        os.kill(store, signal.SIGCONT)
    for opened in sockets:
        assert opened.recv(65_536).startswith(b"HTTP/1.1 201"), "not joined"
        opened.close()
    spans = {name: collector.one(JOIN, name) for name in names}
    first = spans[names[0]]
    wait_until(lambda: any(each.parent_span_id == first.span_id for each in collector.named("store join")), "no call")
    (call,) = [each for each in collector.named("store join") if each.parent_span_id == first.span_id]
    assert [(link.trace_id, link.span_id) for link in call.links] == [
        (span.trace_id, span.span_id) for span in spans.values()
    ]
    assert len({span.trace_id for span in spans.values()}) == len(names), "each is in a trace of its own"
    assert attributes(call)["db.operation.batch.size"] == len(names)
    for name in names[1:]:
        assert [link.span_id for link in spans[name].links] == [call.span_id], name


def test_the_span_of_a_call_has_the_status_of_its_answer_whatever_kind_of_handler_it_has(
    proxy: httpx.Client, server: RunningServer, collector: Collector
) -> None:
    key = {"authorization": f"Bearer {server.admin_key}"}
    for number, (method, path, headers, name, status) in enumerate(
        [
            ("POST", "/api/v1/queues/nowhere/join", {}, JOIN, 404),
            ("POST", "/api/v1/heartbeat", {}, "POST /api/v1/heartbeat", 401),
            ("POST", "/api/v1/queues/%64emo/join", {}, JOIN, 201),  # escapes are not for the fast path
            ("POST", "/api/v1/heartbeat", {}, "POST /api/v1/heartbeat", 200),
            ("GET", "/api/v1/queues/demo", {}, "GET /api/v1/queues/{queue}", 200),
            ("GET", "/api/v1/admin/queues", {}, "GET /api/v1/admin/queues", 401),
            ("GET", "/api/v1/admin/queues", key, "GET /api/v1/admin/queues", 200),
            ("GET", "/api/v1/queues/demo?x=1", {}, "GET /api/v1/queues/{queue}", 422),
        ]
    ):
        answer = proxy.request(method, path, headers={**headers, "x-request-id": f"kind-{number}"})
        assert answer.status_code == status, (path, answer.text)
        span = collector.one(name, f"kind-{number}")
        assert attributes(span)["http.response.status_code"] == status, path
        assert span.trace_id.hex() == TRACE, path
    joined = collector.one(JOIN, "kind-2")
    wait_until(lambda: any(call.parent_span_id == joined.span_id for call in collector.named("store join")), "no call")
    with proxy.stream("GET", "/api/v1/stream", headers={"x-request-id": "kind-stream"}) as stream:
        assert attributes(collector.one("GET /api/v1/stream", "kind-stream"))["http.response.status_code"] == 200
        assert stream.status_code == 200
    for path in ("/healthz", "/readyz", "/metrics"):
        proxy.get(path).raise_for_status()
    assert not [span.name for span in collector.spans if span.name.endswith(("healthz", "readyz", "metrics"))]


def test_an_outage_of_the_store_is_an_error_in_the_trace(server: RunningServer, collector: Collector) -> None:
    store = server.store_pid()
    os.kill(store, signal.SIGSTOP)
    try:
        url = f"{server.base_url}/api/v1/queues/demo/join"
        refused = httpx.post(url, headers={"x-request-id": "away"}, timeout=60)
    finally:
        os.kill(store, signal.SIGCONT)
    assert refused.status_code == 503
    assert collector.one(JOIN, "away").status.code == 2, "not an error"


def test_a_stranger_cannot_have_requests_recorded_in_a_trace_of_their_own(
    server: RunningServer, collector: Collector
) -> None:
    transport = httpx.HTTPTransport(local_address="127.0.0.9")
    with httpx.Client(transport=transport, base_url=server.base_url) as stranger:
        headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "x-request-id": "strange"}
        stranger.post("/api/v1/queues/demo/join", headers=headers).raise_for_status()
    span = collector.one(JOIN, "strange")
    assert span.trace_id.hex() != TRACE
    assert span.parent_span_id == b""


def test_spans_that_cannot_be_sent_do_not_hold_up_the_end_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = threading.Event()
    monkeypatch.setattr(TracerProvider, "shutdown", lambda _: hanging.wait())
    tracing = start_tracing({"OTEL_TRACES_EXPORTER": "otlp"}, [])
    assert tracing is not None
    closing = threading.Thread(target=tracing.close, daemon=True)
    closing.start()
    closing.join(PATIENCE_SECONDS)
    over = not closing.is_alive()
    hanging.set()
    assert over


def test_traces_are_made_where_the_usual_variables_ask_for_them() -> None:
    at = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    for environ, wanted in (
        ({}, False),
        (at, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**at, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**at, "OTEL_SDK_DISABLED": "TRUE"}, False),
    ):
        assert traces_wanted(environ) is wanted, environ


def test_traces_that_cannot_be_made_are_left_out_and_the_log_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317"}
    with capture_logs() as lines:
        assert start_tracing({**at, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, []) is None
        monkeypatch.setenv("OTEL_SPAN_LINK_COUNT_LIMIT", "many")
        assert start_tracing(at, []) is None
        monkeypatch.delitem(sys.modules, "fairline.web.tracing", raising=False)
        monkeypatch.setitem(sys.modules, "opentelemetry", None)
        assert start_tracing(at, []) is None
    assert {line["event"] for line in lines} == {"traces.off"}
    for line, reason in zip(
        lines, ("grpc is not supported", "OTEL_SPAN_LINK_COUNT_LIMIT", "pip install 'fairline[otel]'"), strict=True
    ):
        assert reason in line["reason"]


def test_without_traces_nothing_of_opentelemetry_is_loaded() -> None:
    code = """
import sys
import fairline.process.worker
from fairline.process.telemetry import start_tracing
assert start_tracing({}, []) is None
print([name for name in sys.modules if name.startswith(("opentelemetry", "fairline.web.tracing"))])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "[]\n"
