"""Every error Fairline raises, in one tree.

    FairlineError
    ├── Invalid                   what was asked cannot be right
    │   ├── InvalidRequest          a field of a call
    │   └── InvalidSettings         a field of a queue's or the server's settings
    ├── NotFound
    │   ├── QueueNotFound
    │   ├── TicketNotFound
    │   ├── PriorityPassNotFound
    │   ├── RevisionNotFound
    │   ├── KeyNotFound
    │   ├── WebhookNotFound
    │   └── DeliveryNotFound
    ├── Refused                   right in itself, but not now or not for you
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
    │   ├── LastAdminKey
    │   ├── TooManyWebhooks
    │   ├── MailNotSetUp
    │   └── RateLimited                     (a retry helps, after `retry_after`)
    │       └── TooManyStreams
    ├── TokenError
    │   ├── TokenMissing
    │   ├── TokenInvalid
    │   ├── TokenMoved
    │   └── TokenExpired
    ├── KeyMissing                an operator's call without an admin key
    ├── KeyInvalid
    ├── SignedOut
    ├── CrossSite
    ├── Forbidden                 the admin key does not allow the call
    ├── ServiceFailed             someone else's service did not answer as it should
    │   └── AddressRefused          it is not to be called at all
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

The gate of a site has errors of its own below FairlineError, in `fairline.gate.errors`.

A message says what was wrong, what was found, and what to do next. `code` is what programs branch on and never changes;
`retry_after` is set, in seconds, where trying the same again can help.
"""

from __future__ import annotations

from typing import ClassVar


class FairlineError(Exception):
    """The root of all errors Fairline raises on purpose."""

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
    """Something named in a call is not there."""

    code = "not_found"


class QueueNotFound(NotFound):
    """No queue has this name."""

    code = "queue_not_found"

    def __init__(self, queue: str) -> None:
        super().__init__(f"There is no queue {queue!r}. Create it, or check the name.")
        self.queue = queue


class TicketNotFound(NotFound):
    """No ticket has this number, or its record has been purged."""

    code = "ticket_not_found"

    def __init__(self, queue: str, number: int) -> None:
        super().__init__(f"Queue {queue!r} has no ticket {number}: it was never given, or its record has been purged.")
        self.queue = queue
        self.number = number


class PriorityPassNotFound(NotFound):
    """No priority pass has this id."""

    code = "pass_not_found"

    def __init__(self, queue: str, pass_id: str) -> None:
        super().__init__(f"Queue {queue!r} has no priority pass {pass_id!r}: it was never issued, or it has ended.")


class RevisionNotFound(NotFound):
    """The settings were never at this version, or it is not kept any more."""

    code = "revision_not_found"

    def __init__(self, queue: str, version: int) -> None:
        super().__init__(
            f"The history of queue {queue!r} has no version {version}: the settings were never at it, or that is "
            "too long ago. Read the history to see which there are."
        )


class KeyNotFound(NotFound):
    """No admin key has this id."""

    code = "key_not_found"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no admin key {key_id!r}. List them to see the ids.")


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


class Refused(FairlineError):
    """A call that is right in itself and is refused as things stand."""

    code = "refused"


class QueueExists(Refused):
    """A queue of this name is there already."""

    code = "queue_exists"

    def __init__(self, queue: str) -> None:
        super().__init__(f"There is a queue {queue!r} already. Change its settings, or choose another name.")


class QueueFull(Refused):
    """The line is as long as `max_queue_size` allows."""

    code = "queue_full"

    def __init__(self, queue: str, waiting: int, retry_after: float = 30) -> None:
        super().__init__(
            f"Queue {queue!r} is full ({waiting:,} waiting). Try again in {retry_after:g} s, or raise max_queue_size.",
            retry_after=retry_after,
        )


class QueueMaintenance(Refused):
    """The queue takes nobody while it is in maintenance."""

    code = "queue_maintenance"

    def __init__(self, queue: str, retry_after: float = 60) -> None:
        super().__init__(
            f"Queue {queue!r} is in maintenance and takes nobody now. Try again in {retry_after:g} s.",
            retry_after=retry_after,
        )


