"""The identity of people: keyed digests by which the store recognises them, and which reveal nothing."""

from __future__ import annotations

import hmac
import time
from hashlib import blake2b

import msgspec

from fairline.caches import SHARES, cached
from fairline.domain.address import counted_address
from fairline.domain.branding import LANGUAGES, spoken
from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.mail import mailbox
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Came, Person, Ticket
from fairline.domain.tokens import Keyring
from fairline.domain.user_tokens import UserTokens
from fairline.errors import (
    FairlineError,
    GroupGone,
    InvalidRequest,
    PassInvalid,
    TokenError,
    UserTokenInvalid,
    UserTokenMissing,
)
from fairline.store import Arrival

_fingerprint = msgspec.json.Encoder(order="deterministic").encode


class Identity:
    """Turns join requests and callers into the identities that the store keeps."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self.users = UserTokens(keyring)
        # People inside send the same digest with every page view, and many share one address: so both are cached.
        half = SHARES["digests"] // 2
        self.session = cached(half, self._session)
        self._address = cached(half, self._address_digest)

    def _session(self, by: str) -> bytes:
        """The digest of the client that uses a session, made part by part (see fairline.store.Visitor)."""
        return b"".join(self.digest("session", part) for part in by.split(" "))

    def is_client(self, client_id: str, digest: str) -> bool:
        """Whether `digest` is the beginning of this client id's digest."""
        return hmac.compare_digest(self.digest("client", client_id).hex()[: len(digest)], digest)

    def arrival(
        self,
        queue: QueueId,
        request: JoinRequest,
        caller: Caller,
        through: bool,
        ipv6_prefix: int,
        missing: str = "",
    ) -> Arrival:
        """Build the arrival that the store receives for a join; `missing` is a required field that it lacks."""
        group = self._group(queue, request, caller) if request.group is not None and not through else None
        address = self._address((caller.address, ipv6_prefix))
        return Arrival(
            client=self.digest("client", request.client_id or caller.visitor),
            user=self.digest("user", request.user_id) if request.user_id else b"",
            phone=self.digest("phone", request.phone) if request.phone else b"",
            email=self.mailbox(request.email) if request.email else b"",
            address=address,
            key=self.key(request.idempotency_key, _bound_to(request, caller))
            if request.idempotency_key is not None
            else b"",
            fingerprint=_form_or_body(request, caller) if request.idempotency_key else b"",
            priority=caller.priority,
            pass_id=self._pass_id(queue, request.priority_pass) if request.priority_pass else "",
            limited=caller.staff is None,
            through=through,
            series=request.series or "",
            missing=missing,
            group=group,
            person=Person(
                user_id=request.user_id,
                name=request.name,
                phone=request.phone,
                email=request.email,
                language=_language(request, caller),
                party_size=request.party_size or 1,
                address=address.hex() or None,
                user_agent=_storable(caller.user_agent[:300]) if caller.user_agent else None,
                metadata=request.metadata,
            ),
        )

    def named(
        self, queue: QueueId, request: JoinRequest, caller: Caller, *, required: bool
    ) -> tuple[JoinRequest, FairlineError | None]:
        """Return the join with the user id from its user token, and the problem if the token is missing or not valid.
        An invalid token in a cookie is ignored where no user token is required."""
        token, bare = request.user_token or caller.user_token, msgspec.structs.replace(request, user_token=None)
        problem: FairlineError | None = UserTokenMissing(queue) if required else None
        if token is not None:
            try:
                user = self.users.user(queue, token, time.time())
                if bare.user_id in (None, user):
                    return msgspec.structs.replace(bare, user_id=user), None
                raise UserTokenInvalid("it is for another user than user_id says")
            except FairlineError as error:
                problem = error if required or request.user_token is not None else None
        return msgspec.structs.replace(bare, user_id=None) if problem else bare, problem

    def transferred(self, queue: QueueId, ticket: Ticket, priority: int, after: int = 0) -> Arrival:
        """Build the arrival of a person who comes from another queue, with an idempotency key that only this transfer
        has. They are on hold until they have left the other line. `after` is their ticket from an earlier attempt that
        failed."""
        person = ticket.person
        return Arrival(
            client=ticket.client,
            user=self.digest("user", person.user_id),
            phone=self.digest("phone", person.phone),
            address=bytes.fromhex(person.address or ""),
            key=self.digest("key", f"transfer\n{queue}\n{ticket.number}\n{ticket.joined}\n{after}"),
            fingerprint=b"transfer",
            priority=priority,
            limited=False,
            on_hold=True,
            came=Came(queue, ticket.number, ticket.joined),
            person=person,
        )

    def _pass_id(self, queue: QueueId, text: str) -> str:
        try:
            claims = self._keyring.priorities.check(text, time.time())
        except TokenError as error:
            raise PassInvalid(f"it is forged, damaged or expired ({error.code})") from None
        if claims.queue != queue:
            raise PassInvalid("it is for another queue")
        return claims.id

    def _group(self, queue: QueueId, request: JoinRequest, caller: Caller) -> tuple[int, int]:
        if request.priority_pass or caller.priority:
            raise InvalidRequest("group", "goes with no priority: the place is beside the group")
        try:
            claims = self._keyring.groups.check(request.group or "", time.time())
        except TokenError:
            raise GroupGone from None
        if claims.queue != queue:
            raise GroupGone
        return claims.number, claims.joined

    def visitor(self, key: str, seen: str) -> str:
        """The secret for a browser without one that sends an idempotency key. It is the same if this browser repeats
        the call from the same address, because the first answer and its cookie may have been lost."""
        return self.digest("visitor", f"{seen}\n{key}").hex()

    def key(self, key: str | None, caller: str) -> bytes:
        """The digest of an idempotency key. It depends on the caller, so nobody gets the answer to another's key."""
        if key is not None and not 1 <= len(key) <= 200:
            raise InvalidRequest("idempotency_key", "must be text of 1 to 200 characters")
        return self.digest("key", f"{caller}\n{key}") if key else b""

    def mailbox(self, address: str) -> bytes:
        """The digest of a mailbox, by which mail to it is counted."""
        return self.digest("mailbox", mailbox(address))

    def _address_digest(self, counted: tuple[str | None, int]) -> bytes:
        return self.digest("address", counted_address(*counted))

    def digest(self, kind: str, text: str | None) -> bytes:
        """The digest of a secret or an address: it can be recognised, but not read from the digest."""
        if not text:
            return b""
        key = self._keyring.digest_key
        return blake2b(text.encode(errors="replace"), digest_size=12, key=key, person=kind.encode()).digest()


def _bound_to(request: JoinRequest, caller: Caller) -> str:
    """The owner of an idempotency key: with a guessed key, nobody may get the token of someone else. The key
    of a form is created by the server and too long to be guessed, so it is valid even if the cookies were lost."""
    if caller.staff is not None:
        return caller.staff
    if caller.form:
        return "form"
    client = request.client_id or caller.visitor
    return f"client\n{client}" if client else ""


def _form_or_body(request: JoinRequest, caller: Caller) -> bytes:
    """The fingerprint that a repeated idempotency key must match. A form that is sent again always matches, even if it
    was filled in differently: one person, one ticket."""
    if caller.form:
        return b"form"
    body = (msgspec.structs.replace(request, idempotency_key=None), caller.priority)
    return blake2b(_fingerprint(body), digest_size=8).digest()


def _language(request: JoinRequest, caller: Caller) -> str | None:
    """The language of a person. The first language is not stored, because most people have it or none."""
    wanted = spoken(request.language) if request.language else caller.language
    return None if wanted == LANGUAGES[0] else wanted


def _storable(text: str) -> str:
    """Replace characters that no store can keep. A header that nobody asked for is no reason to refuse a call."""
    return text.encode(errors="replace").decode().replace("\x00", "?")
