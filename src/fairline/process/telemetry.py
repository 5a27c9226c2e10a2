"""Whether this process makes traces: by the variables that every program with OpenTelemetry reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog

from fairline.keeper.keeper import process_name
from fairline.web.server.trusted_proxies import TrustedProxies

if TYPE_CHECKING:
    from fairline.web.tracing import Tracing

log = structlog.get_logger()

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL = "http/protobuf"


def traces_wanted(environ: Mapping[str, str]) -> bool:
    """Whether traces are asked for: by the name of the exporter, or else by the address of a collector."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    return exporter == "otlp" if exporter else any(environ.get(name) for name in _ENDPOINTS)


def start_tracing(environ: Mapping[str, str], trusted_proxies: list[str]) -> Tracing | None:
    """The traces of this worker; None if nobody asks for them, or if they cannot be had, which no line has to wait
    for."""
    if not traces_wanted(environ):
        return None
    protocol = next((environ[name] for name in _PROTOCOLS if environ.get(name)), PROTOCOL)
    if protocol != PROTOCOL:
        log.warning("traces.off", reason=f"{protocol} is not supported. Use {PROTOCOL}, on port 4318 of a collector.")
        return None
    try:
        from fairline.web.tracing import Tracing
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        log.warning("traces.off", reason="OpenTelemetry is not installed: pip install 'fairline[otel]'")
        return None
    try:
        return Tracing(TrustedProxies(trusted_proxies), process_name())
    except ValueError as error:  # a variable has a value that OpenTelemetry does not take
        log.warning("traces.off", reason=str(error))
        return None