class QueueClosed(Refused):
    """The queue takes nobody outside of its opening hours, nor whoever could not be served before it closes."""

    code = "queue_closed"

    def __init__(
        self, queue: str, *, early: bool = False, opens_at: int | None = None, retry_after: float = 60
    ) -> None:
        found = "takes nobody any more today: the line is as long as can be served" if early else "is closed"
        super().__init__(f"Queue {queue!r} {found}. Come back when it opens again.", retry_after=retry_after)
        self.early = early
        self.opens_at = opens_at
        """When it opens, in milliseconds since 1970; None where that is not known."""


class QueuePaused(Refused):
    """A queue that is not active calls nobody, not even by hand."""

    code = "queue_paused"

    def __init__(self, queue: str, status: str) -> None:
        super().__init__(f"Queue {queue!r} is {status}, so nobody can be called. Set its status to active first.")


class AtCapacity(Refused):
    """Nobody can be called while the inside is full or sold out."""

    code = "at_capacity"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"There is no room inside queue {queue!r}. Wait until someone is done, or raise max_active or the stock.",
            retry_after=5,
        )


class AlreadyInLine(Refused):
    """The named person holds a ticket, and the caller has not proved to be that person."""

    code = "already_in_line"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Someone with these details is in queue {queue!r} already. "
            "Come back with the same browser or client_id to get that place again."
        )


class HolderInLine(AlreadyInLine):
    """Whoever holds this ticket, or is to hold it, has another one in the same queue."""

    def __init__(self, queue: str) -> None:
        Refused.__init__(self, f"They have another place in queue {queue!r} already. Use that one, or end it first.")


class PassInvalid(Refused):
    """A priority pass that is forged, ended, used up, withdrawn, or for another queue."""

    code = "pass_invalid"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The priority pass cannot be used: {problem}. Join without it, or ask for a new one.")


class UserTokenMissing(Refused):
    """A join that does not prove whose it is, where the queue takes no other."""

    code = "user_token_missing"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Queue {queue!r} takes nobody whose site does not say who they are. Come by the link of the site, which "
            "sends a signed 'user_token'."
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
    """The same idempotency key came with another body."""

    code = "idempotency_conflict"

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before with another body. Use a new key for a new request, "
            "or send the same body again."
        )


class TransitionRefused(Refused):
    """The ticket is in a state from which this action does not lead anywhere."""

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
        super().__init__("This pass is in use by another browser. Go back to the one that started it, or join again.")


class SettingsChanged(Refused):
    """Someone else changed the settings since they were read."""

    code = "settings_changed"

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"The settings are at version {found}, not {expected}. Read them again, then change them.")
        self.found = found


class LastAdminKey(Refused):
    """Nobody would be left who can make keys."""

    code = "last_admin_key"

    def __init__(self) -> None:
        super().__init__("This is the last key with the role admin. Make another one first, then remove this one.")


class TooManyWebhooks(Refused):
    """As many webhooks as are looked after."""

    code = "too_many_webhooks"

    def __init__(self, most: int) -> None:
        super().__init__(f"There are {most} webhooks already, which is the most. Remove one that is not needed first.")


class MailNotSetUp(Refused):
    """Mail is to be sent, and there is no server for it."""

    code = "mail_not_set_up"

    def __init__(self) -> None:
        super().__init__("This server sends no mail. Set smtp_url and mail_from, and start it again.")


class RateLimited(Refused):
    """Too many calls of one kind by one address, phone, e-mail address, user or token."""

    code = "rate_limited"

    def __init__(self, who: str, retry_after: float) -> None:
        named = "e-mail address" if who == "email" else who
        super().__init__(
            f"Too many tries from this {named}. Try again in {retry_after:.0f} s.", retry_after=retry_after
        )
        self.who = who


class TooManyStreams(RateLimited):
    """As many open streams as a ticket, an address or a server may have."""

    def __init__(self, who: str, most: int, retry_after: float = 30) -> None:
        Refused.__init__(
            self,
            f"This {who} has {most:,} open streams already, which is the most. Close one, or do without: send "
            f"heartbeats, or ask for the board every few seconds. A stream can be tried again in {retry_after:g} s.",
            retry_after=retry_after,
        )
        self.who = who


class TokenError(FairlineError):
    """A token that does not open what was asked for."""

    code = "token_invalid"


class TokenMissing(TokenError):
    """No token came with the call."""

    code = "token_missing"

    def __init__(self) -> None:
        super().__init__("This call needs a token. Send the one you were given as 'Authorization: Bearer …'.")


