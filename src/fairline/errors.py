"""The errors that Fairline raises, in one tree.

    FairlineError
    ├── Invalid                   a value that can never be accepted
    │   ├── InvalidRequest          a field of a call
    │   └── InvalidSettings         a field of a queue's or the server's settings
    ├── NotFound
    │   ├── QueueNotFound
    │   ├── TicketNotFound
    │   ├── PriorityPassNotFound
    │   ├── RevisionNotFound
    │   ├── WebhookNotFound
    │   ├── DeliveryNotFound
    │   └── KeyNotFound
    ├── Refused                   a valid call that is refused now, or to this caller
    │   ├── QueueExists
    │   ├── QueueFull                       (a retry may help)
    │   ├── QueueMaintenance                (a retry may help)
    │   ├── QueueClosed                     (a retry helps, once it opens)
    │   ├── QueuePaused
    │   ├── AtCapacity                      (a retry may help)
    │   ├── AlreadyInLine
    │   │   └── HolderInLine
    │   ├── PassInvalid
    │   ├── UserTokenMissing
    │   ├── UserTokenInvalid
    │   ├── UserTokenExpired
    │   ├── IdempotencyConflict
    │   ├── TransitionRefused
    │   ├── TicketExpired
    │   ├── SessionTaken
    │   ├── SettingsChanged
    │   ├── TooManyWebhooks
    │   ├── MailNotSetUp
    │   ├── LastAdminKey
    │   └── RateLimited                     (a retry helps, after `retry_after`)
    │       └── TooManyStreams
    ├── KeyMissing                a call of an operator without an admin key
    ├── KeyInvalid
    ├── SignedOut
    ├── CrossSite
    ├── Forbidden                 the admin key does not allow the call
    ├── TokenError
    │   ├── TokenMissing
    │   ├── TokenInvalid
    │   ├── TokenMoved
    │   └── TokenExpired
    ├── ServiceFailed             an external service did not answer as it should
    │   └── AddressRefused          its address must not be called
    ├── StoreError
    │   ├── StoreUnavailable                (a retry helps)
    │   ├── StoreOverloaded                 (a retry helps)
    │   ├── StoreFolderInUse
    │   ├── StoreFolderUnfit
    │   └── StoreNotSupported
    ├── ServerUnreachable         from here on, errors of the commands
    ├── ServerRefused
    ├── NotReady
    └── NoPicture

The gate of a site has errors of its own, derived from FairlineError, in `fairline.gate.errors`.

A message says what was wrong, what was found, and what to do next. `code` is for programs and never changes.
`retry_after` is set, in seconds, if trying the same call again can help.
"""

from __future__ import annotations

from typing import ClassVar


