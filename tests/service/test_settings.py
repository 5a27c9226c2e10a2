"""Settings: a change counts at once and is never lost, and nothing is promised that they do not allow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairline.domain.queue import QueueId
from fairline.errors import InvalidSettings, QueueNotFound, SettingsChanged
from fairline.service.fairline import Fairline
from tests.backends import FakeClock
from tests.conftest import MakeQueue
from tests.service.people import OpenService, join

SERVICE = "https://shop.test/seats"


async def test_a_change_by_another_worker_counts_from_the_very_next_answer(
    open_service: OpenService, service: Fairline, make_queue: MakeQueue
) -> None:
    queue = await make_queue(ticket_prefix="OLD", admission_rate=1)
    other = await open_service()
    await join(service, queue)
    assert (await service.status(queue, 1)).label == "ROLD-000001"
    for prefix in ("NEW", "NEWER"):
        await other.configure(queue, {"ticket_prefix": prefix})
        assert (await service.status(queue, 1)).label == f"R{prefix}-000001"
        assert (await service.heartbeat(queue, 1)).label == f"R{prefix}-000001"
        assert (await join(service, queue)).settings.ticket_prefix == prefix
        assert (await service.snapshot(queue))[1].ticket_prefix == prefix


async def test_settings_are_read_again_only_when_they_changed(
    service: Fairline, make_queue: MakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await make_queue()
    await join(service, queue)

    async def no_more(_: QueueId) -> None:
        raise AssertionError("they were read again")

    monkeypatch.setattr(service.store, "settings", no_more)
    await join(service, queue)
    await service.heartbeat(queue, 1)


async def test_a_queue_recreated_by_another_worker_is_not_taken_for_the_old_one(
    open_service: OpenService, service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(ticket_prefix="OLD")
    other = await open_service()
    assert (await join(service, queue)).label == "ROLD-000001"
    await other.delete(queue)
    for ask in (service.status, service.heartbeat):
        with pytest.raises(QueueNotFound):
            await ask(queue, 1)
    clock.advance(1)
    await other.create(queue, {"ticket_prefix": "NEW"})
    assert (await join(service, queue)).label == "RNEW-000001"


async def test_a_change_to_settings_that_were_changed_meanwhile_is_refused(
    open_service: OpenService, service: Fairline, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    read = (await service.settings(queue)).version
    changed = await (await open_service()).configure(queue, {"name": "Theirs"})
    assert changed.version == read + 1
    with pytest.raises(SettingsChanged) as refused:
        await service.configure(queue, {"name": "Ours"}, read)
    assert refused.value.found == changed.version
    assert (await service.settings(queue)).settings.name == "Theirs"
    assert (await service.configure(queue, {"name": "Ours"}, changed.version)).settings.name == "Ours"


async def test_changes_of_different_settings_at_once_all_survive(
    open_service: OpenService, make_queue: MakeQueue
) -> None:
    queue = await make_queue()
    changes: list[dict[str, Any]] = [
        {"name": "Sale"},
        {"admission_rate": 3.5},
        {"max_active": 7},
        {"max_queue_size": 11},
        {"claim_seconds": 13.0},
        {"ticket_prefix": "X"},
        {"closed_message": "Closed."},
        {"priority_policy": "strict"},
    ]
    services = [await open_service() for _ in range(4)]
    before = (await services[0].settings(queue)).version
    await asyncio.gather(*(services[n % 4].configure(queue, change) for n, change in enumerate(changes)))
    after = await services[0].settings(queue)
    for change in changes:
        for name, value in change.items():
            assert getattr(after.settings, name) == value
    assert after.version == before + len(changes)


async def test_stock_is_set_once_whichever_worker_is_first(open_service: OpenService, make_queue: MakeQueue) -> None:
    queue = await make_queue(stock_url=SERVICE)
    services = [await open_service() for _ in range(4)]
    answers = await asyncio.gather(*(services[n % 4].set_stock(queue, n, source_url=SERVICE) for n in range(20)))
    stocks = {answer.settings.stock for answer in answers}
    assert len(stocks) == 1
    assert (await services[0].settings(queue)).settings.stock in stocks
    assert (await services[0].set_stock(queue, 500)).settings.stock == 500
    assert (await services[0].set_stock(queue, 7, source_url=SERVICE)).settings.stock == 500
    assert (await services[0].set_stock(queue, None)).settings.stock is None
    assert (await services[0].set_stock(queue, 7, source_url="https://other.test/")).settings.stock is None
    for bad in (-1, 10**10, 1.5, "5"):
        with pytest.raises(InvalidSettings, match="stock"):
            await services[0].set_stock(queue, bad)  # type: ignore[arg-type]


async def test_estimates_are_given_where_something_honest_can_be_said(
    service: Fairline, make_queue: MakeQueue, clock: FakeClock
) -> None:
    queue = await make_queue(admission_rate=2, stock=25)
    answers = [await join(service, queue) for _ in range(30)]
    waits = [answer.wait for answer in answers]
    twentieth = waits[19]
    assert twentieth
    assert twentieth.seconds == 9.5, "a token is there for the first, and each of the others waits for half a second"
    assert twentieth.low <= 9.5 <= twentieth.high
    assert waits[29] is None, "it will be sold out"
    likeliest = [wait.seconds for wait in waits if wait]
    assert len(likeliest) == 25
    assert likeliest == sorted(likeliest)
    await service.configure(queue, {"status": "paused"})
    assert (await service.status(queue, 1)).wait is None
