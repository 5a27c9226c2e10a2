"""The call that creates a kiosk: a link that lets a tablet at the door give out numbers."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct

from fairline.domain.tokens import KioskClaims
from fairline.errors import InvalidRequest
from fairline.store import Role
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.api.wire import Strict, moment
from fairline.web.pages.qr_codes import embedded
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation


class NewKiosk(Strict, frozen=True):
    """A kiosk to create."""

    print: bool = False
    """Whether it prints each ticket automatically, for a tablet with a printer."""
    expires_in_seconds: Annotated[int, Meta(ge=60, le=31_536_000)] = 31_536_000


class KioskAnswer(Struct, frozen=True, kw_only=True):
    """The link of a kiosk. Anyone who opens it can take any number of tickets."""

    url: str
    code: str
    """The link as a QR code, for the camera of the tablet: an image as a `data:` address."""
    expires_at: datetime


class Kiosks(OperatorCalls):
    """The call about kiosks."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._context = operators.context

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/kiosk",
                "Create the link of a kiosk, which is exempt from the limits of joining. It works as long as this key.",
                self.create,
                {201: KioskAnswer},
                takes=NewKiosk,
            )
        ]

    async def create(self, call: Call) -> Response:
        """Create a link."""
        body, queue = call.take(NewKiosk), call.queue
        lasts = (await self._service.settings(queue)).settings.heartbeat_timeout_seconds
        if lasts > 0:
            raise InvalidRequest(
                "",
                f"Queue {queue!r} ends a place after {lasts:g} s without a heartbeat, and a paper ticket sends none. "
                "Set heartbeat_timeout_seconds to 0 first.",
            )
        expires = int(time.time()) + body.expires_in_seconds
        claims = KioskClaims(queue=queue, expires=expires, by=call.staff.id, prints=body.print)
        token = self._service.keyring.kiosks.sign(claims)
        ends = moment(expires * 1000)
        await call.record("kiosk.created", prints=body.print, expires_at=f"{ends:%Y-%m-%dT%H:%M:%SZ}")
        path = f"/join/{quote(queue, safe='')}/kiosk?token={token}"
        return private(
            201,
            KioskAnswer(
                url=f"{self._context.settings.public_url}{path}",
                code=embedded(self._context.base_url(call.request) + path),
                expires_at=ends,
            ),
        )
