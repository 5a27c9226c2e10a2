"""Draws: who is in one, and the places that were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairline.domain.draw import Member
from fairline.domain.order import BAND, SPAN, PriorityPolicy
from fairline.store.values import Drawn, Frozen
from tests.model.order import beside, turn_of
from tests.model.state import State


class Draws(State):
    """A queue whose order can be drawn."""

    def freeze_draw(self, opening: str) -> Frozen:
        if opening not in self.frozen:
            everyone = sorted([*self.line(), *self.aside()], key=lambda t: t.place)
            there = [t for t in everyone if t.due is None or t.due > self.clock]
            entries = {t.group or -t.number: t.number for t in sorted(there, key=lambda t: -t.number)}
            self.members = [t.number for t in there if t.number in entries.values()]
            self.entered = {number: group for group, number in entries.items() if group > 0}
            self.frozen[opening] = Frozen(len(self.members), self.order.count + 1)
            self.order.count += len(self.members)
        return self.frozen[opening]

    def draw_members(self, first: int, limit: int) -> list[Member]:
        found = ((number, self.find(number)) for number in self.members[first : first + limit])
        return [Member(number, t.level if t else 0) for number, t in found]

    def drawn(self, opening: str, numbers: Sequence[int]) -> list[Drawn]:
        """The places of the members in this order: the turns that were set aside, and the bands of their levels."""
        strict = self.settings.priority_policy is PriorityPolicy.STRICT
        levels = {n: t.level if strict and (t := self.find(n)) else 0 for n in numbers}
        first = self.frozen[opening].first_turn
        return [Drawn(n, (first + at) * SPAN - levels[n] * BAND, at + 1) for at, n in enumerate(numbers)]

    def place_drawn(self, opening: str, drawn: Sequence[Drawn], policy: PriorityPolicy) -> None:
        for each in self._with_company(drawn):
            t = self.find(each.number)
            if t is None or t.drawn_in == opening:
                continue
            t.place, t.drawn_rank, t.drawn_in, t.policy = float(each.place), each.rank, opening, policy
            if t.level:
                self.order.last[t.level] = max(turn_of(t.place), self.order.last.get(t.level, -BAND))

    def _with_company(self, drawn: Sequence[Drawn]) -> list[Drawn]:
        """The others of a group get places beside the one who was in the draw for all of them."""
        others = []
        for number, place, rank in drawn:
            company = [t for t in self.company(self.entered.get(number, 0)) if t.number != number]
            first = beside(place, ())
            others += [Drawn(t.number, first + at, rank) for at, t in enumerate(company, 1)]
        return [*drawn, *others]

    def keep_draw(self, opening: str, parts: Mapping[str, bytes], *, once: bool) -> dict[str, bytes]:
        kept = self.parts.setdefault(opening, {})
        self.parts[opening] = {**kept, **parts, **(kept if once else {})}
        return {name: self.parts[opening][name] for name in parts}

    def draw_parts(self, opening: str, names: Sequence[str]) -> dict[str, bytes]:
        kept = self.parts.get(opening, {})
        return {name: kept[name] for name in names if name in kept}

    def forget_draws(self, openings: Sequence[str]) -> None:
        for each in openings:
            self.frozen.pop(each, None)
            self.parts.pop(each, None)
