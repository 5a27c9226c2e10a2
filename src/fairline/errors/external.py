"""Errors of the services that Fairline calls, such as the receiver of a webhook."""

from __future__ import annotations

from fairline.errors.base import FairlineError


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
