"""The history of a queue's settings: who changed what, and the settings at an earlier version."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import InvalidRequest, RevisionNotFound
from fairline.store import Revision, Store

#: The most revisions on one page.
REVISIONS = 200


class Change(Struct, frozen=True):
    """The value of one setting before and after a change."""

    before: Any = field(name="from")
    after: Any = field(name="to")


class RevisionChanges(Struct, frozen=True):
    """A revision and its changes; None if the revision before it has been removed from the history."""

    revision: Revision
    changes: dict[str, Change] | None


class HistoryPage(Struct, frozen=True):
    """A page of the history, newest first. The next page is before the version `cursor`; None at the end."""

    changed: list[RevisionChanges]
    cursor: int | None


async def history_page(store: Store, queue: QueueId, before: int | None, limit: int) -> HistoryPage:
    """Return a page of a queue's history. It reads one revision more, because changes are found by comparison with the
    revision before."""
    if not 1 <= limit <= REVISIONS:
        raise InvalidRequest("limit", f"must be a whole number from 1 to {REVISIONS}; got {limit}")
    if before is not None and before < 1:
        raise InvalidRequest("before", f"must be a version of the settings; got {before}")
    found = await store.history(queue, before, limit + 1)
    shown = [
        RevisionChanges(each, _changes(each, older)) for each, older in zip(found, [*found[1:], None], strict=False)
    ]
    return HistoryPage(shown[:limit], found[limit - 1].version if len(found) > limit else None)


async def settings_at_version(store: Store, queue: QueueId, version: int) -> QueueSettings:
    """Return the settings at a version, or raise RevisionNotFound."""
    for revision in await store.history(queue, max(version, 0) + 1, 1):
        if revision.version == version:
            return revision.settings
    raise RevisionNotFound(queue, version)


def _changes(revision: Revision, older: Revision | None) -> dict[str, Change] | None:
    """The changes of a revision. The first one is compared with the defaults."""
    if older is None and not revision.first:
        return None
    before = msgspec.to_builtins(older.settings if older else QueueSettings())
    after = msgspec.to_builtins(revision.settings)
    return {name: Change(before[name], value) for name, value in after.items() if before[name] != value}
