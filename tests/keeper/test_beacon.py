"""Public randomness for draws: from a network of drand that signs each round, and never at the price of a late sale."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from fairline.domain.drand import QUICKNET_URLS, randomness_of
from fairline.domain.queue import QueueId
from fairline.domain.tokens import Keyring
from fairline.errors import AddressRefused, ServiceFailed
from fairline.keeper import beacon as beacon_module
from fairline.keeper.beacon import Drand
from fairline.keeper.drawing import BEACON_SECONDS, ROOT_SECONDS
from fairline.keeper.keeper import Keeper
from fairline.service.draws import Draws, DrawState, draw_id
from fairline.service.fairline import Fairline
from fairline.service.openings import Openings
from fairline.store import Arrival, Store
from tests.backends import PATIENCE_SECONDS, FakeClock, free_ports
from tests.drand import CHAIN, FakeDrand, fake_drand, right, sign
from tests.keeper.crew import OpenStores, comes_true

SALE = QueueId("sale")
PEOPLE = 20


@pytest.fixture
def drand() -> Iterator[FakeDrand]:
    with fake_drand() as found:
        yield found


def mirrors(*urls: str) -> Drand:
    return Drand(CHAIN, urls, private=True)


def nobody() -> str:
    """An address at which nobody listens."""
    return f"http://127.0.0.1:{free_ports(1)[0]}"


class Night:
    """An opening whose pre-queue has just closed: the order is being drawn."""

    def __init__(self, store: Store, clock: FakeClock, opening: str, starts_ms: int, drawing: asyncio.Task[None]):
        self._store = store
        self._clock = clock
        self._drawing = drawing
        self._opening = opening
        self.appears = CHAIN.appears_at(CHAIN.round_after(starts_ms + int(1000 * ROOT_SECONDS)))
        """When the round appears."""

    async def state(self) -> DrawState:
        return await Draws(self._store).state(draw_id(SALE, self._opening))

    def set_clock(self, after_the_round: float) -> None:
        """Set the store's clock to this many seconds after the round has appeared."""
        self._clock.now = self.appears + round(1000 * after_the_round)

    @property
    def is_drawn(self) -> bool:
        return self._drawing.done()

    async def outcome(self) -> DrawState:
        """What is published once the order is drawn, and the sale has begun."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._drawing
        settings = (await self._store.settings(SALE)).settings
        assert [each.state for each in settings.openings] == ["open"]
        return await self.state()


@asynccontextmanager
async def closed_prequeue(open_stores: OpenStores, beacon: Drand) -> AsyncIterator[Night]:
    clock = FakeClock()
    (store,) = await open_stores(1, clock)
    service = Fairline(store, Keyring(b"s" * 32))
    await service.create(SALE, {"status": "maintenance", "heartbeat_timeout_seconds": 3600})
    now = datetime.fromtimestamp(clock.now / 1000, UTC)
    times = {"prequeue_at": now + timedelta(seconds=10), "starts_at": now + timedelta(seconds=20)}
    opening = (await Openings(service).create(SALE, {**times, "draw": "random"})).opening
    openings = Keeper(store, beacon=beacon).openings
    clock.advance(10)
    assert await openings.take(SALE)
    await store.join(SALE, [Arrival()] * PEOPLE)
    before = await Draws(store).state(draw_id(SALE, opening.id))
    assert (before.chain, before.round) == (CHAIN.id, CHAIN.round_after(opening.starts_ms + int(1000 * ROOT_SECONDS)))
    clock.advance(10)

    async def take_steps() -> None:
        while await openings.take(SALE):
            pass

    night = Night(store, clock, opening.id, opening.starts_ms, asyncio.create_task(take_steps()))
    try:

        async def root_is_published() -> bool:
            return (await night.state()).root is not None

        await comes_true(root_is_published, "no root was published")
        assert (await night.state()).randomness is None
        yield night
    finally:
        night._drawing.cancel()
        await service.close()


async def test_a_draw_uses_the_round_that_was_named_before_anyone_joined(
    open_stores: OpenStores, drand: FakeDrand
) -> None:
    async with closed_prequeue(open_stores, mirrors(drand.url)) as night:
        night.set_clock(-0.1)
        assert not drand.asked, "it asked for a round that cannot have appeared"
        night.set_clock(0)
        drawn = await night.outcome()
        assert drawn.round is not None
        assert drawn.signature == sign(drawn.round)
        assert drawn.randomness == randomness_of(sign(drawn.round))
        assert (drawn.count, drawn.randomness_missing) == (PEOPLE, None)
        assert drand.asked == [f"/{CHAIN.id}/public/{drawn.round}"]


async def test_the_next_mirror_is_asked_where_one_is_away_wrong_or_silent(
    drand: FakeDrand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beacon_module, "MIRROR_SECONDS", 0.2)
    with fake_drand() as wrong, socket.create_server(("127.0.0.1", 0)) as silent:
        for trouble in (
            (200, {"round": 7, "signature": sign(8).hex()}),
            (200, {"round": 7, "signature": sign(7, key=99).hex()}),
            (200, {"round": 7, "signature": "not hex"}),
            (200, {"round": 7}),
            (200, ["nothing"]),
            (425, {"message": "too early"}),
            (500, {}),
        ):
            wrong.answer = partial(_said, trouble)
            assert await mirrors(wrong.url, drand.url).signature(7) == sign(7), trouble
        port = silent.getsockname()[1]
        assert await mirrors(nobody(), f"http://127.0.0.1:{port}", drand.url).signature(7) == sign(7)


def _said(answer: tuple[int, object], number: int) -> tuple[int, object]:
    return answer


async def test_a_wrong_signature_is_refused_and_the_secret_decides_alone(
    open_stores: OpenStores, drand: FakeDrand
) -> None:
    drand.answer = lambda number: (200, {"round": number, "signature": sign(number, key=99).hex()})
    async with closed_prequeue(open_stores, mirrors(drand.url)) as night:
        await _decided_by_the_secret(night, drand, "its signature is wrong")


async def test_a_round_that_does_not_appear_holds_the_sale_up_for_a_bounded_time(
    open_stores: OpenStores, drand: FakeDrand
) -> None:
    drand.answer = lambda _: (404, {})
    async with closed_prequeue(open_stores, mirrors(drand.url)) as night:
        await _decided_by_the_secret(night, drand, "it answered with status 404")


async def _decided_by_the_secret(night: Night, drand: FakeDrand, why: str) -> None:
    night.set_clock(BEACON_SECONDS - 0.01)

    async def asked_again() -> bool:
        return len(drand.asked) > 1

    await comes_true(asked_again, "it did not try again while there was time")
    assert not night.is_drawn, "it gave up while there was time"
    night.set_clock(BEACON_SECONDS)
    drawn = await night.outcome()
    assert drawn.count == PEOPLE
    assert (drawn.randomness, drawn.signature) == (None, None)
    assert drawn.secret is not None
    assert drawn.randomness_missing == f"the beacon could not be asked: 127.0.0.1: {why}"
    assert drawn.drawn_at is not None
    assert drawn.drawn_at <= night.appears + 1000 * BEACON_SECONDS


async def test_a_beacon_that_nobody_reaches_does_not_hold_the_sale_up(open_stores: OpenStores) -> None:
    async with closed_prequeue(open_stores, mirrors(nobody(), nobody())) as night:
        night.set_clock(BEACON_SECONDS)
        drawn = await night.outcome()
        assert (drawn.count, drawn.randomness) == (PEOPLE, None)
        assert "no connection" in str(drawn.randomness_missing)


async def test_a_round_that_appears_late_but_in_time_counts(open_stores: OpenStores, drand: FakeDrand) -> None:
    def late(number: int) -> tuple[int, object]:
        return right(number) if len(drand.asked) > 2 else (425, {})

    drand.answer = late
    async with closed_prequeue(open_stores, mirrors(drand.url)) as night:
        night.set_clock(1)
        drawn = await night.outcome()
        assert drawn.signature == sign(drawn.round or 0)


async def test_a_keeper_that_comes_long_after_the_round_still_asks_for_it(
    open_stores: OpenStores, drand: FakeDrand
) -> None:
    # Otherwise an outage, or an operator who waits, could choose between two orders without a trace.
    async with closed_prequeue(open_stores, mirrors(drand.url)) as night:
        night.set_clock(3600)
        drawn = await night.outcome()
        assert drawn.signature == sign(drawn.round or 0)


async def test_a_prequeue_that_closes_after_its_round_has_appeared_does_not_use_it(
    open_stores: OpenStores, drand: FakeDrand
) -> None:
    clock = FakeClock()
    (store,) = await open_stores(1, clock)
    service = Fairline(store, Keyring(b"s" * 32))
    await service.create(SALE, {"status": "maintenance", "heartbeat_timeout_seconds": 3600})
    now = datetime.fromtimestamp(clock.now / 1000, UTC)
    times = {"prequeue_at": now + timedelta(seconds=10), "starts_at": now + timedelta(seconds=20)}
    opening = (await Openings(service).create(SALE, {**times, "draw": "random"})).opening
    openings = Keeper(store, beacon=mirrors(drand.url)).openings
    clock.advance(10)
    assert await openings.take(SALE)
    await store.join(SALE, [Arrival()] * PEOPLE)
    clock.advance(60)  # no keeper ran in that time
    while await openings.take(SALE):
        pass
    drawn = await Draws(store).state(draw_id(SALE, opening.id))
    assert drawn.randomness_missing == "the pre-queue closed after the round had appeared"
    assert (drawn.count, drawn.signature, drand.asked) == (PEOPLE, None, [])
    await service.close()


async def test_addresses_that_the_operator_did_not_choose_are_never_private(drand: FakeDrand) -> None:
    with pytest.raises(ServiceFailed, match="leads to a private address") as refused:
        await Drand(CHAIN, [drand.url]).signature(7)
    assert not isinstance(refused.value, AddressRefused)
    assert not drand.asked


def test_all_mirrors_together_have_as_long_as_the_draw_waits() -> None:
    assert beacon_module.MIRROR_SECONDS * len(QUICKNET_URLS) <= BEACON_SECONDS
