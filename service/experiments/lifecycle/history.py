"""A run's history: what went wrong in each attempt, and when."""

from collections.abc import Sequence
from typing import Any

from service.db import utc_now
from service.experiments.lifecycle.lease import Lease
from service.experiments.tables import Run

MAX_HISTORY = 100  # entries; the newest stay


def attempt_entry(lease: Lease, reason: str, *, lost: bool = False) -> dict[str, Any]:
    """Build a history entry about an attempt in which something went wrong; ``lost`` if the attempt broke off."""
    return {"attempt": lease.attempt, "at": utc_now().isoformat(), "reason": replace_unstorable(reason), "lost": lost}


def ending_entry(run: Run) -> dict[str, Any]:
    """Build the history entry of a run's end, because a retry overwrites this end in the run's row."""
    assert run.finished_at is not None
    reason = f"{run.state}: {run.error}" if run.error else run.state
    return {"attempt": run.attempt, "at": run.finished_at.isoformat(), "reason": f"{reason}; retried", "lost": False}


def with_entries(history: Sequence[dict[str, Any]], *entries: dict[str, Any]) -> list[dict[str, Any]]:
    """Add entries to a history, and drop the oldest entries if there are too many."""
    return [*history, *entries][-MAX_HISTORY:]


def replace_unstorable(text: str) -> str:
    """Replace characters that PostgreSQL cannot store: NUL and halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
