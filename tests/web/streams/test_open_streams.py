"""How many streams may be open: for each address, for all together, or without a limit."""

from __future__ import annotations

import pytest

from fairline.errors import TooManyStreams
from fairline.web.streams.open_streams import OpenStreams


def test_an_address_has_its_limit_and_others_have_theirs() -> None:
    streams = OpenStreams(2)
    for _ in range(2):
        streams.check("a")
        streams.add("a")
    with pytest.raises(TooManyStreams, match="address has 2 open streams"):
        streams.check("a")
    streams.check("b")
    streams.remove("a")
    streams.check("a")


def test_whose_address_is_not_known_is_not_limited_by_it_and_nobody_is_where_the_limit_is_0() -> None:
    for address, streams in [("", OpenStreams(1)), ("a", OpenStreams(0))]:
        for _ in range(5):
            streams.check(address)
            streams.add(address)


def test_all_together_have_a_limit_and_all_are_told_how_many_there_are() -> None:
    told = list[int]()
    streams = OpenStreams(0, 3, on_count=told.append)
    for address in ("a", "", "b"):
        streams.check(address)
        streams.add(address)
    with pytest.raises(TooManyStreams, match="server has 3 open streams"):
        streams.check("c")
    streams.remove("")
    streams.check("c")
    assert told == [1, 2, 3, 2]
