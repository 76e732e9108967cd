"""A measured entry as it comes from the database, before it is ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from service.leaderboards.codes import PartCodes
from service.leaderboards.entry import EntryStatistics, RunResult


@dataclass(frozen=True, slots=True)
class MeasuredEntry:
    """A measured entry.

    Attributes:
        code: digest of the code of the spec's own parts; None if the runs did not record it.
        n_older: number of succeeded runs of other code, which do not count.
        parts: tag and digest of each part of the spec, see ``codes``.
        code_at: time when the newest run of this entry started.
    """

    fingerprint: str
    setting: str
    task: str
    method: str
    budget: int
    changes: dict[str, Any]
    experiments: list[str]
    code: str | None
    n_runs: int
    n_older: int
    results: Sequence[RunResult]
    conflicting_seeds: list[int]
    pooled: EntryStatistics
    parts: PartCodes | None = None
    code_at: datetime | None = None
