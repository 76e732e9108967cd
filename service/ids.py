"""Ids that sort by creation: a kind, an underscore, a ULID."""

import threading
from typing import Literal

from ulid import ULID

_lock = threading.Lock()
_last = 0


def new_id(kind: Literal["exp", "run", "swp", "res", "key", "wrk"]) -> str:
    """Make a new id. It is greater than every earlier id of this process, even if the clock is set back."""
    global _last
    with _lock:
        _last = max(int(ULID()), _last + 1)
        return f"{kind}_{ULID.from_int(_last)}"
