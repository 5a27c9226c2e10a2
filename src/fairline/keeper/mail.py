"""Mail: takes notices for those who left an address into an outbox, and hands them to the server of outgoing mail."""

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
from fairline.keeper.delivery import Outcome
from fairline.keeper.notices import NoticeWriter
from fairline.store import Delivery, NewDelivery

KIND = "mail"
#: The name of the outbox. Those of webhooks are their ids, in hexadecimal.
BOX = "mail"
#: What the server has for all of it, and then to say good-bye.
SECONDS = 15.0
GOODBYE_SECONDS = 2.0


class Mailer:
    """Hands mail to one server. `tls` is for tests, whose server nobody vouches for."""

    def __init__(self, relay: Relay, sender: str, tls: ssl.SSLContext | None = None) -> None:
        self._relay = relay
        self.sender = sender
        self._tls = tls

    async def send(self, letter: EmailMessage, seconds: float = SECONDS) -> Outcome:
        """Hand one over. A refusal for good (5xx) is final, but not one of our name and password: that is mended."""
        client = self._client(seconds)
        try:
            async with asyncio.timeout(seconds):
                await client.connect()
                await client.sendmail(parseaddr(self.sender)[1], [str(letter["To"])], letter.as_bytes())
        except aiosmtplib.SMTPRecipientsRefused as error:
            return _refused(error.recipients[0].code)
        except aiosmtplib.SMTPAuthenticationError as error:
            return Outcome(sent=False, error=f"our name and password were answered {error.code}")
        except aiosmtplib.SMTPResponseException as error:
            return _refused(error.code)
        except TimeoutError:
            return Outcome(sent=False, error=f"no answer within {seconds:g} s")
        except (aiosmtplib.SMTPException, ssl.SSLError, OSError) as error:
            return Outcome(sent=False, error=_trouble(error))
        finally:
            await _parted(client)
        return Outcome(sent=True)

    def _client(self, seconds: float) -> aiosmtplib.SMTP:
        relay = self._relay
        return aiosmtplib.SMTP(
            hostname=relay.host,
            port=relay.port,
            username=relay.user or None,
            password=relay.password or None,
            local_hostname=socket.gethostname(),  # the library would look our name up, and wait for it
            timeout=seconds,
            use_tls=relay.security is Security.TLS,
            start_tls=relay.security is Security.STARTTLS,
            tls_context=(self._tls or ssl.create_default_context()) if relay.security is not Security.NONE else None,
        )


async def _parted(client: aiosmtplib.SMTP) -> None:
    """Say good-bye, and go. What was taken stays taken, whatever is answered to that."""
    with contextlib.suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
        async with asyncio.timeout(GOODBYE_SECONDS):
            if client.is_connected:
                await client.quit()
    client.close()


def _refused(code: int) -> Outcome:
    # The words of the answer stay out of logs and listings: they have the address in them.
    return Outcome(sent=False, error=f"answered {code}", final=500 <= code < 600)


def _trouble(error: Exception) -> str:
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, ssl.SSLError):
            return f"no secure connection: {reason.reason or type(reason).__name__}"
        reason = reason.__cause__ or reason.__context__
    if type(error) is aiosmtplib.SMTPException:  # the library's own words: the server lacks STARTTLS, or signing in
        return f"the server cannot be used: {error.message}"
    return f"no connection: {type(error).__name__}"


class MailBox:
    """The outbox of mail, and how it is emptied."""

    kind = KIND
    id = BOX

    def __init__(self, mailer: Mailer, notice_writer: NoticeWriter) -> None:
        self._mailer = mailer
        self._notice_writer = notice_writer

    def covers(self, queue: QueueId) -> bool:
        """Every queue: its settings say what is told."""
        return True

    async def new_deliveries(self, queue: QueueId, events: Sequence[Event]) -> list[NewDelivery]:
        """The notices of events, to those who left an address."""
        return await self._notice_writer.new_deliveries(
            self.id, queue, events, lambda person: bool(person.email), whole=True
        )

    async def send(self, delivery: Delivery) -> Outcome:
        """Send one, if it is still true and not one too many."""
        notice = unpacked(delivery.payload)
        to = mailbox(notice.to.email) if notice.to and notice.to.email else ""
        unsent = await self._notice_writer.unsent(self.id, delivery, notice, to)
        return unsent or await self._mailer.send(message(notice, self._mailer.sender))
