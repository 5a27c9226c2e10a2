"""The history of a queue's settings: what each change changed, and the way back to how they were."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from fairline.domain.queue import QueueId, QueueSettings
from fairline.errors import InvalidRequest, RevisionNotFound
from fairline.store import Revision, Store

#: At most so many revisions are shown at once.
REVISIONS = 200


class Change(Struct, frozen=True):
    """What one setting was, and what it became."""

    before: Any = field(name="from")
    after: Any = field(name="to")


class RevisionChanges(Struct, frozen=True):
    """A revision, and what it changed; None where the one before it is not kept any more."""

    revision: Revision
    changes: dict[str, Change] | None


class HistoryPage(Struct, frozen=True):
    """Some of a history, newest first, and the version to go on before; None at its end."""

    changed: list[RevisionChanges]
    cursor: int | None


async def history_page(store: Store, queue: QueueId, before: int | None, limit: int) -> HistoryPage:
    """Some of a queue's history. One more than is shown is read: a change is seen beside the one before it."""
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
    """The settings as they were at a version, or RevisionNotFound."""
    for revision in await store.history(queue, max(version, 0) + 1, 1):
        if revision.version == version:
            return revision.settings
    raise RevisionNotFound(queue, version)


def _changes(revision: Revision, older: Revision | None) -> dict[str, Change] | None:
    """What a revision changed. A queue is made by changing the defaults."""
    if older is None and not revision.first:
        return None
    was = msgspec.to_builtins(older.settings if older else QueueSettings())
    now = msgspec.to_builtins(revision.settings)
    return {name: Change(was[name], value) for name, value in now.items() if was[name] != value}
