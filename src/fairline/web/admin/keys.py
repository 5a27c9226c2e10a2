"""The calls about priority passes and admin keys."""

from __future__ import annotations

import time

from fairline.errors import RateLimited
from fairline.store import Role
from fairline.web.admin.key_wire import (
    Generation,
    IssuedPass,
    KeyAnswer,
    KeyList,
    MadeKey,
    NewKey,
    NewPass,
    PassAnswer,
    PassList,
    SessionInfo,
)
from fairline.web.admin.operator_call import DONE, Call, OperatorCalls, Operators
from fairline.web.admin.wire import Nothing
from fairline.web.api.wire import moment
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation

#: The shortest time between two rotations of the signing keys: twice the time in which each worker reads new ones.
ROTATES_SECONDS = 10.0


class Passes(OperatorCalls):
    """The calls about priority passes."""

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.OPERATOR,
                "POST /queues/{queue}/passes",
                "Issue a priority pass, to send as priority_pass when joining.",
                self.issue,
                {201: IssuedPass},
                takes=NewPass,
            ),
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/passes",
                "The priority passes that are still valid.",
                self.all,
                {200: PassList},
            ),
            self._row(
                Role.OPERATOR,
                "DELETE /queues/{queue}/passes/{pass_id}",
                "Withdraw a priority pass. It stops working at once.",
                self.withdraw,
                {204: None},
                problems=("pass_not_found",),
            ),
        ]

    async def issue(self, call: Call) -> Response:
        """Issue a priority pass."""
        body = call.take(NewPass)
        lasts = body.expires_in_seconds
        pass_id, text = await self._service.issue_priority_pass(call.queue, body.level, body.uses, lasts)
        expires = moment(int(time.time() + lasts) * 1000)
        await call.record("pass.issued", id=pass_id, priority=body.level, uses=body.uses)
        content = IssuedPass(id=pass_id, text=text, level=body.level, uses=body.uses, used=0, expires_at=expires)
        return private(201, content)

    async def all(self, call: Call) -> Response:
        """The priority passes that are still valid."""
        return private(200, PassList([*map(PassAnswer.of, await self._service.passes(call.queue))]))

    async def withdraw(self, call: Call) -> Response:
        """Withdraw a priority pass."""
        pass_id = call.request.params["pass_id"]
        await self._service.withdraw_priority_pass(call.queue, pass_id)
        await call.record("pass.withdrawn", id=pass_id)
        return DONE


class Keys(OperatorCalls):
    """The calls about admin keys."""

    def __init__(self, operators: Operators) -> None:
        super().__init__(operators)
        self._keys = operators.access.keys

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.ADMIN,
                "POST /keys",
                "Create an admin key. It is shown only once.",
                self.create,
                {201: MadeKey},
                takes=NewKey,
            ),
            self._row(
                Role.VIEWER,
                "GET /session",
                "The id, role and name of the key that came with the call.",
                self.session,
                {200: SessionInfo},
            ),
            self._row(Role.ADMIN, "GET /keys", "All admin keys, without their secret text.", self.all, {200: KeyList}),
            self._row(
                Role.ADMIN,
                "DELETE /keys/{key_id}",
                "Remove an admin key. It is refused from the next call on.",
                self.remove,
                {204: None},
                problems=("key_not_found", "last_admin_key"),
            ),
            self._row(
                Role.ADMIN,
                "POST /keys/rotate",
                "Sign tokens with new keys. Tokens of the previous keys remain valid; rotating twice ends them.",
                self.rotate,
                {200: Generation},
                takes=Nothing,
                problems=("rate_limited",),
            ),
        ]

    async def create(self, call: Call) -> Response:
        """Create a key."""
        body = call.take(NewKey)
        key, text = await self._keys.create(body.role, body.name)
        await call.record("key.created", id=key.id, role=key.role.value)
        content = MadeKey(id=key.id, key=text, role=key.role, name=key.name, created_at=moment(key.created))
        return private(201, content)

    async def session(self, call: Call) -> Response:
        """The key that came with the call."""
        return private(200, SessionInfo(id=call.staff.id, role=call.staff.role, name=call.staff.name))

    async def all(self, call: Call) -> Response:
        """All keys."""
        return private(200, KeyList([*map(KeyAnswer.of, await self._keys.all())]))

    async def remove(self, call: Call) -> Response:
        """Remove a key."""
        key_id = call.request.params["key_id"]
        await self._keys.remove(key_id)
        await call.record("key.removed", id=key_id)
        return DONE

    async def rotate(self, call: Call) -> Response:
        """Change to new signing keys. All workers accept the new tokens at once, and sign with the new keys within
        seconds. A second rotation before that is refused: it would invalidate tokens that they have just signed."""
        call.take(Nothing)
        wait = await self._service.store.registry.limit("keys", "rotate", 1, ROTATES_SECONDS)
        if wait > 0:
            raise RateLimited("server", wait)
        generation = await self._service.store.registry.rotate()
        await call.record("keys.rotated", generation=generation)
        return private(200, Generation(generation))
