"""The store and the model: openings and draws, which are done to both."""

from __future__ import annotations

import random

from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec.structs import replace

from fairline.domain.events import EventType
from fairline.domain.opening import Phase
from fairline.domain.order import PriorityPolicy
from tests.store.both import Both
from tests.store.chances import one_of

openings = one_of("one", "two")
parts = st.dictionaries(one_of("sealed", "closed", "tree:0:0"), one_of(b"", b"\0", b"\xff\n" * 40), max_size=3)


class DrawRules(Both):
    """What may happen around a draw."""

    def enter(self, phase: Phase) -> None:
        new, version = replace(self.model.settings, phase=phase), self.model.version
        told = (EventType.PREQUEUE_CLOSED, "one")
        self.both(
            self.store.configure(self.queue, new, version, event=told),
            lambda: self.model.configure(new, version, told),
        )

    @rule(opening=openings, seed=st.integers(0, 9))
    def freeze_draw(self, opening: str, seed: int) -> None:
        new = opening not in self.model.frozen
        self.both(self.store.freeze_draw(self.queue, opening), lambda: self.model.freeze_draw(opening))
        self.draw_members(0, 1000)
        if new:
            order = random.Random(seed).sample(self.model.members, len(self.model.members))
            self.orders[opening] = self.model.drawn(opening, order), self.model.settings.priority_policy

    @rule(first=one_of(0, 0, 1, 7), limit=one_of(1, 5, 1000))
    def draw_members(self, first: int, limit: int) -> None:
        self.both(self.store.draw_members(self.queue, first, limit), lambda: self.model.draw_members(first, limit))

    @rule(opening=openings, first=one_of(0, 0, 3), many=one_of(2, 10, 1000))
    def place_drawn(self, opening: str, first: int, many: int) -> None:
        order, policy = self.orders.get(opening, ([], PriorityPolicy.SKIP))
        drawn = order[first : first + many]
        self.both(
            self.store.place_drawn(self.queue, opening, drawn),
            lambda: self.model.place_drawn(opening, drawn, policy),
        )

    @rule(opening=openings, kept=parts, once=st.booleans())
    def keep_draw(self, opening: str, kept: dict[str, bytes], once: bool) -> None:
        self.both(
            self.store.keep_draw(self.queue, opening, kept, once=once),
            lambda: self.model.keep_draw(opening, kept, once=once),
        )
        names = ["sealed", "closed", "tree:0:0"]
        self.both(self.store.draw_parts(self.queue, opening, names), lambda: self.model.draw_parts(opening, names))

    @rule(gone=st.lists(openings, max_size=2))
    def forget_draws(self, gone: list[str]) -> None:
        self.both(self.store.forget_draws(self.queue, gone), lambda: self.model.forget_draws(gone))
        for opening in gone:
            self.orders.pop(opening, None)