class TokenInvalid(TokenError):
    """A token that is malformed, forged, of another kind or for another place."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The token cannot be used: {problem}. Join again to get a new one.")


class TokenMoved(TokenError):
    """The ticket has gone on to another device: this one's token is of no use any more."""

    code = "token_moved"

    def __init__(self) -> None:
        super().__init__("This place was moved to another device. Use it there, or move it back from there.")


class TokenExpired(TokenError):
    """A token past its time; the place may well be there still."""

    code = "token_expired"

    def __init__(self) -> None:
        super().__init__("The token has expired. Join again to get a new one: your place is kept while it lives.")


class KeyMissing(FairlineError):
    """No admin key came with the call."""

    code = "key_missing"

    def __init__(self) -> None:
        super().__init__("This call needs an admin key. Send it as 'Authorization: Bearer …'.")


class KeyInvalid(FairlineError):
    """The key is none of this server's, or was taken away."""

    code = "key_invalid"

    def __init__(self) -> None:
        super().__init__(
            "This admin key is not valid. Make one with 'fairline keys create', or check for a typing error."
        )


class SignedOut(FairlineError):
    """The session of the dashboard is over."""

    code = "signed_out"

    def __init__(self) -> None:
        super().__init__("You are signed out: the session is over, or its key was taken away. Sign in at /admin.")


class CrossSite(FairlineError):
    """A call without a key of its own did not come from the dashboard."""

    code = "cross_site"

    def __init__(self) -> None:
        super().__init__(
            "This call came without an admin key, and not from the dashboard. Programs send their key as "
            "'Authorization: Bearer …'; behind a proxy, set public_url, or see that it hands on the Host header."
        )


class Forbidden(FairlineError):
    """The key allows less than this call needs."""

    code = "forbidden"

    def __init__(self, has: str, needs: str) -> None:
        super().__init__(f"This key has the role {has}; this call needs the role {needs}. Ask for another key.")


class ServiceFailed(FairlineError):
    """A service of someone else's did not answer as it should. The message is short, and has nothing of what it
    answered."""

    code = "service_failed"


class AddressRefused(ServiceFailed):
    """An address inside the house, which nobody outside may make us call."""

    code = "address_refused"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host!r:.80} leads to a private address. If that is meant, set webhook_private_addresses to allow."
        )


class StoreError(FairlineError):
    """The store could not do its part."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store did not answer. What was asked may or may not have been done; asking again with the same
    client id or idempotency key is safe."""

    code = "store_unavailable"

    def __init__(self, problem: str, retry_after: float = 2) -> None:
        super().__init__(
            f"The store is away: {problem.rstrip('.')}. Try again in {retry_after:g} s.", retry_after=retry_after
        )


class StoreOverloaded(StoreError):
    """More calls wait for the store than the bound allows; this one was not sent."""

    code = "store_overloaded"

    def __init__(self, waiting: int, retry_after: float = 1) -> None:
        super().__init__(
            f"{waiting:,} calls wait for the store already; this one was not made. Try again in {retry_after:g} s.",
            retry_after=retry_after,
        )


class StoreFolderInUse(StoreError):
    """Another running Fairline keeps its embedded store in this folder."""

    code = "store_folder_in_use"

    def __init__(self, folder: str, pid: int | None) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(
            f"The data folder {folder} is in use by {owner}. Stop it first, or choose another folder with --data."
        )


class StoreFolderUnfit(StoreError):
    """No embedded store can be kept in this folder; `problem` says why, and `advice` what to do."""

    code = "store_folder_unfit"

    def __init__(self, folder: str, problem: str, advice: str) -> None:
        super().__init__(f"The data folder cannot be {folder}: {problem}. {advice}")
        self.problem = problem
        self.advice = advice


class StoreNotSupported(StoreError):
    """The address or the server behind it is not one Fairline can use."""

    code = "store_not_supported"


class ServerUnreachable(FairlineError):
    """No server answers where it should."""

    code = "server_unreachable"


class ServerRefused(FairlineError):
    """The server answered with a problem."""

    code = "server_refused"


class NotReady(FairlineError):
    """A server answers, and cannot serve as it should."""

    code = "not_ready"


class NoPicture(FairlineError):
    """The picture cannot be drawn or written."""

    code = "no_picture"
