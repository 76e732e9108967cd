"""Boards that were made already, kept while none of their runs is added to."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST = 32  # boards, of some megabytes at most


class KeptBoards:
    """The boards last asked for, as JSON. May be used from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Hashable, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, asked: Hashable, version: Hashable, make: Callable[[], bytes]) -> bytes:
        """The board that was asked for, made anew if its version is another than when it was made."""
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
