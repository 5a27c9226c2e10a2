"""Errors that concern a queue: it does not exist, its settings changed, or it accepts or calls nobody now."""

from __future__ import annotations

from fairline.errors.base import NotFound, Refused


class QueueNotFound(NotFound):
    """No queue has this id."""

    code = "queue_not_found"

    def __init__(self, queue: str) -> None:
        super().__init__(f"There is no queue {queue!r}. Create it, or check the name.")
        self.queue = queue


class RevisionNotFound(NotFound):
    """The settings never had this version, or it is too old."""

    code = "revision_not_found"

    def __init__(self, queue: str, version: int) -> None:
        super().__init__(
            f"The history of queue {queue!r} has no version {version}: the settings never had it, or it is too old. "
            "Read the history to see the versions."
        )


class QueueExists(Refused):
    """A queue with this id exists already."""

    code = "queue_exists"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Queue {queue!r} exists already. Change its settings, or choose another name.")


class SettingsChanged(Refused):
    """Someone else changed the settings since they were read."""

    code = "settings_changed"

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"The settings are at version {found}, not {expected}. Read them again, then change them.")
        self.found = found


class QueueFull(Refused):
    """The line is as long as `max_queue_size` allows."""

    code = "queue_full"

    def __init__(self, queue: str, waiting: int, retry_after: float = 30) -> None:
        super().__init__(
            f"Queue {queue!r} is full ({waiting:,} waiting). Try again in {retry_after:g} s, or raise max_queue_size.",
            retry_after=retry_after,
        )


class QueueMaintenance(Refused):
    """The queue accepts nobody while it is in maintenance."""

    code = "queue_maintenance"

    def __init__(self, queue: str, retry_after: float = 60) -> None:
        super().__init__(
            f"Queue {queue!r} is in maintenance and accepts nobody now. Try again in {retry_after:g} s.",
            retry_after=retry_after,
        )


class QueueClosed(Refused):
    """The queue accepts nobody outside its opening hours, and nobody who could not be served before it closes."""

    code = "queue_closed"

    def __init__(
        self, queue: str, *, early: bool = False, opens_at: int | None = None, retry_after: float = 60
    ) -> None:
        problem = "accepts nobody else today: the line is as long as can be served" if early else "is closed"
        super().__init__(f"Queue {queue!r} {problem}. Come back when it opens again.", retry_after=retry_after)
        self.early = early
        self.opens_at = opens_at
        """When it opens, in milliseconds since 1970; None if that is not known."""


class QueuePaused(Refused):
    """Nobody can be called while the queue is not active, not even by staff."""

    code = "queue_paused"

    def __init__(self, queue: str, status: str) -> None:
        super().__init__(f"Queue {queue!r} is {status}, so nobody can be called. Set its status to active first.")


class QueueHeldBack(Refused):
    """Nobody can be called or moved up before the opening of the queue has started, not even by staff."""

    code = "queue_held_back"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"The opening of queue {queue!r} has not started yet, so this is not possible now. Wait for its start, or "
            "delete the opening."
        )


class GroupsOff(Refused):
    """Nobody can wait as a group in this queue."""

    code = "groups_off"

    def __init__(self, queue: str) -> None:
        super().__init__(f"Queue {queue!r} takes no groups. Join without one, or ask its operator to set group_size.")


class GroupGone(Refused):
    """Nobody of the group waits any more, or its place was drawn, so nobody else can join it."""

    code = "group_gone"

    def __init__(self) -> None:
        super().__init__(
            "This group takes nobody else: its turn has come, its place was drawn, or nobody of it waits. Join "
            "without the group."
        )


class GroupFull(Refused):
    """As many wait in the group as the queue allows."""

    code = "group_full"

    def __init__(self) -> None:
        super().__init__("This group is full. Join without it, or wait until someone leaves it.")


class InGroup(Refused):
    """Someone who waits together with others cannot change places alone."""

    code = "in_group"

    def __init__(self) -> None:
        super().__init__("They wait together with others, so their place cannot change alone.")


class OpeningNotFound(NotFound):
    """The queue has no opening with this id."""

    code = "opening_not_found"

    def __init__(self, queue: str, opening: str) -> None:
        super().__init__(
            f"Queue {queue!r} has no opening {opening!r}: it never had, or it was deleted. List the openings to see "
            "those there are."
        )


class OpeningOverlaps(Refused):
    """Two openings of one queue would be in progress at the same time."""

    code = "opening_overlaps"

    def __init__(self, other: str, *, endless: bool) -> None:
        more = " which has no end. Give it one, or delete it." if endless else " Choose other times, or change those."
        super().__init__(f"It overlaps with the opening {other!r}{',' if endless else '.'}{more}")
        self.other = other


class DrawUnderWay(Refused):
    """An opening cannot be changed or deleted while its order is drawn."""

    code = "draw_under_way"

    def __init__(self) -> None:
        super().__init__(
            "The order of this opening is being drawn. Try again once it has started, in a few seconds.", retry_after=5
        )


class TooManyOpenings(Refused):
    """The queue has as many openings ahead of it as it may have."""

    code = "too_many_openings"

    def __init__(self, most: int) -> None:
        super().__init__(f"A queue has at most {most} openings that have not ended. Delete some first.")


class RehearsalRunning(Refused):
    """Another opening is being rehearsed on this server."""

    code = "rehearsal_running"

    def __init__(self) -> None:
        super().__init__("Another rehearsal is running. Wait until it is over: it takes less than a minute.")


class DrawNotFound(NotFound):
    """There is no such draw, or this ticket was not in it."""

    code = "draw_not_found"

    def __init__(self, problem: str = "") -> None:
        super().__init__(
            problem or "There is no such draw: its pre-queue has not opened yet, or its opening was deleted."
        )


class AtCapacity(Refused):
    """Nobody can be called while the inside is full or sold out."""

    code = "at_capacity"

    def __init__(self, queue: str) -> None:
        super().__init__(
            f"Queue {queue!r} has no free capacity inside. Wait until someone is done, or raise max_active or the "
            "stock.",
            retry_after=5,
        )
