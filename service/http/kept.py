"""Answers that were made already, kept while what they are made of stays as it is."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST = 32  # answers, of some megabytes at most


class KeptAnswers:
    """The answers last given, by what was asked. May be used from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Hashable, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, asked: Hashable, version: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer, made anew if the version is another than when it was made."""
        with self._lock:
            known, content = self._kept.get(asked, (None, b""))
        if known != version:
            content = make()
        with self._lock:
            self._kept[asked] = version, content
            self._kept.move_to_end(asked)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return content
