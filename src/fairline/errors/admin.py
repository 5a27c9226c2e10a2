"""Errors that only operators meet: their keys, their dashboard, webhooks and mail."""

from __future__ import annotations

from fairline.errors.base import FairlineError, NotFound, Refused


class KeyMissing(FairlineError):
    """The call came without an admin key."""

    code = "key_missing"
    says = "This call needs an admin key. Send it as 'Authorization: Bearer …'."


class KeyInvalid(FairlineError):
    """The admin key was never valid on this server, or it was removed."""

    code = "key_invalid"
    says = "This admin key is not valid. Check it for typing errors, or create one with 'fairline keys create'."


class KeyNotFound(NotFound):
    """No admin key has this id."""

    code = "key_not_found"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no admin key {key_id!r}. List them to see the ids.")


class LastAdminKey(Refused):
    """Without this key, nobody could create keys any more."""

    code = "last_admin_key"
    says = "This is the last key with the role admin. Create another one first, then remove this one."


class SignedOut(FairlineError):
    """The session of the dashboard is over."""

    code = "signed_out"
    says = "You are signed out: the session is over, or its key was removed. Sign in at /admin."


class CrossSite(FairlineError):
    """A call without an admin key did not come from the dashboard."""

    code = "cross_site"
    says = (
        "This call came without an admin key, and not from the dashboard. Programs send their key as "
        "'Authorization: Bearer …'; behind a proxy, set public_url, or make the proxy pass on the Host header."
    )


class Forbidden(FairlineError):
    """The role of the admin key does not allow this call."""

    code = "forbidden"

    def __init__(self, has: str, needs: str) -> None:
        super().__init__(f"This key has the role {has}; this call needs the role {needs}. Ask for another key.")


class WebhookNotFound(NotFound):
    """No webhook has this id."""

    code = "webhook_not_found"

    def __init__(self, hook_id: str) -> None:
        super().__init__(f"There is no webhook {hook_id!r:.80}. List them to see the ids.")


class TooManyWebhooks(Refused):
    """The server has the largest allowed number of webhooks."""

    code = "too_many_webhooks"

    def __init__(self, most: int) -> None:
        super().__init__(f"There are {most} webhooks already, which is the limit. Remove one that is not needed first.")


class DeliveryNotFound(NotFound):
    """No dead letter has this id."""

    code = "delivery_not_found"

    def __init__(self, delivery_id: str) -> None:
        super().__init__(
            f"There is no dead letter {delivery_id!r:.80}: it was replayed already, or it is too old. List them to see."
        )


class MailNotSetUp(Refused):
    """Mail cannot be sent, because no mail server is configured."""

    code = "mail_not_set_up"
    says = "This server cannot send mail. Set smtp_url and mail_from, and restart it."
