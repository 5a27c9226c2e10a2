"""Arrivals: what no store could keep or nobody could mean is refused, and the field is named."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairline.domain.join_request import (
    METADATA_BYTES,
    METADATA_DEPTH,
    JoinRequest,
    check_join,
    check_metadata,
    normalised_join,
)
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Person
from fairline.errors import InvalidRequest
from fairline.store.valkey.record import pack_person, unpack_person

TEXT_FIELDS = {
    "client_id": 200,
    "user_id": 200,
    "priority_pass": 2048,
    "name": 100,
    "phone": 40,
    "series": 4,
    "idempotency_key": 200,
}
SHORTEST = {"client_id": 1, "user_id": 1, "phone": 1, "idempotency_key": 1}


def refused(field: str, value: Any) -> InvalidRequest:
    error = None
    try:
        check_join(JoinRequest(**{field: value}))
    except InvalidRequest as refusal:
        error = refusal
    assert error is not None, f"{field} {value!r:.200} is taken"
    assert error.field == field
    assert error.message.startswith(f"{field}: ")
    return error


def nested(levels: int, wrap: Callable[[Any], Any], value: Any = 1) -> Any:
    for _ in range(levels):
        value = wrap(value)
    return value


# Text


def test_text_that_no_store_can_keep_is_refused() -> None:
    texts = ("with\x00nul in it", "\x00" * 9, "half \ud83d a pair", "\udcff" * 9, "\ud800\ud800" * 5)
    for field, text in product(TEXT_FIELDS, texts):
        refused(field, text)


def test_text_has_its_limits() -> None:
    for field, longest in TEXT_FIELDS.items():
        shortest = SHORTEST.get(field, 0)
        for length in (shortest, longest):
            check_join(JoinRequest(**{field: "é" * length}))  # type: ignore[arg-type]
        refused(field, "x" * (longest + 1))
        refused(field, "x" * 1_000_000)
        if shortest:
            refused(field, "x" * (shortest - 1))


def test_text_is_text() -> None:
    for field, value in product(TEXT_FIELDS, (5, b"12345678", ["12345678"], True)):
        refused(field, value)


def test_a_name_is_one_line_and_turns_nothing_around() -> None:
    for sign in "\n\x1b\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        with pytest.raises(InvalidRequest) as found:
            pytest.fail(f"{normalised_join(JoinRequest(name=f'Ada{sign}Lovelace'), QueueSettings()).name!r} is taken")
        assert found.value.field == "name", ascii(sign)


def test_a_name_keeps_what_its_letters_need() -> None:
    for name in ("👩‍👩‍👧 Ada", "آدا\u200cلاولیس", "\u200fעדה", "é" * 100):
        assert normalised_join(JoinRequest(name=f" {name} "), QueueSettings()).name == name


def test_a_party_has_a_size_one_can_count() -> None:
    for size in (0, -1, 1001, 2**70, -(2**70), 2.5, True, "2", math.nan):
        refused("party_size", size)


# Metadata

NO_JSON = [
    *(math.nan, math.inf, -math.inf, 2**63, -(2**63) - 1, 10**400, "\x00", "\ud800", b"bytes", (1, 2), {1, 2}),
    *(Decimal(1), object, 1j, {"\x00": 1}, {"\udfff": 1}, {1: 2}, {None: 2}, {("a", "b"): 2}),
]


def test_what_is_no_json_is_refused_wherever_it_hides() -> None:
    for value, depth in product(NO_JSON, (0, 1, 5)):
        refused("metadata", {"in": nested(depth, lambda inner: {"in": inner, "too": 1}, value)})
        refused("metadata", {"in": nested(depth, lambda inner: [1, inner], value)})


def test_keys_are_text() -> None:
    for key in (1, None, 1.5, ("a",), b"a", True):
        refused("metadata", {key: 1})


def test_metadata_is_an_object() -> None:
    for value in ("text", [], [1], 5, True):
        refused("metadata", value)


def test_metadata_has_its_depth() -> None:
    check_metadata(nested(METADATA_DEPTH, lambda inner: {"in": inner}))
    check_metadata({"in": nested(METADATA_DEPTH - 1, lambda inner: [inner])})
    for wrap in (lambda inner: {"in": inner}, lambda inner: {"in": [inner]}):
        for levels in (METADATA_DEPTH + 1, 1000, 50_000):
            refused("metadata", nested(levels, wrap))


def test_metadata_that_contains_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    refused("metadata", circle)
    chain: list[Any] = []
    chain.append(chain)
    refused("metadata", {"chain": chain})


def test_metadata_has_its_size_counted_in_bytes() -> None:
    check_metadata({"a": "x" * (METADATA_BYTES - 8)})
    assert "4,097" in refused("metadata", {"a": "x" * (METADATA_BYTES - 7)}).message
    refused("metadata", {"a": "é" * (METADATA_BYTES // 2)})
    refused("metadata", {"a": "\x01" * (METADATA_BYTES // 6)})
    refused("metadata", {str(n): n for n in range(METADATA_BYTES)})
    refused("metadata", {"a": [0] * 1_000_000})


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_metadata_is_refused_by_name_or_kept_as_it_came(metadata: dict[str, Any]) -> None:
    if problem_of(metadata) is None:
        kept = unpack_person(pack_person(Person(metadata=metadata))).metadata
        assert repr(kept) == repr(metadata)


strange_values = st.recursive(
    st.characters() | st.integers() | st.floats() | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.characters() | st.integers(), inner, max_size=3),
    max_leaves=10,
)


@given(strange_values)
def test_nothing_but_invalid_request_comes_of_any_value(value: Any) -> None:
    problem_of(value)


def problem_of(metadata: Any) -> str | None:
    """What is wrong with it; any other error than InvalidRequest is ours."""
    try:
        check_join(JoinRequest(metadata=metadata))
    except InvalidRequest as error:
        problem = error
    else:
        return None
    assert problem.field == "metadata"
    return problem.problem


# The body of a join


def test_a_join_with_an_unknown_field_is_refused() -> None:
    for unknown in ("priority", "level", "Client_id", "clientId", "position", "holds", "staff"):
        for data in ({unknown: 3}, {"client_id": "12345678", unknown: None}):
            with pytest.raises(msgspec.ValidationError, match=f"unknown field `{unknown}`"):
                msgspec.json.decode(msgspec.json.encode(data), type=JoinRequest)


def test_everything_in_a_join_is_optional_and_null_is_not_told() -> None:
    assert msgspec.json.decode(b"{}", type=JoinRequest) == JoinRequest()
    nulls = {field: None for field in JoinRequest.__struct_fields__ if field != "party_size"}
    assert msgspec.json.decode(msgspec.json.encode(nulls), type=JoinRequest) == JoinRequest()


def test_decoding_holds_to_the_same_limits() -> None:
    for field, longest in TEXT_FIELDS.items():
        with pytest.raises(msgspec.ValidationError, match=rf"\$\.{field}"):
            msgspec.json.decode(msgspec.json.encode({field: "x" * (longest + 1)}), type=JoinRequest)
