"""Ids that sort by creation: a kind, an underscore, a ULID."""

import threading
from typing import Literal

from ulid import ULID

_lock = threading.Lock()
_last = 0


def new_id(kind: Literal["exp", "run", "swp", "res", "key", "wrk"]) -> str:
    """A new id, greater than every one this process made before, whatever the clock does."""
    global _last
    with _lock:
        _last = max(int(ULID()), _last + 1)
        return f"{kind}_{ULID.from_int(_last)}"
