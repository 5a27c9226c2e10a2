"""Where it is written down what was done with admin keys: the log, and the audit log in the store."""

from __future__ import annotations

from typing import Any

import structlog

from fairline.errors import FairlineError
from fairline.store import AdminKey, AuditedAction, Registry

log = structlog.get_logger()


class AuditRecorder:
    """Writes down what was done. It is done by then: where the audit log cannot be written, the log says so."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def record(
        self,
        key: AdminKey,
        action: str,
        /,
        *,
        request_id: str,
        duration_ms: float | None = None,
        queue: str | None = None,
        ticket: int | None = None,
        **detail: Any,
    ) -> None:
        """Note what was done, with which key. The detail is small, and tells nothing of the people in line."""
        named = {"queue": queue, "ticket": ticket, "duration_ms": duration_ms}
        told = {name: value for name, value in named.items() if value is not None}
        self.log(key, action, **told, **detail, request_id=request_id)
        audited = AuditedAction(
            key=key.id,
            name=key.name,
            role=key.role,
            action=action,
            queue=queue,
            ticket=ticket,
            detail=detail,
            request_id=request_id,
        )
        try:
            await self._registry.record(audited)
        except FairlineError as error:
            log.error("audit.not_recorded", action=action, by=key.id, request_id=request_id, error=error.message)

    def log(self, key: AdminKey, event: str, /, **fields: Any) -> None:
        """Note in the log alone what changed nothing."""
        log.info(event, by=key.id, **fields)
