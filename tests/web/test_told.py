"""What people are told: the way it is written out for speed says exactly what its type says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairline.estimate import Forecast
from fairline.queue import QueueId, QueueView, checked
from fairline.room import Answer, Room
from fairline.settings import ServerSettings
from fairline.store import Store
from fairline.ticket import Standing, Status
from fairline.token import Keyring
from fairline.web.context import Context
from fairline.web.http import encode

NO_STORE: Store = None  # type: ignore[assignment]
CONTEXT = Context(ServerSettings(), Room(NO_STORE, Keyring(b"a secret of these tests")))


@given(
    position=st.integers(1, 10**7),
    joined=st.integers(10**12, 2 * 10**12),
    rate=st.floats(0, 100_000),
    stay=st.floats(0, 10_000),
    leave=st.floats(0, 1),
    interval=st.floats(1, 3600),
    prefix=st.sampled_from(["", "CLINIC"]),
    token=st.sampled_from([None, "abc.def-_.ghi"]),
    beat=st.booleans(),
)
def test_someone_who_waits_is_told_the_same_either_way(
    position: int,
    joined: int,
    rate: float,
    stay: float,
    leave: float,
    interval: float,
    prefix: str,
    token: str | None,
    beat: bool,
) -> None:
    settings = checked(
        {
            "admission_rate": rate,
            "heartbeat_interval_seconds": interval,
            "heartbeat_timeout_seconds": 3600,
            "ticket_prefix": prefix,
        }
    )
    view = QueueView(joined, 0, 1, position + 5, 10, 990, 7, stay, leave, 1.0)
    standing = Standing(number=position, status=Status.WAITING, priority=1, joined=joined, position=position)
    answer = Answer(
        queue=QueueId("sale.2027_a-b"),
        standing=standing,
        view=view,
        settings=settings,
        forecast=Forecast(settings, view),
    )
    assert CONTEXT.told(answer, token=token, beat=beat) == encode(CONTEXT.ticket_answer(answer, token=token, beat=beat))
