"""All that the description of the API says, and all that it forbids, on every call: each answer is a described one."""

from __future__ import annotations

import pytest

from tests.web.description.wild import ROWS, STREAMS, Amount, a_wild_server, answers_as_documented

#: Every request that goes through what the document says, and random ones.
LONG = Amount(10_000, 60)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_every_call_answers_as_described_whatever_is_sent(tmp_path_factory: pytest.TempPathFactory) -> None:
    with a_wild_server(tmp_path_factory.mktemp("described")) as wild:
        for row in ROWS:
            if row.path not in STREAMS:
                answers_as_documented(wild, row, LONG)
