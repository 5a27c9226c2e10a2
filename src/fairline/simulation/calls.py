"""Many calls of the service at once, as simulated people make them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeVar

from fairline.aio.grouping import GroupedCall
from fairline.errors import FairlineError, StoreError
from fairline.store import MAX_BATCH

T = TypeVar("T")


def batches(items: Sequence[T]) -> Iterable[Sequence[T]]:
    """A list in parts that one call can take."""
    return (items[first : first + MAX_BATCH] for first in range(0, len(items), MAX_BATCH))


async def all_answers(calls: Iterable[GroupedCall[T]]) -> list[T | FairlineError]:
    """Make many calls at once and wait for all answers; a FairlineError counts as an answer."""
    answers: list[T | FairlineError] = []
    waiting = list(calls)
    for first in range(0, len(waiting), MAX_BATCH):
        batch = await _one_batch(waiting[first : first + MAX_BATCH])
        answers.extend(batch)
    return answers


async def _one_batch(calls: Sequence[GroupedCall[T]]) -> Sequence[T | FairlineError]:
    done = asyncio.get_running_loop().create_future()
    answers: list[T | FairlineError] = []

    def keep(answer: T | Exception) -> None:
        if isinstance(answer, StoreError) or (isinstance(answer, Exception) and not isinstance(answer, FairlineError)):
            if not done.done():
                done.set_exception(answer)
            return
        answers.append(answer)
        if len(answers) == len(calls) and not done.done():
            done.set_result(None)

    for call in calls:  # they are sent in this order and answered in it
        call.then(keep)
    await done
    return answers
