"""Public randomness from drand (see domain/drand.py): a round is asked for at one mirror after the other, and counts
only if the network has signed it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from fairline.domain.drand import QUICKNET, QUICKNET_URLS, Chain
from fairline.errors import ServiceFailed
from fairline.keeper.outbound import send

#: How long one mirror is waited for. All of them together get the time that the draw has for its randomness.
MIRROR_SECONDS = 2.5


class _Round(msgspec.Struct):
    """What a mirror says of a round. The rest of its answer follows from this."""

    signature: str


class Drand:
    """A chain of drand, published by some mirrors. `private` says whether these may have private addresses."""

    def __init__(self, chain: Chain = QUICKNET, urls: Sequence[str] = QUICKNET_URLS, *, private: bool = False) -> None:
        self._chain = chain
        self._urls = urls
        self._private = private

    @property
    def chain(self) -> str:
        """The hash of the chain."""
        return self._chain.id

    def round_after(self, ms: int) -> int:
        """The first round that appears after a moment, in milliseconds since 1970."""
        return self._chain.round_after(ms)

    def appears_at(self, number: int) -> int:
        """When a round appears, in milliseconds since 1970."""
        return self._chain.appears_at(number)

    async def signature(self, number: int) -> bytes:
        """The signature of a round, from the first mirror that has the right one, or ServiceFailed."""
        problems = []
        for url in self._urls:
            try:
                return await self._signature(url, number)
            except ServiceFailed as error:
                problems.append(f"{urlsplit(url).hostname}: {error.message}")
        raise ServiceFailed("; ".join(problems))

    async def _signature(self, url: str, number: int) -> bytes:
        address = f"{url}/{self.chain}/public/{number}"
        answer = await send("GET", address, seconds=MIRROR_SECONDS, private=self._private)
        if not answer.ok:
            raise ServiceFailed(f"it answered with status {answer.status}")
        try:
            signature = bytes.fromhex(msgspec.json.decode(answer.body, type=_Round).signature)
        except ValueError:  # includes what is not JSON, or has no signature
            raise ServiceFailed("its answer is not a round of drand") from None
        if not await asyncio.to_thread(self._chain.has_signed, number, signature):
            raise ServiceFailed("its signature is wrong")
        return signature