class FairlineError(Exception):
    """The base class of all errors that Fairline raises on purpose."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class Invalid(FairlineError):
    """A value that can never be accepted; `field` names it."""

    code = "invalid_request"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem


class InvalidRequest(Invalid):
    """A field of a call."""


class InvalidSettings(Invalid):
    """A field of a queue's or the server's settings."""

    code = "invalid_settings"


class NotFound(FairlineError):
    """Something named in a call does not exist."""

    code = "not_found"


class QueueNotFound(NotFound):
    """No queue has this id."""

    code = "queue_not_found"

    def __init__(self, queue: str) -> None:
        super().__init__(f"There is no queue {queue!r}. Create it, or check the name.")
        self.queue = queue


class TicketNotFound(NotFound):
    """No ticket has this number, or its record has been purged."""

    code = "ticket_not_found"

    def __init__(self, queue: str, number: int) -> None:
        super().__init__(f"Queue {queue!r} has no ticket {number}: it never existed, or its record has been purged.")
        self.queue = queue
        self.number = number


class PriorityPassNotFound(NotFound):
    """No priority pass has this id."""

    code = "pass_not_found"

    def __init__(self, queue: str, pass_id: str) -> None:
        super().__init__(f"Queue {queue!r} has no priority pass {pass_id!r}: it was never issued, or it has ended.")


class RevisionNotFound(NotFound):
    """The settings never had this version, or it is too old."""

    code = "revision_not_found"

    def __init__(self, queue: str, version: int) -> None:
        super().__init__(
            f"The history of queue {queue!r} has no version {version}: the settings never had it, or it is too old. "
            "Read the history to see the versions."
        )


class WebhookNotFound(NotFound):
    """No webhook has this id."""

    code = "webhook_not_found"

    def __init__(self, hook_id: str) -> None:
        super().__init__(f"There is no webhook {hook_id!r:.80}. List them to see the ids.")


class DeliveryNotFound(NotFound):
    """No dead letter has this id."""

    code = "delivery_not_found"

    def __init__(self, delivery_id: str) -> None:
        super().__init__(
            f"There is no dead letter {delivery_id!r:.80}: it was replayed already, or it is too old. List them to see."
        )


class KeyNotFound(NotFound):
    """No admin key has this id."""

    code = "key_not_found"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no admin key {key_id!r}. List them to see the ids.")


class Refused(FairlineError):
    """A valid call that is refused in the present state, or to this caller."""

    code = "refused"


class QueueExists(Refused):
    """A queue with this id exists already."""

    code = "queue_exists"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Queue {queue!r} exists already. Change its settings, or choose another name.")


class QueueFull(Refused):
    """The line is as long as `max_queue_size` allows."""

    code = "queue_full"

    def __init__(self, queue: str, waiting: int, retry_after: float = 30) -> None:
        super().__init__(
            f"Queue {queue!r} is full ({waiting:,} waiting). Try again in {retry_after:g} s, or raise max_queue_size.",
            retry_after=retry_after,
        )


class QueueMaintenance(Refused):
    """The queue accepts nobody while it is in maintenance."""

    code = "queue_maintenance"

    def __init__(self, queue: str, retry_after: float = 60) -> None:
        super().__init__(
            f"Queue {queue!r} is in maintenance and accepts nobody now. Try again in {retry_after:g} s.",
            retry_after=retry_after,
        )


class QueueClosed(Refused):
    """The queue accepts nobody outside its opening hours, and nobody who could not be served before it closes."""

    code = "queue_closed"

    def __init__(
        self, queue: str, *, early: bool = False, opens_at: int | None = None, retry_after: float = 60
    ) -> None:
        problem = "accepts nobody else today: the line is as long as can be served" if early else "is closed"
        super().__init__(f"Queue {queue!r} {problem}. Come back when it opens again.", retry_after=retry_after)
        self.early = early
        self.opens_at = opens_at
        """When it opens, in milliseconds since 1970; None if that is not known."""


class QueuePaused(Refused):
    """Nobody can be called while the queue is not active, not even by staff."""

    code = "queue_paused"

    def __init__(self, queue: str, status: str) -> None:
        super().__init__(f"Queue {queue!r} is {status}, so nobody can be called. Set its status to active first.")


class AtCapacity(Refused):
    """Nobody can be called while the inside is full or sold out."""

    code = "at_capacity"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Queue {queue!r} has no free capacity inside. Wait until someone is done, or raise max_active or the "
            "stock.",
            retry_after=5,
        )


class AlreadyInLine(Refused):
    """The person has a ticket, and the caller has not proved to be this person."""

    code = "already_in_line"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Someone with these details is already in queue {queue!r}. "
            "Use the same browser or client_id to come back to that place."
        )


class HolderInLine(AlreadyInLine):
    """The person who holds or would get this ticket already has another one in the same queue."""

    def __init__(self, queue: str) -> None:
        Refused.__init__(self, f"They already have another place in queue {queue!r}. Use that one, or end it first.")


class PassInvalid(Refused):
    """A priority pass that is forged, ended, used up, withdrawn, or for another queue."""

    code = "pass_invalid"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The priority pass cannot be used: {problem}. Join without it, or ask for a new one.")


class UserTokenMissing(Refused):
    """The queue requires a user token, and the join has none."""

    code = "user_token_missing"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Queue {queue!r} only accepts people with a signed 'user_token' of the site. Use the link on the site, "
            "which sends one."
        )


class UserTokenInvalid(Refused):
    """A user token that is forged, damaged or for another queue, or for another user than the join says."""

    code = "user_token_invalid"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The user_token cannot be used: {problem}. Have the site sign another one.")


class UserTokenExpired(Refused):
    """A user token past its time."""

    code = "user_token_expired"

    def __init__(self) -> None:
        super().__init__("The user_token has expired. Have the site sign another one.")


class IdempotencyConflict(Refused):
    """The same idempotency key was sent with another body."""

    code = "idempotency_conflict"

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before with another body. Use a new key for a new request, "
            "or send the same body again."
        )


class TransitionRefused(Refused):
    """The state of the ticket does not allow this action."""

    code = "transition_refused"

    def __init__(self, action: str, found: str, reason: str | None = None) -> None:
        why = f" ({reason.replace('_', ' ')})" if reason else ""
        super().__init__(f"Cannot {action.replace('_', ' ')} a ticket that is {found.replace('_', ' ')}{why}.")
        self.action = action
        self.found = found


class TicketExpired(Refused):
    """The place is gone for good."""

    code = "ticket_expired"

    def __init__(self, reason: str) -> None:
        super().__init__(f"This place is gone ({reason.replace('_', ' ')}). Join again to get a new one.")
        self.reason = reason


class SessionTaken(Refused):
    """The session was started by another client."""

    code = "session_taken"

    def __init__(self) -> None:
        super().__init__("This session is in use by another browser. Continue in that browser, or join again.")


class SettingsChanged(Refused):
    """Someone else changed the settings since they were read."""

    code = "settings_changed"

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"The settings are at version {found}, not {expected}. Read them again, then change them.")
        self.found = found


class TooManyWebhooks(Refused):
    """The server has the largest allowed number of webhooks."""

    code = "too_many_webhooks"

    def __init__(self, most: int) -> None:
        super().__init__(f"There are {most} webhooks already, which is the limit. Remove one that is not needed first.")


class MailNotSetUp(Refused):
    """Mail cannot be sent, because no mail server is configured."""

    code = "mail_not_set_up"

    def __init__(self) -> None:
        super().__init__("This server cannot send mail. Set smtp_url and mail_from, and restart it.")


class LastAdminKey(Refused):
    """Without this key, nobody could create keys any more."""

    code = "last_admin_key"

    def __init__(self) -> None:
        super().__init__("This is the last key with the role admin. Create another one first, then remove this one.")


class RateLimited(Refused):
    """Too many calls of one kind from one address, phone, e-mail address, user or token."""

    code = "rate_limited"

    def __init__(self, who: str, retry_after: float) -> None:
        named = "e-mail address" if who == "email" else who
        super().__init__(
            f"Too many tries from this {named}. Try again in {retry_after:.0f} s.", retry_after=retry_after
        )
        self.who = who


class TooManyStreams(RateLimited):
    """The ticket, the address or the server has the largest allowed number of open streams."""

    def __init__(self, who: str, most: int, retry_after: float = 30) -> None:
        Refused.__init__(
            self,
            f"This {who} has {most:,} open streams already, which is the limit. Close one, or use no stream: send "
            f"heartbeats, or read the board every few seconds. Try a stream again in {retry_after:g} s.",
            retry_after=retry_after,
        )
        self.who = who


class KeyInvalid(FairlineError):
    """The admin key was never valid on this server, or it was removed."""

    code = "key_invalid"

    def __init__(self) -> None:
        super().__init__(
            "This admin key is not valid. Check it for typing errors, or create one with 'fairline keys create'."
        )


class Forbidden(FairlineError):
    """The role of the admin key does not allow this call."""

    code = "forbidden"

    def __init__(self, has: str, needs: str) -> None:
        super().__init__(f"This key has the role {has}; this call needs the role {needs}. Ask for another key.")


class KeyMissing(FairlineError):
    """The call came without an admin key."""

    code = "key_missing"

    def __init__(self) -> None:
        super().__init__("This call needs an admin key. Send it as 'Authorization: Bearer …'.")


class SignedOut(FairlineError):
    """The session of the dashboard is over."""

    code = "signed_out"

    def __init__(self) -> None:
        super().__init__("You are signed out: the session is over, or its key was removed. Sign in at /admin.")


class CrossSite(FairlineError):
    """A call without an admin key did not come from the dashboard."""

    code = "cross_site"

    def __init__(self) -> None:
        super().__init__(
            "This call came without an admin key, and not from the dashboard. Programs send their key as "
            "'Authorization: Bearer …'; behind a proxy, set public_url, or make the proxy pass on the Host header."
        )


class TokenError(FairlineError):
    """A token that does not give access to what was asked for."""

    code = "token_invalid"


class TokenMissing(TokenError):
    """The call has no token."""

    code = "token_missing"

    def __init__(self) -> None:
        super().__init__("This call needs a token. Send the token of your ticket as 'Authorization: Bearer …'.")


class TokenInvalid(TokenError):
    """A token that is malformed, forged, of another kind or for another place."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The token cannot be used: {problem}. Join again to get a new one.")


