"""Traces with OpenTelemetry: a span for each request, and one for each grouped store call with links to the requests
that it carries. Nothing imports this module unless traces are asked for (see `fairline.process.telemetry`): then it
wraps the handlers and replaces the groupings, so that without it no request takes another step.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import monotonic
from typing import Any

import msgspec
from opentelemetry import trace
from opentelemetry.context import Context as TraceContext
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from fairline import __version__
from fairline.aio.grouping import Done, GroupedCall, Grouping, OnSent
from fairline.web.server.http import Outcome, Pending, Request, Response, Sent
from fairline.web.server.operations import Operation
from fairline.web.server.problems import failure
from fairline.web.server.trusted_proxies import TrustedProxies

#: Seconds that the last spans may take to be sent while the server ends.
CLOSE_SECONDS = 3.0
#: Calls without a span: machines make them every few seconds.
UNTRACED = frozenset(("/healthz", "/readyz", "/metrics"))

_PROPAGATOR = TraceContextTextMapPropagator()
_HEADERS = ("traceparent", "tracestate")


class Tracing:
    """The spans of one worker, and where they are sent."""

    def __init__(self, proxies: TrustedProxies, worker: str) -> None:
        self._proxies = proxies
        self._provider = TracerProvider(resource=_resource(worker), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("fairline", __version__)

    def grouping(
        self, name: str, send: Callable[[Any, list[Any]], Awaitable[Sequence[Any]]], on_sent: OnSent[Any, Any] | None
    ) -> Grouping[Any, Any, Any]:
        """A grouping whose store calls have spans."""
        return TracedGrouping(self._tracer, name, send, on_sent)

    def traced(self, row: Operation) -> Operation:
        """The operation with a span for each request."""
        if row.path in UNTRACED:
            return row
        handler = row.fast or row.slow
        assert handler is not None

        def answer(request: Request) -> Outcome:
            return _Visit(self._begin(row, request), request).step(partial(handler, request))

        async def answer_slowly(request: Request) -> Sent:
            assert row.slow is not None
            return await _Visit(self._begin(row, request), request).finish(row.slow(request))

        return msgspec.structs.replace(row, fast=answer if row.fast else None, slow=answer_slowly if row.slow else None)

    def close(self) -> None:
        """Send what has not been sent, for a few seconds at most: a collector that hangs does not hold up the end."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)

    def _begin(self, row: Operation, request: Request) -> Span:
        """A span that began with the request. The trace of a trusted proxy goes on in it. That of a stranger does not:
        anybody could have everything recorded."""
        parent = TraceContext()
        if self._proxies.trusts(request) and request.header(b"traceparent") is not None:
            parent = _PROPAGATOR.extract({name: request.text(name.encode()) or "" for name in _HEADERS}, parent)
        attributes = {
            "http.request.method": request.method,
            "http.route": row.path,
            "fairline.request_id": request.id,
        }
        queue = request.params.get("queue")
        if queue is not None:
            attributes["fairline.queue"] = queue
        began = time.time_ns() - int((monotonic() - request.began) * 1e9)
        return self._tracer.start_span(row.name, parent, SpanKind.SERVER, attributes, start_time=began)


class _Visit:
    """One request on its way, with its span. An error becomes the answer here, as it would where the handler is called:
    so the span knows its status."""

    __slots__ = ("_request", "_span")

    def __init__(self, span: Span, request: Request) -> None:
        self._span = span
        self._request = request

    def step(self, step: Callable[[], Outcome]) -> Outcome:
        """Take a step of the handler. The span ends with the last one."""
        try:
            with _within(self._span):
                outcome = step()
        except Exception as error:
            outcome = failure(self._request, error)
        if isinstance(outcome, Pending):
            call = TracedCall(outcome.call.group, outcome.call.key, outcome.call.item, span=self._span)
            return TracedPending(call, outcome.render, outcome.recover, visit=self)
        return self.finish(outcome) if isinstance(outcome, Coroutine) else self._end(outcome)

    async def finish(self, answer: Coroutine[Any, Any, Sent]) -> Sent:
        """Wait for the answer, and end the span with it."""
        try:
            with _within(self._span):
                sent = await answer
        except Exception as error:
            sent = failure(self._request, error)
        except BaseException:
            self._span.end()
            raise
        return self._end(sent)

    def _end(self, sent: Sent) -> Sent:
        """End the span: that of a stream too, which goes on without it."""
        status = sent.status if isinstance(sent, Response) else 200
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
        return sent


class TracedCall(GroupedCall[Any], frozen=True, eq=False, kw_only=True):
    """A grouped call that is made within the span of its request."""

    span: Span

    def then(self, done: Done[Any]) -> None:
        with _within(self.span):
            super().then(done)

    def __await__(self) -> Generator[Any, None, Any]:
        with _within(self.span):
            return super().__await__()


class TracedPending(Pending[Any], frozen=True, eq=False, kw_only=True):
    """An answer that waits, whose next step is within the span of its request."""

    visit: _Visit

    def sent(self, outcome: Any) -> Outcome:
        return self.visit.step(partial(Pending.sent, self, outcome))


class TracedGrouping(Grouping[Any, Any, Any]):
    """A grouping that carries with each call the span in which it was made."""

    def __init__(
        self,
        tracer: Tracer,
        name: str,
        send: Callable[[Any, list[Any]], Awaitable[Sequence[Any]]],
        on_sent: OnSent[Any, Any] | None,
    ) -> None:
        super().__init__(self._send_within_span, on_sent=on_sent)
        self._tracer = tracer
        self._name = name
        self._send_batch = send

    def ask(self, key: Any, item: Any, done: Done[Any]) -> None:
        super().ask(key, (item, trace.get_current_span()), done)

    async def _send_within_span(self, key: Any, carried: list[tuple[Any, Span]]) -> Sequence[Any]:
        """Send a batch. Its span is a child of the first request that is recorded, so that it is recorded too, and has
        links to all of them. The others have a link to it."""
        items = [item for item, _ in carried]
        callers = [span for _, span in carried if span.is_recording()]
        if not callers:
            return await self._send_batch(key, items)
        queue = key[0] if isinstance(key, tuple) else key
        span = self._tracer.start_span(
            f"store {self._name}",
            trace.set_span_in_context(callers[0], TraceContext()),
            SpanKind.CLIENT,
            {"db.operation.name": self._name, "db.operation.batch.size": len(items), "fairline.queue": str(queue)},
            [Link(caller.get_span_context()) for caller in callers],
        )
        for caller in callers[1:]:
            caller.add_link(span.get_span_context())
        with trace.use_span(span, end_on_exit=True):
            return await self._send_batch(key, items)


def _within(span: Span) -> AbstractContextManager[Any]:
    """While this span is the current one. What is raised is not written into it: it may have personal data."""
    return trace.use_span(span, record_exception=False, set_status_on_exception=False)


def _resource(worker: str) -> Resource:
    """What sends these spans. The name of OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES goes before ours."""
    ours = {"service.version": __version__, "service.instance.id": worker}
    if not os.environ.get("OTEL_SERVICE_NAME") and "service.name=" not in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        ours["service.name"] = "fairline"
    return Resource.create(ours)
