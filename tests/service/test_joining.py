"""Joining: who holds a ticket, what a retry is, and who goes ahead."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from fairline.domain.join_request import Caller
from fairline.domain.queue import QueueId
from fairline.domain.ticket import Status
from fairline.domain.tokens import Keyring, PriorityClaims
from fairline.errors import (
    AlreadyInLine,
    IdempotencyConflict,
    InvalidRequest,
    PassInvalid,
    PriorityPassNotFound,
    RateLimited,
)
from fairline.service import identity as identity_module
from fairline.service.answers import JoinAnswer
from fairline.service.fairline import Fairline
from tests.conftest import MakeQueue
from tests.service.people import admit, join, joined_total

# Who holds a ticket


async def test_the_same_client_comes_back_to_the_same_ticket(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    first = await join(service, queue, client_id="client-ann", name="Ann")
    again = await join(service, queue, client_id="client-ann", name="Somebody Else")
    assert (first.created, again.created) == (True, False)
    assert again.ticket_status.number == first.ticket_status.number == 1
    assert (await join(service, queue, client_id="client-ben")).ticket_status.number == 2
    assert (await service.ticket(queue, 1)).person.name == "Ann"


async def test_the_same_client_keeps_the_ticket_inside_and_gets_a_new_one_after(
    service: Fairline, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    await join(service, queue, client_id="client-ann")
    await admit(service, queue)
    existing = await join(service, queue, client_id="client-ann")
    assert (existing.ticket_status.number, existing.ticket_status.status) == (1, Status.ADMITTED)
    await service.start(queue, 1, "browser")
    assert (await join(service, queue, client_id="client-ann")).ticket_status.status is Status.ACTIVE
    await service.complete(queue, 1)
    new = await join(service, queue, client_id="client-ann")
    assert (new.created, new.ticket_status.number) == (True, 2)


@pytest.mark.parametrize(("one_per", "details"), [("user", {"user_id": "ann"}), ("phone", {"phone": "+43 1 23456"})])
async def test_someone_elses_details_never_open_their_place(
    service: Fairline, make_queue: MakeQueue, one_per: str, details: dict[str, Any]
) -> None:
    queue = await make_queue(one_per=one_per, join_limit_per_phone=0)
    first = await join(service, queue, client_id="client-ann", **details)
    thieves: list[dict[str, Any]] = [{"client_id": "client-thief"}, {}, {"idempotency_key": "1"}]
    for thief in thieves:
        with pytest.raises(AlreadyInLine):
            await join(service, queue, **thief, **details)
    number, taken = first.ticket_status.number, first.ticket_status.joined
    for wrong in ((0, taken, 0), (2, taken, 0), (-1, taken, 0), (number, taken, 1), (number, taken - 1, 0)):
        with pytest.raises(AlreadyInLine):
            await join(service, queue, Caller(holds=wrong), **details)
    assert await joined_total(service, queue) == 1

    proven = await join(service, queue, Caller(holds=(number, taken, 0)), **details)
    assert (proven.ticket_status.number, proven.created) == (1, False)
    same_client = await join(service, queue, client_id="client-ann", **details)
    assert same_client.ticket_status.number == 1


async def test_what_is_kept_of_a_client_and_an_address_is_a_digest(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    await join(service, queue, Caller(address="203.0.113.9", user_agent="Agent \ud800\x00"), client_id="client-ann")
    ticket = await service.ticket(queue, 1)
    assert "203.0.113.9" not in str(ticket)
    assert "client-ann" not in str(ticket)
    assert ticket.client
    assert ticket.person.address
    assert ticket.person.user_agent == "Agent ??"


# Idempotency


async def test_a_retried_join_is_the_same_join(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="none")
    body: dict[str, Any] = {"idempotency_key": "key-1", "name": "Ann", "metadata": {"b": 1, "a": [1, {"d": 2, "c": 3}]}}
    first = await join(service, queue, **body)
    reordered = body | {"metadata": {"a": [1, {"c": 3, "d": 2}], "b": 1}}
    again = await join(service, queue, **reordered)
    assert (again.ticket_status.number, again.created) == (first.ticket_status.number, False)
    with pytest.raises(IdempotencyConflict):
        await join(service, queue, **body | {"name": "Ben"})
    assert (await join(service, queue, **body | {"idempotency_key": "key-2"})).created
    assert await joined_total(service, queue) == 2


async def test_the_same_key_of_another_member_of_staff_is_a_new_join(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="none")
    numbers = [
        (await join(service, queue, caller, idempotency_key="key-1", name="Ann")).ticket_status.number
        for caller in (Caller(staff="a"), Caller(staff="b"), Caller(), Caller(staff="a"), Caller(staff="b"), Caller())
    ]
    assert numbers == [1, 2, 3, 1, 2, 3]


async def test_staff_who_give_another_level_with_the_same_key_are_told(
    service: Fairline, make_queue: MakeQueue
) -> None:
    queue = await make_queue(one_per="none")
    await join(service, queue, Caller(staff="a", priority=1), idempotency_key="key-1")
    with pytest.raises(IdempotencyConflict):
        await join(service, queue, Caller(staff="a", priority=3), idempotency_key="key-1")


async def test_a_key_counts_for_one_queue(service: Fairline, make_queue: MakeQueue) -> None:
    first = await make_queue()
    second = QueueId(f"{first}-2")
    await service.create(second, {})
    for queue in (first, second):
        assert (await join(service, queue, idempotency_key="key-1")).created


# Priority


async def test_a_priority_pass_goes_ahead_as_often_as_it_may(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(one_per="client")
    for _ in range(4):
        await join(service, queue)
    pass_id, text = await service.issue_priority_pass(queue, 3, uses=2)
    ahead = await join(service, queue, client_id="client-vip", priority_pass=text)
    assert (ahead.ticket_status.position, ahead.ticket_status.priority) == (1, 3)
    existing = await join(service, queue, client_id="client-vip", priority_pass=text)
    assert existing.ticket_status.number == ahead.ticket_status.number
    assert [(each.id, each.used) for each in await service.passes(queue)] == [(pass_id, 1)], (
        "coming back uses nothing up"
    )
    assert (await join(service, queue, priority_pass=text)).ticket_status.position == 2
    with pytest.raises(PassInvalid, match="used up"):
        await join(service, queue, priority_pass=text)
    assert await joined_total(service, queue) == 6


async def test_a_priority_pass_that_is_forged_over_elsewhere_or_withdrawn_joins_nobody(
    service: Fairline, make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await make_queue()
    other = QueueId(f"{queue}-2")
    await service.create(other, {})
    pass_id, text = await service.issue_priority_pass(queue, 3, seconds=3600)
    claims = service.keyring.priorities.check(text, 0)
    stranger = Keyring(b"the secret of some other server.").priorities
    never_issued = PriorityClaims(queue=queue, expires=claims.expires, id="0" * 16, level=3)
    bad = {
        text[:-1] + ("A" if text[-1] != "A" else "B"): "token_invalid",
        "let me in": "token_invalid",
        stranger.sign(claims): "token_invalid",
        (await service.issue_priority_pass(other, 3))[1]: "for another queue",
        service.keyring.priorities.sign(never_issued): "withdrawn",
    }
    for forged, problem in bad.items():
        with pytest.raises(PassInvalid, match=problem):
            await join(service, queue, priority_pass=forged, client_id="client-ann")

    with monkeypatch.context() as later:
        later.setattr(identity_module, "time", SimpleNamespace(time=lambda: float(claims.expires)))
        with pytest.raises(PassInvalid, match="token_expired"):
            await join(service, queue, priority_pass=text)
    await service.withdraw_priority_pass(queue, pass_id)
    with pytest.raises(PassInvalid, match="withdrawn"):
        await join(service, queue, priority_pass=text)
    with pytest.raises(PriorityPassNotFound):
        await service.withdraw_priority_pass(queue, pass_id)
    assert await joined_total(service, queue) == 0
    assert (await join(service, queue)).ticket_status.number == 1


async def test_a_priority_pass_refused_in_a_batch_refuses_nobody_else(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue()
    _, text = await service.issue_priority_pass(queue, 2)
    outcomes = await asyncio.gather(
        *(join(service, queue, priority_pass=text if n % 2 else None) for n in range(8)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes[::2]] == [JoinAnswer] * 4
    assert Counter(type(outcome) for outcome in outcomes[1::2]) == {JoinAnswer: 1, PassInvalid: 3}


async def test_staff_give_levels_and_have_no_limits(service: Fairline, make_queue: MakeQueue) -> None:
    queue = await make_queue(join_limit_per_ip=1, one_per="none")
    desk = Caller(address="203.0.113.9", staff="ann")
    for _ in range(5):
        await join(service, queue, desk)
    ahead = await join(service, queue, Caller(address="203.0.113.9", staff="ann", priority=3))
    assert (ahead.ticket_status.position, ahead.ticket_status.priority) == (1, 3)
    for level in (-1, 4):
        with pytest.raises(InvalidRequest, match="priority"):
            await join(service, queue, Caller(staff="ann", priority=level))
    await join(service, queue, Caller(address="203.0.113.9"))
    with pytest.raises(RateLimited) as refused:
        await join(service, queue, Caller(address="203.0.113.9"))
    assert refused.value.who == "address"
    assert refused.value.retry_after == 60
    assert await joined_total(service, queue) == 7
