"""Phone numbers: what is no number, and nothing but a number, is refused rather than read as another one."""

from __future__ import annotations

import pytest

from fairline.domain.phone import normalised
from fairline.errors import InvalidRequest


@pytest.mark.parametrize(
    ("typed", "region", "kept"),
    [
        ("010-2345-6789", "KR", "+821023456789"),
        (" +82 (0)10.2345.6789\t", "", "+821023456789"),
        ("(+49) 30 / 123456", "", "+4930123456"),
        ("030/123456", "DE", "+4930123456"),
        ("030–12 34 56", "DE", "+4930123456"),
        ("０３０１２３４５６", "DE", "+4930123456"),
        ("＋４９　３０　１２３４５６", "", "+4930123456"),
        ("\u202a+49 30 123456\u202c", "", "+4930123456"),
        ("٠٣٠١٢٣٤٥٦", "DE", "+4930123456"),
    ],
)
def test_a_number_is_the_same_however_it_is_written(typed: str, region: str, kept: str) -> None:
    assert normalised(typed, region) == kept


@pytest.mark.parametrize(
    ("typed", "region"),
    [
        ("010-2345-678a", "KR"),
        ("010-2345-6789a", "KR"),
        ("030-12345678x", "DE"),
        ("call me 030 123458", "DE"),
        ("030 123456 ext. 12", "DE"),
        ("030 123456 x12", "DE"),
        ("030 123456;ext=12", "DE"),
        ("030 123456#", "DE"),
        ("*31#030123456", "DE"),
        ("tel:030-123456", "DE"),
        ("0800 FLOWERS", "DE"),
        ("030 123456 / x", "DE"),
        ("030\n123456", "DE"),
        ("030 123456\n030 123457", "DE"),
        ("030 123456 ☎", "DE"),
        ("", "DE"),
        ("-", "DE"),
    ],
)
def test_what_is_not_only_a_number_is_refused_with_what_to_type(typed: str, region: str) -> None:
    with pytest.raises(InvalidRequest, match="must be a phone number such as") as refused:
        normalised(typed, region)
    assert refused.value.field == "phone"
