"""Phone numbers: checked, and brought to the one form in which the same number is always the same text."""

from __future__ import annotations

import unicodedata
from functools import cache

from fairline.errors import InvalidRequest, InvalidSettings

#: What one writes between the digits of a number, beside spaces, dashes and what nobody sees (which comes along when a
#: number is copied).
_BETWEEN = frozenset(
    "+./()\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH FULL STOP}\N{FULLWIDTH SOLIDUS}\N{MINUS SIGN}"
    "\N{FULLWIDTH LEFT PARENTHESIS}\N{FULLWIDTH RIGHT PARENTHESIS}"
)
_KINDS_BETWEEN = frozenset(("Nd", "Zs", "Pd", "Cf"))


def check_region(region: str) -> None:
    """Refuse a region that numbers cannot be read by."""
    if not region:
        return
    import phonenumbers

    if region not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidSettings(
            "phone_region", f"must be a country in two capital letters, such as KR or DE, or empty; got {region!r:.80}"
        )


def normalised(phone: str, region: str) -> str:
    """The number as `+82101234567`, read as one would dial it in `region`; or InvalidRequest that says what to type."""
    # The tables of all countries are large, and most servers never see a number.
    import phonenumbers

    number = None
    try:
        if _is_whole(phone.strip()):
            number = phonenumbers.parse(phone, region or None)
    except phonenumbers.NumberParseException:
        pass
    if number is None or not phonenumbers.is_valid_number(number):
        raise InvalidRequest("phone", f"must be a phone number {_what_to_type(region)}; got {phone!r:.60}")
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def _is_whole(text: str) -> bool:
    """Whether it is a number and nothing else. Out of more, one could be read that nobody has typed: a slip of the
    finger, or what comes after the number, would be cut off."""
    return all(sign in _BETWEEN or unicodedata.category(sign) in _KINDS_BETWEEN for sign in text)


@cache
def _what_to_type(region: str) -> str:
    import phonenumbers

    abroad = phonenumbers.example_number(region or "CH")
    if abroad is None:
        return "with + and the country code"
    international = phonenumbers.format_number(abroad, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    if not region:
        return f"with + and the country code, such as {international}"
    national = phonenumbers.format_number(abroad, phonenumbers.PhoneNumberFormat.NATIONAL)
    return f"such as {national}, or with + and the country code"


def example(region: str) -> str:
    """A number as someone would write it: the way it is dialled in the region, or with its country code."""
    import phonenumbers

    number = phonenumbers.example_number(region or "CH")
    if number is None:
        return "+41 21 234 56 78"
    form = phonenumbers.PhoneNumberFormat.NATIONAL if region else phonenumbers.PhoneNumberFormat.INTERNATIONAL
    return phonenumbers.format_number(number, form)
