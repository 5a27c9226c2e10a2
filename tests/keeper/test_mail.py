"""Mail: what is an address, where the server is, what a message looks like, and how it is handed over."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from pathlib import Path

import pytest

from fairline.domain.branding import LANGUAGES
from fairline.domain.events import EventType
from fairline.domain.mail import Relay, Security, checked_address, mailbox, message, relay_of, trial_message
from fairline.domain.notices import Notice, NoticeKind, Recipient
from fairline.domain.notices.words import words
from fairline.domain.webhook import Topic
from fairline.errors import InvalidRequest, InvalidSettings
from fairline.keeper.mail import Mailer
from fairline.settings import load
from tests.backends import HOST
from tests.keeper.test_outbound import certificate
from tests.mailbox import Mailbox

SENDER = "Die Bäckerei <line@bakery.example>"


def notice(language: str = "en", **changed: str) -> Notice:
    said = {"subject": "Your turn: R-1", "text": "It is your turn. https://x.example/q/a?b=1&c=2", "label": "R-1"}
    return Notice(
        id="d4735e3a265e16ee",
        notice=NoticeKind.CALLED,
        queue="a",
        at=datetime(2027, 1, 15, 8, tzinfo=UTC),
        ticket=1,
        position=None,
        desk="Desk 2",
        url="https://x.example/q/a?b=1&c=2",
        to=Recipient(name="Ada", phone=None, email="ada@example.com", user_id=None, language=language),
        **(said | changed),
    )


@pytest.mark.parametrize("text", ["ada@example.com", " a.b+c@mail.example.co.uk ", "o'neill_1@xn--bcher-kva.example"])
def test_an_address(text: str) -> None:
    assert checked_address(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "ada",
        "ada@",
        "@example.com",
        "ada@localhost",
        "a b@example.com",
        "ada@example.com\r\nBcc: all@example.com",
        "ada@example.com, bob@example.com",
        "Ada <ada@example.com>",
        '"a\nb"@example.com',
        "ada@exa_mple.com",
        "ada..l@example.com",
        "ada@-example.com",
        "ädä@example.com",
        f"{'a' * 65}@example.com",
        f"a@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.{'f' * 20}.com",
    ],
)
def test_what_is_no_address_says_what_to_type(text: str) -> None:
    with pytest.raises(InvalidRequest, match="such as ada@example"):
        checked_address(text)


@pytest.mark.parametrize(
    ("url", "relay"),
    [
        ("smtp://mail.example", ("mail.example", 587, "starttls", "", "")),
        ("smtp://u%40x:p%3Aw@mail.example:25", ("mail.example", 25, "starttls", "u@x", "p:w")),
        ("smtps://u:p@mail.example/", ("mail.example", 465, "tls", "u", "p")),
        ("smtp://10.0.0.3:25?starttls=no", ("10.0.0.3", 25, "none", "", "")),
        ("smtp://u:p@localhost:1025?starttls=no", ("localhost", 1025, "none", "u", "p")),
    ],
)
def test_where_the_server_is(url: str, relay: tuple[str, int, str, str, str]) -> None:
    found = relay_of(url)
    assert (found.host, found.port, found.security, found.user, found.password) == relay


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "http://mail.example",
        "smtp://",
        "smtp://u:hunter2@mail.example:port",
        "smtp://u:hunter2@[::1",
        "smtp://u:hunter2@mail.example?starttls=maybe",
        "smtp://u:hunter2@mail.example?starttls=no",
        "smtps://u:hunter2@mail.example?starttls=no",
        "smtp://u:hunter2@mail.example/path",
    ],
)
def test_a_bad_address_of_a_server_is_refused_without_showing_the_password(url: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load(environ={"FAIRLINE_SMTP_URL": url, "FAIRLINE_MAIL_FROM": "line@bakery.example"})
    assert caught.value.field == "smtp_url"
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("sender", ["", "nobody", "A <b>", "a@b.example\nBcc: c@d.example"])
def test_a_server_of_mail_needs_a_sender(sender: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load(environ={"FAIRLINE_SMTP_URL": "smtp://mail.example", "FAIRLINE_MAIL_FROM": sender})
    assert caught.value.field == "mail_from"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_all_there_is_to_say_with_the_same_values(language: str) -> None:
    def values(text: str) -> set[str]:
        return {part.partition("}")[0] for part in text.split("{")[1:]}

    english = words("en")
    assert {name: values(text) for name, text in words(language).items()} == {
        name: values(text) for name, text in english.items()
    }
    assert {f"{kind}_subject" for kind in NoticeKind} | set(NoticeKind) <= english.keys()


def test_a_webhook_can_ask_for_every_kind_of_event_and_for_notices() -> None:
    assert set(Topic) == {*EventType, "notice"}


def test_a_message_has_the_same_words_in_text_and_in_html() -> None:
    made = message(notice("ar", text="<b>حان دورك</b> https://x.example/q/a?b=1&c=2"), SENDER)
    read = message_from_bytes(made.as_bytes(), policy=default)
    assert (str(read["From"]), str(read["To"]), read["Content-Language"]) == (SENDER, "ada@example.com", "ar")
    assert read["Message-ID"] == "<d4735e3a265e16ee@bakery.example>"
    plain, rich = (part.get_content() for part in read.iter_parts())
    assert plain.strip() == "<b>حان دورك</b> https://x.example/q/a?b=1&c=2"
    assert "<p>&lt;b&gt;حان دورك&lt;/b&gt;</p>" in rich
    assert 'dir="rtl"' in rich
    assert 'href="https://x.example/q/a?b=1&amp;c=2"' in rich
    assert message(notice(), SENDER).as_bytes().isascii()


def test_no_header_can_be_put_in_by_what_a_queue_is_called() -> None:
    made = message(notice(subject="Your turn\r\nBcc: all@example.com\u2028X: y"), SENDER).as_bytes()
    read = message_from_bytes(made, policy=default)
    assert read["Bcc"] is None
    assert read["X"] is None
    assert read["Subject"] == "Your turn Bcc: all@example.com X: y"


@pytest.mark.parametrize("security", [Security.TLS, Security.STARTTLS])
async def test_a_connection_is_secure_and_the_server_who_it_says(tmp_path: Path, security: Security) -> None:
    file = certificate(tmp_path)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    box = Mailbox(serving, implicit=security is Security.TLS)
    relay = Relay(host=HOST, port=box.port, security=security, user="u", password="p")
    try:
        strangers = await Mailer(relay, SENDER).send(trial_message("ada@example.com", SENDER))
        assert strangers.error.startswith("no secure connection: ")
        assert not strangers.final
        assert (box.mails, box.signed_in) == ([], [])
        trusting = ssl.create_default_context(cafile=str(file))
        trusting.check_hostname = False  # the certificate is for another name
        assert (await Mailer(relay, SENDER, trusting).send(trial_message("ada@example.com", SENDER))).sent
    finally:
        box.down()
    assert [(mail.to, mail.secure) for mail in box.mails] == [("ada@example.com", True)]
    assert box.signed_in == ["\0u\0p"]


def test_one_mailbox_counts_once_however_it_is_written() -> None:
    for address, counted in [
        ("ada@example.com", "ada@example.com"),
        ("Ada@Example.COM", "ada@example.com"),
        ("ada+1@example.com", "ada@example.com"),
        ("ada+shop+2@example.com", "ada@example.com"),
        ("a.d.a@example.com", "a.d.a@example.com"),
        ("A.d.a+x@gmail.com", "ada@gmail.com"),
        ("ada@googlemail.com", "ada@gmail.com"),
        ("+ada@example.com", "+ada@example.com"),
    ]:
        assert mailbox(address) == counted, address


async def test_nothing_is_sent_to_a_server_that_offers_no_security() -> None:
    box = Mailbox()
    try:
        relay = Relay(host=HOST, port=box.port, security=Security.STARTTLS, user="u", password="p")
        outcome = await Mailer(relay, SENDER).send(trial_message("ada@example.com", SENDER))
    finally:
        box.down()
    assert "STARTTLS" in outcome.error
    assert (box.mails, box.signed_in) == ([], [])


@pytest.mark.parametrize(
    ("line", "answer", "error", "final"),
    [
        ("RCPT", "550 no ada@example.com", "answered 550", True),
        ("RCPT", "450 later", "answered 450", False),
        ("MAIL", "553 no", "answered 553", True),
        ("DATA", "554 spam", "answered 554", True),
        ("DATA", "452 full", "answered 452", False),
        ("EHLO", "421 busy", "answered 421", False),
        ("AUTH", "535 wrong", "the server answered 535 to the user name and password", False),
    ],
)
async def test_what_the_server_says_decides(line: str, answer: str, error: str, final: bool) -> None:
    box = Mailbox()
    box.refuse = lambda said: answer if said.startswith((line, "HELO" if line == "EHLO" else line)) else None
    try:
        user = "u" if line == "AUTH" else ""
        relay = Relay(host=HOST, port=box.port, security=Security.NONE, user=user, password="p")
        outcome = await Mailer(relay, SENDER).send(trial_message("ada@example.com", SENDER))
    finally:
        box.down()
    assert (outcome.sent, outcome.error, outcome.final) == (False, error, final)


async def test_a_server_that_is_not_there() -> None:
    box = Mailbox()
    relay = Relay(host=HOST, port=box.port, security=Security.NONE)
    box.down()
    outcome = await Mailer(relay, SENDER).send(trial_message("ada@example.com", SENDER))
    assert (outcome.sent, outcome.final) == (False, False)
    assert outcome.error.startswith("no connection: ")
