"""Mail: puts notices for people who left an e-mail address into an outbox, and sends them through the SMTP server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import parseaddr

import aiosmtplib

from fairline.domain.events import Event
from fairline.domain.mail import Relay, Security, mailbox, message
from fairline.domain.notices import unpacked
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Person
from fairline.keeper.delivery import Outcome
from fairline.keeper.notices import NoticeWriter
from fairline.store import Delivery, NewDelivery

KIND = "mail"
#: The name of the outbox. Those of webhooks are their ids, in hexadecimal.
BOX = "mail"
#: The time for sending one mail, and then for ending the connection.
SECONDS = 15.0
GOODBYE_SECONDS = 2.0


class Mailer:
    """Sends mail through one SMTP server. `tls` is for tests, whose server has no trusted certificate."""

    def __init__(self, relay: Relay, sender: str, tls: ssl.SSLContext | None = None) -> None:
        self._relay = relay
        self.sender = sender
        self._tls = tls

    async def send(self, mail: EmailMessage, seconds: float = SECONDS) -> Outcome:
        """Send one mail. A permanent refusal (5xx) is final, except of the user name and password: an operator can
        correct these."""
        client = self._client(seconds)
        try:
            async with asyncio.timeout(seconds):
                await client.connect()
                await client.sendmail(parseaddr(self.sender)[1], [str(mail["To"])], mail.as_bytes())
        except aiosmtplib.SMTPRecipientsRefused as error:
            return _refused(error.recipients[0].code)
        except aiosmtplib.SMTPAuthenticationError as error:
            return Outcome(sent=False, error=f"the server answered {error.code} to the user name and password")
        except aiosmtplib.SMTPResponseException as error:
            return _refused(error.code)
        except TimeoutError:
            return Outcome(sent=False, error=f"no answer within {seconds:g} s")
        except (aiosmtplib.SMTPException, ssl.SSLError, OSError) as error:
            return Outcome(sent=False, error=_connection_error(error))
        finally:
            await _quit(client)
        return Outcome(sent=True)

    def _client(self, seconds: float) -> aiosmtplib.SMTP:
        relay = self._relay
        return aiosmtplib.SMTP(
            hostname=relay.host,
            port=relay.port,
            username=relay.user or None,
            password=relay.password or None,
            local_hostname=socket.gethostname(),  # or the library looks up the name of this machine, which blocks
            timeout=seconds,
            use_tls=relay.security is Security.TLS,
            start_tls=relay.security is Security.STARTTLS,
            tls_context=(self._tls or ssl.create_default_context()) if relay.security is not Security.NONE else None,
        )


async def _quit(client: aiosmtplib.SMTP) -> None:
    """End the connection. A mail that the server accepted stays accepted, whatever it answers to QUIT."""
    with contextlib.suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
        async with asyncio.timeout(GOODBYE_SECONDS):
            if client.is_connected:
                await client.quit()
    client.close()


def _refused(code: int) -> Outcome:
    # The text of the answer stays out of logs and listings because it contains the address.
    return Outcome(sent=False, error=f"answered {code}", final=500 <= code < 600)


def _connection_error(error: Exception) -> str:
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, ssl.SSLError):
            return f"no secure connection: {reason.reason or type(reason).__name__}"
        reason = reason.__cause__ or reason.__context__
    if type(error) is aiosmtplib.SMTPException:  # a message of the library: the server lacks STARTTLS or AUTH
        return f"the server cannot be used: {error.message}"
    return f"no connection: {type(error).__name__}"


class MailBox:
    """The outbox of mail."""

    kind = KIND
    id = BOX

    def __init__(self, mailer: Mailer, notice_writer: NoticeWriter) -> None:
        self._mailer = mailer
        self._notice_writer = notice_writer

    def covers(self, queue: QueueId) -> bool:
        """True for every queue: the settings of a queue say which notices it sends."""
        return True

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """The notices for some events to people who left an e-mail address."""
        return await self._notice_writer.new_deliveries(self.id, queue, events, _reachable, whole=True)

    async def send(self, delivery: Delivery) -> Outcome:
        """Send one notice, unless it is no longer true or its recipient has received too many."""
        if outcome := await self._notice_writer.take_step(self.id, delivery, _reachable, whole=True):
            return outcome
        notice = unpacked(delivery.payload)
        to = mailbox(notice.to.email) if notice.to and notice.to.email else ""
        unsent = await self._notice_writer.unsent(self.id, delivery, notice, to)
        return unsent or await self._mailer.send(message(notice, self._mailer.sender))


def _reachable(person: Person) -> bool:
    return bool(person.email)
