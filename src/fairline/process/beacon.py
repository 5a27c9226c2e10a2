"""The source of public randomness that the settings of a server name."""

from __future__ import annotations

import asyncio
import time

from fairline.domain.drand import QUICKNET, QUICKNET_URLS, Chain
from fairline.errors import ServiceFailed
from fairline.keeper.beacon import Drand
from fairline.keeper.drawing import BEACON_SECONDS
from fairline.settings import BeaconKind, ServerSettings


def beacon_of(settings: ServerSettings) -> Drand | None:
    """The beacon that draws are to use; None if the secret of the server is to decide alone."""
    if settings.beacon is BeaconKind.OFF:
        return None
    chain = QUICKNET
    if settings.beacon_chain:
        chain = Chain(
            id=settings.beacon_chain,
            public_key=settings.beacon_public_key,
            genesis=settings.beacon_genesis,
            period=settings.beacon_period_seconds,
        )
    # The operator of the server has chosen these addresses, and nobody else can: they may be private.
    return Drand(chain, settings.beacon_urls or QUICKNET_URLS, private=bool(settings.beacon_urls))


async def newest_round(beacon: Drand) -> int:
    """The number of the round that has just appeared, after a check of its signature; or ServiceFailed."""
    number = max(1, beacon.round_after(int(1000 * time.time())) - 2)  # mirrors may be a round behind
    try:
        async with asyncio.timeout(BEACON_SECONDS):
            await beacon.signature(number)
    except TimeoutError:
        raise ServiceFailed(f"no answer within {BEACON_SECONDS:g} s") from None
    return number
