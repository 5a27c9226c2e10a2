"""Caches with a limit in bytes.

A cache must not grow with the data that strangers send, nor with the number of people. All caches of one process have
32 MB together, and each kind of entry has a share of it. An entry that was removed is computed again when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MB = 1_000_000
#: The size of all caches of one process, in bytes.
MOST = 32 * MB
#: The share of each kind of entry.
SHARES = {
    "heads": 13 * MB,
    "ticket tokens": 5 * MB,
    "session tokens": 3 * MB,
    "other tokens": 2 * MB,
    "sessions": 2 * MB,
    "clients": 2 * MB,
    "digests": 1 * MB,
    "errands": 1 * MB,
    "codes": 2 * MB,
    "user agents": 1 * MB,
}
#: The bytes of an entry in addition to its key and value: a slot in a dict that is about half full.
ENTRY = 150


class BoundedCache(Generic[K, V]):
    """A cache of at most `most` bytes. It has a young and an old half. An entry that is read moves to the young half.
    When the young half is full, it becomes the old half, and the entries of the previous old half are removed. So
    entries in use stay, and a read costs little."""

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
        """Return the value of a key; None if it is not in the cache."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self._keep(key, found)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Add a value that takes `size` bytes with its key. A value larger than half of the cache is not added."""
        size += ENTRY
        if size <= self._half:
            self._keep(key, (value, size))

    @property
    def is_full(self) -> bool:
        """Whether it has begun to remove entries."""
        return bool(self._old)

    def keys(self) -> list[K]:
        """Return all keys, the least recently read first."""
        return [*(key for key in self._old if key not in self._young), *self._young]

    def clear(self) -> None:
        """Remove all entries."""
        self._young, self._old, self._size = {}, {}, 0

    def _keep(self, key: K, entry: tuple[V, int]) -> None:
        before = self._young.get(key)
        self._size += entry[1] - (before[1] if before else 0)
        if self._size > self._half:
            self._old, self._young, self._size = self._young, {}, entry[1]
        self._young[key] = entry


def cached(most: int, work: Callable[[K], V], size: Callable[[K, V], int] | None = None) -> Callable[[K], V]:
    """Return `work` with a cache of at most `most` bytes for its results."""
    cache, measure = BoundedCache[K, V](most), size or _size

    def cached_work(key: K) -> V:
        found = cache.get(key)
        if found is None:
            found = work(key)
            cache.put(key, found, measure(key, found))
        return found

    return cached_work


def _size(key: object, value: object) -> int:
    return size_in_bytes(key) + size_in_bytes(value)


def size_in_bytes(value: object) -> int:
    """How many bytes a plain value takes, including the items of a tuple."""
    if isinstance(value, tuple):
        return getsizeof(value) + sum(map(size_in_bytes, value))
    return getsizeof(value)
