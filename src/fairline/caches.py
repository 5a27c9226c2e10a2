"""What a process remembers so as not to work it out again, bounded by bytes: it must not grow with how much strangers
send, nor with how many honest people come. All that one process remembers has 32 MB together, of which each kind has
its share. What is forgotten is worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MB = 1_000_000
#: All that one process may remember, in bytes.
MOST = 32 * MB
#: How much of it each kind has.
SHARES = {
    "heads": 14 * MB,
    "ticket tokens": 5 * MB,
    "session tokens": 3 * MB,
    "other tokens": 2 * MB,
    "sessions": 2 * MB,
    "clients": 2 * MB,
    "digests": 1 * MB,
    "errands": 1 * MB,
    "codes": 2 * MB,
}
#: What an entry takes beside its key and its value: a place in a dict that is about half full.
ENTRY = 150


class BoundedCache(Generic[K, V]):
    """Values by key, of at most so many bytes. There are a young and an old half: what is asked for is young again, and
    when the young half is full, the old one is forgotten. So what is used stays, and to ask for it costs little."""

    __slots__ = ("_half", "_old", "_size", "_young")

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._young: dict[K, tuple[V, int]] = {}
        self._old: dict[K, tuple[V, int]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def __contains__(self, key: K) -> bool:
        return key in self._young or key in self._old

    def get(self, key: K) -> V | None:
        """The value of a key; None where there is none any more."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self._keep(key, found)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Remember a value that takes so many bytes with its key; one that would take half of all is not."""
        size += ENTRY
        if size <= self._half:
            self._keep(key, (value, size))

    def keys(self) -> list[K]:
        """All keys, those that were not asked for lately first."""
        return [*(key for key in self._old if key not in self._young), *self._young]

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old, self._size = {}, {}, 0

    def _keep(self, key: K, entry: tuple[V, int]) -> None:
        before = self._young.get(key)
        self._size += entry[1] - (before[1] if before else 0)
        if self._size > self._half:
            self._old, self._young, self._size = self._young, {}, entry[1]
        self._young[key] = entry


def cached(most: int, work: Callable[[K], V], size: Callable[[K, V], int] | None = None) -> Callable[[K], V]:
    """The same function, whose results are remembered."""
    remembered, measure = BoundedCache[K, V](most), size or _size

    def known(key: K) -> V:
        found = remembered.get(key)
        if found is None:
            found = work(key)
            remembered.put(key, found, measure(key, found))
        return found

    return known


def _size(key: object, value: object) -> int:
    return size_in_bytes(key) + size_in_bytes(value)


def size_in_bytes(value: object) -> int:
    """How many bytes a plain value takes, with what is in it."""
    if isinstance(value, tuple):
        return getsizeof(value) + sum(map(size_in_bytes, value))
    return getsizeof(value)
