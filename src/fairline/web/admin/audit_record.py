"""Records what was done with admin keys, in the log and in the audit log of the store."""

from __future__ import annotations

from typing import Any

import structlog

from fairline.errors import FairlineError
from fairline.store import AdminKey, AuditedAction, Registry

log = structlog.get_logger()


class AuditRecorder:
    """Records actions after they were done. If the audit log cannot be written, the log says so."""

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
        """Record an action and its key. The detail is small, and has no data of the people in line."""
        optional = {"queue": queue, "ticket": ticket, "duration_ms": duration_ms}
        fields = {name: value for name, value in optional.items() if value is not None}
        self.log(key, action, **fields, **detail, request_id=request_id)
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
        """Record in the log only. For calls that changed nothing."""
        log.info(event, by=key.id, **fields)
