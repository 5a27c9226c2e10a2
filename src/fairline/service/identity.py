"""Who people are, as far as it is kept: enough to know them again, and nothing to read it from."""

from __future__ import annotations

import hmac
import time
from functools import lru_cache, partial
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
    InvalidRequest,
    PassInvalid,
    TokenError,
    UserTokenInvalid,
    UserTokenMissing,
)
from fairline.store import Arrival

_fingerprint = msgspec.json.Encoder(order="deterministic").encode


class Identity:
    """Turns what people tell, and what is seen of them, into what the store keeps."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self.users = UserTokens(keyring)
        self._begun = lru_cache(maxsize=32)(partial(_begun, keyring.digest_key))
        # Whoever is inside comes again with every page, and many come from one address.
        half = SHARES["digests"] // 2
        self.session = cached(half, self._session)
        self._address = cached(half, self._address_digest)

    def _session(self, by: str) -> bytes:
        """Who comes to a session: what it is told with, part by part (see fairline.store.Visitor)."""
        return b"".join(self.digest("session", part) for part in by.split(" "))

    def is_client(self, client_id: str, digest: str) -> bool:
        """Whether a client id has a digest that begins so."""
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
        """Someone who wants to join, as the store is told of them; `missing` is a required field they left out."""
        address = self._address((caller.address, ipv6_prefix))
        return Arrival(
            client=self.digest("client", request.client_id or caller.visitor),
            user=self.digest("user", request.user_id) if request.user_id else b"",
            phone=self.digest("phone", request.phone) if request.phone else b"",
            email=self.mailbox(request.email) if request.email else b"",
            address=address,
            key=self.key(request.idempotency_key, _bound_to(request, caller)),
            fingerprint=_form_or_body(request, caller) if request.idempotency_key else b"",
            priority=caller.priority,
            pass_id=self._pass_id(queue, request.priority_pass) if request.priority_pass else "",
            limited=caller.staff is None,
            through=through,
            series=request.series or "",
            missing=missing,
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
        """A join under the name that the site has signed, where it has; and why it cannot be believed, if so. A cookie
        that is of no use does no harm where none is required."""
        token, said = request.user_token or caller.user_token, msgspec.structs.replace(request, user_token=None)
        problem: FairlineError | None = UserTokenMissing(queue) if required else None
        if token is not None:
            try:
                user = self.users.user(queue, token, time.time())
                if said.user_id in (None, user):
                    return msgspec.structs.replace(said, user_id=user), None
                raise UserTokenInvalid("it is for another user than user_id says")
            except FairlineError as error:
                problem = error if required or request.user_token is not None else None
        return msgspec.structs.replace(said, user_id=None) if problem else said, problem

    def transferred(self, queue: QueueId, ticket: Ticket, priority: int, after: int = 0) -> Arrival:
        """Someone who comes from another queue: the same person, by a key that only this transfer has. Put aside until
        they are out of the line they come from. `after` is the ticket they had there by an earlier try that came to
        nothing."""
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
            raise PassInvalid(f"it is forged, damaged or over ({error.code})") from None
        if claims.queue != queue:
            raise PassInvalid("it is for another queue")
        return claims.id

    def visitor(self, key: str, seen: str) -> str:
        """The secret for a browser that has none and comes with an idempotency key: the same for the same call made
        again by the same browser at the same address, since the first answer may have been lost with its cookie."""
        return self.digest("visitor", f"{seen}\n{key}").hex()

    def key(self, key: str | None, caller: str) -> bytes:
        """An idempotency key counts for its caller alone: nobody can be answered by another's."""
        if key is not None and not 1 <= len(key) <= 200:
            raise InvalidRequest("idempotency_key", "must be text of 1 to 200 characters")
        return self.digest("key", f"{caller}\n{key}") if key else b""

    def mailbox(self, address: str) -> bytes:
        """What is kept to count mail to one mailbox."""
        return self.digest("mailbox", mailbox(address))

    def _address_digest(self, counted: tuple[str | None, int]) -> bytes:
        return self.digest("address", counted_address(*counted))

    def digest(self, kind: str, text: str | None) -> bytes:
        """What is kept of a secret or an address: enough to know it again, nothing to read it from."""
        if not text:
            return b""
        digest = self._begun(kind).copy()  # what is done with the key alone is done once
        digest.update(text.encode(errors="replace"))
        return digest.digest()


def _bound_to(request: JoinRequest, caller: Caller) -> str:
    """Whose idempotency key it is: a weak one must hand nobody the token of someone else. That of a form is made by us
    and too long to be guessed: it counts also where the cookies were lost."""
    if caller.staff is not None:
        return caller.staff
    if caller.form:
        return "form"
    client = request.client_id or caller.visitor
    return f"client\n{client}" if client else ""


def _begun(key: bytes, kind: str) -> blake2b:
    return blake2b(digest_size=12, key=key, person=kind.encode())


def _form_or_body(request: JoinRequest, caller: Caller) -> bytes:
    """What the same key has to come with again. A form that is sent again is the same, also where someone went back and
    wrote something else into it: one person, one ticket."""
    if caller.form:
        return b"form"
    body = (msgspec.structs.replace(request, idempotency_key=None), caller.priority)
    return blake2b(_fingerprint(body), digest_size=8).digest()


def _language(request: JoinRequest, caller: Caller) -> str | None:
    """The language of a person; the first one is not written, since most have it or say nothing."""
    wanted = spoken(request.language) if request.language else caller.language
    return None if wanted == LANGUAGES[0] else wanted


def _storable(text: str) -> str:
    """What came with a call unasked is not refused, only made such that every store can keep it."""
    return text.encode(errors="replace").decode().replace("\x00", "?")
