"""E-mail: addresses checked, where the server of outgoing mail is, and a notice as a message."""

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
#: What every server of mail takes. Signs that mean something in a header are not among it, whatever stands before them.
_ADDRESS = re.compile(
    r"(?=[^@]{1,64}@)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?",
    re.ASCII,
)
#: The names of one mail service to which dots before the @ mean nothing.
_WITHOUT_DOTS = ("gmail.com", "googlemail.com")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def is_address(text: str) -> bool:
    """Whether mail can be sent there."""
    return len(text) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None


def checked_address(text: str, field: str = "email") -> str:
    """The address without space around it, or InvalidRequest that says what to type."""
    address = text.strip()
    if not is_address(address):
        raise InvalidRequest(field, f"must be an e-mail address such as ada@example.com; got {text!r:.80}")
    return address


def mailbox(address: str) -> str:
    """Where mail to an address ends up, by which limits count it: the same for all the ways to write it that are common
    or that a stranger can make up without end."""
    local, _, domain = address.lower().rpartition("@")
    local = local.partition("+")[0] or local
    if domain in _WITHOUT_DOTS:
        local, domain = local.replace(".", ""), _WITHOUT_DOTS[0]
    return f"{local}@{domain}"


class Security(StrEnum):
    """How a connection is kept from being read: from its first byte, once both have agreed on it, or not at all."""

    TLS = "tls"
    STARTTLS = "starttls"
    NONE = "none"


class Relay(Struct, frozen=True, kw_only=True):
    """The server that takes outgoing mail."""

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = ""


def relay_of(url: str) -> Relay:
    """The server that `smtp_url` names, or InvalidSettings that never shows the password."""
    like = "must be like smtp://user:password@mail.example:587 or smtps://mail.example"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidSettings("smtp_url", like) from None
    if not host or parts.scheme not in {"smtp", "smtps"} or parts.path not in {"", "/"} or parts.fragment:
        raise InvalidSettings("smtp_url", like)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    wanted = options.pop("starttls", "required")
    if options or wanted not in {"required", "no"} or (parts.scheme == "smtps" and parts.query):
        raise InvalidSettings(
            "smtp_url", "may end with ?starttls=required (as it is anyway) or ?starttls=no, after smtp:// alone"
        )
    security = Security.TLS if parts.scheme == "smtps" else Security.STARTTLS
    if wanted == "no":
        security = Security.NONE
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if user and security is Security.NONE and host not in _LOOPBACK:
        raise InvalidSettings("smtp_url", "would send the password where others can read it: leave out ?starttls=no")
    usual = 465 if security is Security.TLS else 587
    return Relay(host=host, port=port or usual, security=security, user=user, password=password)


def check_sender(text: str) -> None:
    """Refuse a `mail_from` that no message could come from."""
    _, address = parseaddr(text)
    if not is_address(address) or not text.isprintable():
        raise InvalidSettings(
            "mail_from", f"must be an address such as 'The Shop <line@shop.example>' or line@shop.example; got {text!r}"
        )


def message(notice: Notice, sender: str) -> EmailMessage:
    """A notice as a message: in plain text, and the same in HTML. Each try makes the same one."""
    to, language = (notice.to.email, notice.to.language) if notice.to else (None, LANGUAGES[0])
    made = _envelope(notice.id, sender, to or "", notice.subject, notice.at)
    made.set_content(f"{notice.text}\n")
    made.add_alternative(_html(notice, language), subtype="html")
    made["Content-Language"] = language  # after the parts, or the first of them would have it
    return made


def trial_message(to: str, sender: str) -> EmailMessage:
    """A message that says no more than that it came."""
    made = _envelope(secrets.token_hex(16), sender, to, "A test of Fairline", datetime.now(UTC))
    made.set_content("This is a test. Notices of your queues will come the same way.\n")
    return made


def _envelope(message_id: str, sender: str, to: str, subject: str, at: datetime) -> EmailMessage:
    name, address = parseaddr(sender)
    local, _, domain = address.rpartition("@")
    made = EmailMessage(policy=SMTP.clone(cte_type="7bit"))  # which every server takes
    made["From"] = Address(display_name=name, username=local, domain=domain)
    made["To"] = to
    made["Subject"] = _one_line(subject)
    made["Date"] = format_datetime(at)
    made["Message-ID"] = f"<{message_id}@{domain}>"
    made["Auto-Submitted"] = "auto-generated"
    return made


def _html(notice: Notice, language: str) -> str:
    said, link = notice.text, ""
    if notice.url:
        said = said.replace(notice.url, "").strip()
        link = f'<p><a href="{html.escape(notice.url)}">{html.escape(words(language)["link"])}</a></p>\n'
    return (
        f'<!doctype html>\n<html lang="{language}" dir="{direction(language)}">\n<meta charset="utf-8">\n'
        f"<title>{html.escape(notice.subject)}</title>\n"
        '<body style="font: 16px/1.5 sans-serif; margin: 24px">\n'
        f'<p style="font-size: 28px; margin: 0 0 12px"><strong>{html.escape(notice.label)}</strong></p>\n'
        f"<p>{html.escape(said)}</p>\n{link}</body>\n</html>\n"
    )


def _one_line(text: str) -> str:
    """A header has one line, whatever an operator has called the queue."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
