"""Ids that sort by creation: a kind, an underscore, a ULID."""

from typing import Literal

from ulid import ULID


def new_id(kind: Literal["exp", "run", "key", "wrk"]) -> str:
    """A new id, greater than every one this process made before."""
    return f"{kind}_{ULID()}"
