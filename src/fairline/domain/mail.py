"""E-mail: checks of addresses, the settings of the outgoing mail server, and notices as messages."""

from __future__ import annotations

import html
import re
import secrets
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from enum import StrEnum
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from fairline.domain.branding import LANGUAGES
from fairline.domain.notices import Notice
from fairline.domain.notices.words import direction, words
from fairline.errors import InvalidRequest, InvalidSettings

LONGEST_ADDRESS = 254
#: The addresses that every mail server accepts. Characters with a meaning in a header are excluded, even if quoted.
_ADDRESS = re.compile(
    r"(?=[^@]{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?",
    re.ASCII,
)
#: The domains of a mail service that ignores dots before the @.
_WITHOUT_DOTS = ("gmail.com", "googlemail.com")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def is_address(text: str) -> bool:
    """Whether the text is an address that mail can be sent to."""
    return len(text) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None


def checked_address(text: str, field: str = "email") -> str:
    """Return the address without surrounding spaces, or raise InvalidRequest that says what to type."""
    address = text.strip()
    if not is_address(address):
        raise InvalidRequest(field, f"must be an e-mail address such as ada@example.com; got {text!r:.80}")
    return address


def mailbox(address: str) -> str:
    """The mailbox that an address delivers to, by which limits count it. It is the same for the usual spellings of one
    address, and for the spellings that a stranger could invent without limit."""
    local, _, domain = address.lower().rpartition("@")
    local = local.partition("+")[0] or local
    if domain in _WITHOUT_DOTS:
        local, domain = local.replace(".", ""), _WITHOUT_DOTS[0]
    return f"{local}@{domain}"


class Security(StrEnum):
    """How a connection is encrypted: from the first byte, after STARTTLS, or not at all."""

    TLS = "tls"
    STARTTLS = "starttls"
    NONE = "none"


class Relay(Struct, frozen=True, kw_only=True):
    """The server for outgoing mail."""

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = ""


def relay_of(url: str) -> Relay:
    """Read the mail server from `smtp_url`, or raise InvalidSettings, which never shows the password."""
    like = "must be like smtp://user:password@mail.example:587 or smtps://mail.example"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidSettings("smtp_url", like) from None
    if not host or parts.scheme not in {"smtp", "smtps"} or parts.path not in {"", "/"} or parts.fragment:
        raise InvalidSettings("smtp_url", like)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    starttls = options.pop("starttls", "required")
    if options or starttls not in {"required", "no"} or (parts.scheme == "smtps" and parts.query):
        raise InvalidSettings(
            "smtp_url", "may end with ?starttls=required (the default) or ?starttls=no, and only after smtp://"
        )
    security = Security.TLS if parts.scheme == "smtps" else Security.STARTTLS
    if starttls == "no":
        security = Security.NONE
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if user and security is Security.NONE and host not in _LOOPBACK:
        raise InvalidSettings("smtp_url", "would send the password where others can read it: leave out ?starttls=no")
    default_port = 465 if security is Security.TLS else 587
    return Relay(host=host, port=port or default_port, security=security, user=user, password=password)


def check_sender(text: str) -> None:
    """Raise InvalidSettings if `mail_from` is not a valid sender."""
    _, address = parseaddr(text)
    if not is_address(address) or not text.isprintable():
        raise InvalidSettings(
            "mail_from", f"must be an address such as 'The Shop <line@shop.example>' or line@shop.example; got {text!r}"
        )


def message(notice: Notice, sender: str) -> EmailMessage:
    """Build the e-mail for a notice, in plain text and HTML. Each attempt builds the same message."""
    to, language = (notice.to.email, notice.to.language) if notice.to else (None, LANGUAGES[0])
    mail = _envelope(notice.id, sender, to or "", notice.subject, notice.at)
    mail.set_content(f"{notice.text}\n")
    mail.add_alternative(_html(notice, language), subtype="html")
    mail["Content-Language"] = language  # set after the parts, or the header would move to the first part
    return mail


def trial_message(to: str, sender: str) -> EmailMessage:
    """Build a test message, to check that mail arrives."""
    mail = _envelope(secrets.token_hex(16), sender, to, "A test of Fairline", datetime.now(UTC))
    mail.set_content("This is a test. Notices of your queues will come the same way.\n")
    return mail


def _envelope(message_id: str, sender: str, to: str, subject: str, at: datetime) -> EmailMessage:
    name, address = parseaddr(sender)
    local, _, domain = address.rpartition("@")
    mail = EmailMessage(policy=SMTP.clone(cte_type="7bit"))  # every mail server accepts 7 bit
    mail["From"] = Address(display_name=name, username=local, domain=domain)
    mail["To"] = to
    mail["Subject"] = _one_line(subject)
    mail["Date"] = format_datetime(at)
    mail["Message-ID"] = f"<{message_id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    return mail


def _html(notice: Notice, language: str) -> str:
    text, link = notice.text, ""
    if notice.url:
        text = text.replace(notice.url, "").strip()
        link = f'<p><a href="{html.escape(notice.url)}">{html.escape(words(language)["link"])}</a></p>\n'
    return (
        f'<!doctype html>\n<html lang="{language}" dir="{direction(language)}">\n<meta charset="utf-8">\n'
        f"<title>{html.escape(notice.subject)}</title>\n"
        '<body style="font: 16px/1.5 sans-serif; margin: 24px">\n'
        f'<p style="font-size: 28px; margin: 0 0 12px"><strong>{html.escape(notice.label)}</strong></p>\n'
        f"<p>{html.escape(text)}</p>\n{link}</body>\n</html>\n"
    )


def _one_line(text: str) -> str:
    """Make a header one line, whatever characters the name of the queue has."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