class TokenMoved(TokenError):
    """The ticket has moved to another device, so the token of this device is not valid any more."""

    code = "token_moved"

    def __init__(self) -> None:
        super().__init__("This place was moved to another device. Use it there, or move it back from there.")


class TokenExpired(TokenError):
    """The token has expired; the place may still exist."""

    code = "token_expired"

    def __init__(self) -> None:
        super().__init__("The token has expired. Join again to get a new one; if your place still exists, you keep it.")


class ServiceFailed(FairlineError):
    """An external service did not answer as it should. The message is short and does not contain its answer."""

    code = "service_failed"


class AddressRefused(ServiceFailed):
    """An address in a private network. Strangers must not be able to make the server call it."""

    code = "address_refused"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host!r:.80} leads to a private address. If that is intended, set webhook_private_addresses to allow."
        )


class StoreError(FairlineError):
    """The store failed or refused a call."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store did not answer. The call may or may not have been carried out; a retry with the same client id or
    idempotency key is safe."""

    code = "store_unavailable"

    def __init__(self, problem: str, retry_after: float = 2) -> None:
        super().__init__(
            f"The store is unavailable: {problem.rstrip('.')}. Try again in {retry_after:g} s.", retry_after=retry_after
        )


class StoreOverloaded(StoreError):
    """Too many calls wait for the store; this one was not sent."""

    code = "store_overloaded"

    def __init__(self, waiting: int, retry_after: float = 1) -> None:
        super().__init__(
            f"{waiting:,} calls are waiting for the store; this one was not sent. Try again in {retry_after:g} s.",
            retry_after=retry_after,
        )


class StoreFolderInUse(StoreError):
    """Another running Fairline process uses the embedded store in this folder."""

    code = "store_folder_in_use"

    def __init__(self, folder: str, pid: int | None) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"The data folder {folder} is in use by {owner}. Stop it first, or choose another folder with --data."
        )


class StoreFolderUnfit(StoreError):
    """This folder cannot be used for an embedded store; `problem` says why, and `advice` what to do."""

    code = "store_folder_unfit"

    def __init__(self, folder: str, problem: str, advice: str) -> None:
        super().__init__(f"The data folder {folder} cannot be used: {problem}. {advice}")
        self.problem = problem
        self.advice = advice


class StoreNotSupported(StoreError):
    """Fairline cannot use this store address, or the server behind it."""

    code = "store_not_supported"


class ServerUnreachable(FairlineError):
    """No server answers at the URL of a command."""

    code = "server_unreachable"


class ServerRefused(FairlineError):
    """The server answered with a problem."""

    code = "server_refused"


class NotReady(FairlineError):
    """A server answers, but it is not ready."""

    code = "not_ready"


class NoPicture(FairlineError):
    """The picture cannot be drawn or written."""

    code = "no_picture"
