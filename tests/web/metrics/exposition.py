"""Reads the text of /metrics as strictly as `promtool check metrics` does, and a little more."""

from __future__ import annotations

import math
import re
from collections import defaultdict

from msgspec import Struct

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\.)*)"')
#: What a base unit is called otherwise, and how names end that promtool warns of.
_NO_UNITS = {"milliseconds", "ms", "minutes", "hours", "days", "kilobytes", "kb", "mb", "percent", "sec", "secs"}
_SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",), "summary": ("",)}
#: Labels that the whole of a server may have, and no stranger can add to.
LABELS = {
    "queue_id",
    "status",
    "state",
    "reason",
    "call",
    "kind",
    "outcome",
    "round",
    "version",
    "le",
    "wait_from_seconds",
}

Labels = tuple[tuple[str, str], ...]


class Family(Struct):
    """One metric."""

    name: str
    about: str
    kind: str = ""
    samples: dict[tuple[str, Labels], float] = {}

    def labels(self) -> set[str]:
        """The names of all its labels."""
        return {name for _, labels in self.samples for name, _ in labels}


class Exposition:
    """A reading of /metrics."""

    def __init__(self, text: str) -> None:
        self.families: dict[str, Family] = {}
        self.problems: list[str] = []
        assert text.endswith("\n"), "the last line must end"
        for line in text.splitlines():
            self._read(line)
        for family in self.families.values():
            self._check(family)

    def metrics(self) -> dict[str, set[str]]:
        """The names a query may use, each with the labels it has; without samples, those that are not known."""
        found: dict[str, set[str]] = defaultdict(set)
        for family in self.families.values():
            ends = _SUFFIXES[family.kind]
            for end in ends:
                found[family.name.removesuffix(end) + end] |= family.labels() - ({"le"} if end != "_bucket" else set())
        return found

    def _read(self, line: str) -> None:
        if line.startswith("# HELP "):
            _, _, name, about = line.split(" ", 3)
            if name in self.families:
                self.problems.append(f"{name} is told twice")
            self.families[name] = Family(name, about, samples={})
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name != self._last().name or self._last().samples:
                self.problems.append(f"{name}: TYPE must follow its HELP")
            self._last().kind = kind
        else:
            self._sample(line)

    def _sample(self, line: str) -> None:
        found = _SAMPLE.fullmatch(line)
        if not found:
            self.problems.append(f"no sample: {line}")
            return
        name, labels, value = found.groups()
        key = name, tuple(sorted(_LABEL.findall(labels or "")))
        family = self._last()
        if key in family.samples:
            self.problems.append(f"{line} is told twice")
        if name not in {family.name.removesuffix(end) + end for end in _SUFFIXES.get(family.kind, ("",))}:
            self.problems.append(f"{name} does not belong to {family.name}, a {family.kind}")
        family.samples[key] = float(value)

    def _last(self) -> Family:
        return next(reversed(self.families.values()))

    def _check(self, family: Family) -> None:
        name, kind = family.name, family.kind
        if not _NAME.fullmatch(name) or not name.startswith(("fairline_", "waiting_room_")):
            self.problems.append(f"{name}: not one of our names")
        if not family.about.endswith("."):
            self.problems.append(f"{name}: HELP must be a sentence")
        if kind not in _SUFFIXES:
            self.problems.append(f"{name}: type {kind!r}")
        if (kind == "counter") != name.endswith("_total"):
            self.problems.append(f"{name}: counters end in _total, and nothing else does")
        if _NO_UNITS & set(name.split("_")):
            self.problems.append(f"{name}: not in base units")
        if unknown := family.labels() - LABELS:
            self.problems.append(f"{name}: labels {unknown} are not known to be bounded")
        for (_, labels), value in family.samples.items():
            if not math.isfinite(value) or (kind != "gauge" and value < 0):
                self.problems.append(f"{name}{labels}: {value}")
        if kind == "histogram":
            self._check_histogram(family)

    def _check_histogram(self, family: Family) -> None:
        buckets: defaultdict[Labels, list[tuple[float, float]]] = defaultdict(list)
        for (name, labels), value in family.samples.items():
            if name.endswith("_bucket"):
                rest = tuple(label for label in labels if label[0] != "le")
                buckets[rest].append((float(dict(labels)["le"]), value))
        for rest, found in buckets.items():
            counts = [count for _, count in found]
            total = family.samples.get((f"{family.name}_count", rest))
            if [bound for bound, _ in found] != sorted({bound for bound, _ in found}) or found[-1][0] != math.inf:
                self.problems.append(f"{family.name}{rest}: bounds {found}")
            if counts != sorted(counts) or counts[-1] != total or (f"{family.name}_sum", rest) not in family.samples:
                self.problems.append(f"{family.name}{rest}: {counts}, in all {total}")
