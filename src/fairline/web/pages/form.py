"""The form for taking a number: what it asks, what a visitor filled in, and the mistakes in it, in words."""

from __future__ import annotations

import math
import secrets

from msgspec import Struct

from fairline.domain.join_request import JoinRequest, shows_as_written
from fairline.domain.mail import LONGEST_ADDRESS, checked_address
from fairline.domain.phone import example, normalised
from fairline.domain.queue_settings import Ask, QueueSettings
from fairline.errors import AlreadyInLine, FairlineError, InvalidRequest, RateLimited
from fairline.web.pages.languages import Language

LONGEST_NAME = 100
LONGEST_PHONE = 40
EMAIL_EXAMPLE = "ada@example.com"
#: The length of a form's key. Keys of other lengths are not from our form; a shorter one could be guessed.
SHORTEST_KEY, LONGEST_KEY = 16, 64
#: The longest code of a group that is read.
LONGEST_CODE = 2048
#: How much of a field is shown again.
SHOWN = 200


class Filled(Struct, frozen=True, kw_only=True):
    """What a visitor filled in, as they wrote it. The form is created with a key: sending the same form again, by a
    second tap or with the back button, gives the same ticket."""

    key: str
    name: str = ""
    phone: str = ""
    email: str = ""
    party_size: str = ""
    series: str = ""
    group: str = ""
    """The code of the group to join, from the link that led to the form."""

    @classmethod
    def empty(cls, group: str = "") -> Filled:
        """A new form."""
        return cls(key=new_key(), group=group_code(group))

    @classmethod
    def of(cls, fields: dict[str, str]) -> Filled:
        """What a browser has sent. Without the key that the form came with, it counts as a new form."""
        key = fields.get("key", "")
        values = {name: fields.get(name, "").strip() for name in ("name", "phone", "email", "party_size", "series")}
        values["group"] = group_code(fields.get("group", ""))
        return cls(key=key if SHORTEST_KEY <= len(key) <= LONGEST_KEY else new_key(), **values)

    def request(self, settings: QueueSettings) -> JoinRequest:
        """The join request, with the fields that the queue asks for. Check for mistakes first."""
        return JoinRequest(
            name=_asked(self.name, settings.ask_name),
            phone=_asked(self.phone, settings.ask_phone),
            email=_asked(self.email, settings.ask_email),
            party_size=self.party(settings),
            series=self.series if self.series in settings.series else "",
            group=self.group or None,
            idempotency_key=self.key,
        )

    def party(self, settings: QueueSettings) -> int | None:
        """The size of the party; None if it is missing or is not a number."""
        if settings.ask_party_size is Ask.NO or not self.party_size.isdecimal() or len(self.party_size) > 6:
            return None
        return int(self.party_size)

    def shown(self) -> Filled:
        """The same, cut to a length that a page can show."""
        return Filled(
            key=self.key,
            name=self.name[:SHOWN],
            phone=self.phone[:SHOWN],
            email=self.email[:LONGEST_ADDRESS],
            party_size=self.party_size[:6],
            series=self.series[:6],
            group=self.group,
        )


def _asked(text: str, ask: Ask) -> str | None:
    return text if text and ask is not Ask.NO else None


def group_code(text: str) -> str:
    """The code of a group that a browser has sent. What no code can be is one that no group has."""
    return text if len(text) <= LONGEST_CODE and text.isascii() and text.isprintable() else "none"


def new_key() -> str:
    """The key of a new form."""
    return secrets.token_urlsafe(16)


def mistakes(filled: Filled, settings: QueueSettings, t: Language) -> dict[str, str]:
    """What is wrong with each field, and what to do about it."""
    found = {
        "name": _name_mistake(filled.name, settings.ask_name, t),
        "phone": _phone_mistake(filled.phone, settings, t),
        "email": _email_mistake(filled.email, settings.ask_email, t),
        "party_size": _party_mistake(filled, settings, t),
    }
    return {field: words for field, words in found.items() if words}


def _name_mistake(name: str, ask: Ask, t: Language) -> str:
    if ask is Ask.NO:
        return ""
    if not name:
        return t("name_missing") if ask is Ask.REQUIRED else ""
    if len(name) > LONGEST_NAME:
        return t.count("name_long", LONGEST_NAME)
    return "" if shows_as_written(name) else t("name_bad")


def _phone_mistake(phone: str, settings: QueueSettings, t: Language) -> str:
    if settings.ask_phone is Ask.NO:
        return ""
    if not phone:
        return t("phone_missing") if settings.ask_phone is Ask.REQUIRED else ""
    try:
        normalised(phone[: LONGEST_PHONE + 1], settings.phone_region)
    except InvalidRequest:
        return t("phone_bad", example=phone_example(settings, t))
    return t("phone_bad", example=phone_example(settings, t)) if len(phone) > LONGEST_PHONE else ""


def phone_example(settings: QueueSettings, t: Language) -> str:
    """An example of a phone number, as people write it."""
    return _kept_together(example(settings.phone_region), t)


def _kept_together(text: str, t: Language) -> str:
    """Text that is read from left to right, even within a language that is written from right to left."""
    return f"\u2066{text}\u2069" if t.direction == "rtl" else text


def _email_mistake(email: str, ask: Ask, t: Language) -> str:
    if ask is Ask.NO:
        return ""
    if not email:
        return t("email_missing") if ask is Ask.REQUIRED else ""
    try:
        checked_address(email)
    except InvalidRequest:
        return t("email_bad", example=_kept_together(EMAIL_EXAMPLE, t))
    return ""


def _party_mistake(filled: Filled, settings: QueueSettings, t: Language) -> str:
    if settings.ask_party_size is Ask.NO:
        return ""
    if not filled.party_size:
        return t("party_missing") if settings.ask_party_size is Ask.REQUIRED else ""
    party = filled.party(settings)
    right = party is not None and 1 <= party <= settings.max_party_size
    return "" if right else t("party_bad", most=t.number(settings.max_party_size))


def refusal_in_words(error: FairlineError, settings: QueueSettings, t: Language) -> dict[str, str]:
    """Why a join was refused, by the field it is about; '' is the whole form."""
    if isinstance(error, RateLimited):
        minutes = math.ceil((error.retry_after or 60) / 60)
        again = t.count("limit_again", minutes)
        if error.who == "phone":
            return {"phone": f"{t.count('limit_phone', settings.join_limit_per_phone)} {again}"}
        if error.who == "email":
            return {"email": f"{t.count('limit_email', settings.join_limit_per_email)} {again}"}
        return {"": f"{t.count('limit_address', settings.join_limit_per_ip)} {again}"}
    if isinstance(error, AlreadyInLine):
        return {"phone" if settings.ask_phone is not Ask.NO else "": t("taken_already")}
    if isinstance(error, InvalidRequest):
        return {error.field if error.field in ("name", "phone", "email", "party_size") else "": t("form_bad")}
    return {}
