"""Cache of objects that were made of a database's rows. An object is used again as long as its version is unchanged."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sqlalchemy.orm import Session

from service.db import CACHES

T = TypeVar("T")


class SizedCache(Generic[T]):
    """Cache of the last objects, by what was asked for. Several threads may use it.

    Args:
        most: size of all objects together. Objects that were not used for the longest time leave the cache first.
    """

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Hashable, tuple[Hashable, T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, asked: Hashable, version: Hashable, make: Callable[[], T], measure: Callable[[T], int]) -> T:
        """Return the cached object. If the cache has no object of this version, call ``make`` for a new object.

        Args:
            measure: function that returns the size of an object.
        """
        with self._lock:
            known = self._kept.get(asked)
            if known is not None and known[0] == version:
                self._kept.move_to_end(asked)
                return known[1]
        made = make()
        with self._lock:
            self._drop(asked)
            self._kept[asked] = version, made, measure(made)
            self._size += self._kept[asked][2]
            while self._size > self._most:
                self._drop(next(iter(self._kept)))
        return made

    def _drop(self, asked: Hashable) -> None:
        if asked in self._kept:
            self._size -= self._kept.pop(asked)[2]


def shared_cache(session: Session, name: str, most: int) -> SizedCache[T]:
    """Return the cache with this name that all snapshots of a database share.

    A transaction may see rows that are never committed, so it gets a new cache.
    """
    caches: dict[str, SizedCache[T]] = session.info.get(CACHES, {})
    return caches.setdefault(name, SizedCache(most))
