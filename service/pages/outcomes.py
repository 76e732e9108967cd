"""Words for runs that diverged. They have succeeded, and pages do not show them as a success."""

from collections.abc import Sequence

from service.experiments.schemas import RunOut
from service.sweeps.schemas import SweepCell


def diverged_at(run: RunOut) -> int | None:
    """The step at which a run diverged; None if it did not."""
    if run.outcome != "diverged":
        return None
    step: int = ((run.result or {}).get("divergence") or {}).get("step", run.progress.step)
    return step


def count_diverged(runs: Sequence[RunOut]) -> int:
    """Count the runs that diverged."""
    return sum(run.outcome == "diverged" for run in runs)


def diverged_in(cells: Sequence[SweepCell]) -> int:
    """Count the diverged seeds of a sweep's cells."""
    return sum(cell.entry.n_diverged for cell in cells if cell.entry)
