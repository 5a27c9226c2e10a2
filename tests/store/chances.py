"""What may happen to a queue by chance: who comes, which tickets are meant, what an operator changes."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

from fairline.domain.order import PriorityPolicy
from fairline.domain.queue_settings import Admission, OnePer, QueueStatus
from fairline.domain.ticket import Person, Status
from fairline.store import Arrival

T = TypeVar("T")
FAR = 1e9
Pick = tuple[Status | None, int]


def one_of(*values: T) -> st.SearchStrategy[T]:
    return st.sampled_from(values)


#: A ticket: the n-th of those in a state, or of all there ever were and one that was not.
picks = st.tuples(one_of(None, Status.WAITING, Status.WAITING, Status.ADMITTED, Status.ACTIVE), st.integers(0, 60))
waiting_picks = st.tuples(one_of(None, Status.WAITING, Status.WAITING), st.integers(0, 60))
some = st.lists(picks, min_size=1, max_size=6)
levels = one_of(0, 0, 0, 1, 2, 3)
who = one_of(b"", b"ann", b"ben", b"cat", b"dan\x00 \n")
arrivals = st.builds(
    Arrival,
    client=who,
    user=who,
    phone=who,
    email=one_of(b"", b"", b"ann@"),
    address=one_of(b"", b"east", b"west"),
    key=one_of(b"", b"", b"", b"key-1", b"key-2 \n"),
    fingerprint=one_of(b"one", b"two \n"),
    priority=levels,
    pass_id=one_of("", "", "", "gold", "silver"),
    limited=st.booleans(),
    through=one_of(False, False, False, True),
    person=one_of(Person(), Person(name="Ann", phone="+1", party_size=3, metadata={"a": [1, None]})),
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "status": one_of(QueueStatus.ACTIVE, QueueStatus.ACTIVE, QueueStatus.ACTIVE, *QueueStatus),
        "admission": one_of(Admission.AUTO, Admission.AUTO, Admission.MANUAL),
        "admission_rate": one_of(0, 0.3, 1, 2.5, 7.77, 10, 100),
        "burst": one_of(None, 1, 3.5, 25),
        "max_active": one_of(1, 10, 10, 1000),
        "max_queue_size": one_of(5, 30, 50_000),
        "stock": one_of(None, None, None, 0, 12, 500),
        "stock_url": one_of(None, None, None, None, "https://stock.example/"),
        "priority_policy": one_of(*PriorityPolicy),
        "priority_skip": one_of((0, 0.1, 0.5, 1), (0, 0.3, 0.3, 0.7), (0, 0, 0.29, 1)),
        "heartbeat_timeout_seconds": one_of(0, 0, 60, 333.333),
        "grace_seconds": one_of(0, 0.5, 30),
        "claim_seconds": one_of(1, 300),
        "session_seconds": one_of(1, 120, 900),
        "session_max_seconds": one_of(900, 14_400),
        "one_per": one_of(*OnePer),
        "group_size": one_of(0, 2, 5, 20),
        "join_limit_per_ip": one_of(0, 2, 20),
        "join_limit_per_phone": one_of(0, 3),
        "join_limit_per_email": one_of(0, 2),
        "retain_seconds": one_of(0, 60, 3600),
        "wait_sample": one_of(3, 20),
        "desk_idle_seconds": one_of(60, 900),
    },
)
