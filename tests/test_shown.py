"""What people are told of their wait is noted in the background, for a sample, and delays nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.errors import StoreUnavailable
from fairline.service import estimate_samples
from fairline.service.estimate_samples import sampled
from fairline.service.fairline import Fairline
from fairline.store import Estimates, EstimateSample, open_store
from tests.backends import FakeClock, Valkey
from tests.web.inside import until

QUEUE = QueueId("told")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    backend = Valkey(tmp_path_factory.mktemp("shown"))
    yield backend.start()
    backend.stop()


@pytest.fixture
async def service(url: str) -> AsyncIterator[Fairline]:
    opened = Fairline(await open_store(url, clock=FakeClock()), Keyring(b"x" * 32))
    await opened.create(QUEUE, {"admission_rate": 5, "burst": 5, "join_limit_per_ip": 0})
    yield opened
    await opened.close()
    await opened.store.delete(QUEUE)
    await opened.store.close()


async def estimates(service: Fairline) -> Estimates:
    return (await service.stats(QUEUE)).totals.estimates


def test_the_first_are_all_noted_and_then_one_in_ten() -> None:
    assert all(map(sampled, range(1, 201)))
    assert [number for number in range(201, 231) if sampled(number)] == [210, 220, 230]


async def test_what_a_join_was_answered_with_is_compared_with_the_wait(
    service: Fairline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate_samples, "DELAY_SECONDS", 0.05)
    noting = Fairline(service.store, service.keyring)
    welcome = await noting.join(QUEUE, JoinRequest(client_id="a client of its own"), Caller())
    assert welcome.wait
    await noting.join(QUEUE, JoinRequest(client_id="a client of its own"), Caller())  # held: told again, noted once
    await service.store.admit(QUEUE, 1)

    async def compared() -> bool:
        return (await estimates(service)).compared == 1

    await until(compared)
    await noting.close()
    assert (await estimates(service)).compared == 1


async def test_a_store_that_is_away_costs_the_sample_and_nothing_else(
    service: Fairline, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(queue: QueueId, noted: list[EstimateSample]) -> None:
        raise StoreUnavailable("for the test")

    with monkeypatch.context() as cut:
        cut.setattr(service.store, "record_estimates", away)
        await service.join(QUEUE, JoinRequest(client_id="a client of its own"), Caller())
        await service.close()
    await service.store.admit(QUEUE, 1)
    await service.close()
    assert await estimates(service) == Estimates()


async def test_where_no_wait_is_told_nothing_is_noted(service: Fairline) -> None:
    await service.configure(QUEUE, {"status": "paused"})
    await service.join(QUEUE, JoinRequest(client_id="a client of its own"), Caller())
    await service.close()
    await service.configure(QUEUE, {"status": "active"})
    await service.store.admit(QUEUE, 1)
    assert await estimates(service) == Estimates()
