"""Push: sends messages to browsers whose page may be closed, through the push services of their makers."""

from __future__ import annotations

import ssl
import time

from fairline.domain.push import PushKey, Subscription, encrypted
from fairline.errors import ServiceFailed
from fairline.keeper.delivery import Outcome
from fairline.keeper.outbound import send

KIND = "push"
#: The time that a push service has for its answer.
ANSWER_SECONDS = 10.0
#: The pause before a push service that is busy or away is asked again.
AGAIN_SECONDS = 30.0
#: How long a push service keeps a message for a device that is off: by then the turn is over.
KEPT_SECONDS = 600


class Pusher:
    """Sends to push services. `tls` is for tests, whose push service has no trusted certificate."""

    def __init__(self, key: PushKey, contact: str, *, private: bool, tls: ssl.SSLContext | None = None) -> None:
        self._key = key
        self._contact = contact
        self._private = private
        self._tls = tls

    async def send(self, subscription: Subscription, message: bytes) -> Outcome:
        """Send one message. A subscription that has ended is forgotten; a push service that is busy is asked again."""
        headers = {
            "authorization": self._key.authorization(subscription.endpoint, time.time(), self._contact),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(KEPT_SECONDS),
            "urgency": "high",
        }
        body = encrypted(subscription, message)
        try:
            answer = await send(
                "POST",
                subscription.endpoint,
                headers=headers,
                body=body,
                seconds=ANSWER_SECONDS,
                private=self._private,
                tls=self._tls,
            )
        except ServiceFailed:
            return Outcome(sent=False, later=AGAIN_SECONDS)
        if answer.ok:
            return Outcome(sent=True)
        if answer.status == 429 or answer.status >= 500:
            return Outcome(sent=False, later=AGAIN_SECONDS)
        return Outcome(sent=False, overtaken=True)
