"""Phone numbers: checks them, and brings each number to one international form."""

from __future__ import annotations

import unicodedata
from functools import cache

from fairline.errors import InvalidRequest, InvalidSettings

#: Characters between the digits of a number, in addition to spaces, dashes and invisible characters (which come along
#: when a number is copied).
_SEPARATORS = frozenset(
    "+./()\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH FULL STOP}\N{FULLWIDTH SOLIDUS}\N{MINUS SIGN}"
    "\N{FULLWIDTH LEFT PARENTHESIS}\N{FULLWIDTH RIGHT PARENTHESIS}"
)
_SEPARATOR_CATEGORIES = frozenset(("Nd", "Zs", "Pd", "Cf"))


def check_region(region: str) -> None:
    """Raise InvalidSettings if the region is not known."""
    if not region:
        return
    import phonenumbers

    if region not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidSettings(
            "phone_region", f"must be a country in two capital letters, such as KR or DE, or empty; got {region!r:.80}"
        )


def normalised(phone: str, region: str) -> str:
    """Return the number as `+82101234567`, reading it as it is dialled in `region`, or raise InvalidRequest that says
    what to type."""
    # Imported late: the tables of all countries are large, and most servers never see a number.
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
    """Whether the text is a number and nothing else. From other text, the parser could read a number that nobody meant,
    because it cuts off typing errors and text after the number."""
    return all(char in _SEPARATORS or unicodedata.category(char) in _SEPARATOR_CATEGORIES for char in text)


@cache
def _what_to_type(region: str) -> str:
    import phonenumbers

    number = phonenumbers.example_number(region or "CH")
    if number is None:
        return "with + and the country code"
    international = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    if not region:
        return f"with + and the country code, such as {international}"
    national = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return f"such as {national}, or with + and the country code"


def example(region: str) -> str:
    """An example number as it is dialled in the region; without a region, with its country code."""
    import phonenumbers

    number = phonenumbers.example_number(region or "CH")
    if number is None:
        return "+41 21 234 56 78"
    form = phonenumbers.PhoneNumberFormat.NATIONAL if region else phonenumbers.PhoneNumberFormat.INTERNATIONAL
    return phonenumbers.format_number(number, form)
