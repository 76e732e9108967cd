"""Words for runs that diverged. Their state is ``succeeded``, but pages do not show them as a success."""

from collections.abc import Sequence

from service.experiments.schemas import RunOut
from service.sweeps.schemas import SweepCell


def find_divergence_step(run: RunOut) -> int | None:
    """The step at which a run diverged; None if the run did not diverge."""
    if run.outcome != "diverged":
        return None
    step: int = ((run.result or {}).get("divergence") or {}).get("step", run.progress.step)
    return step


def count_diverged(runs: Sequence[RunOut]) -> int:
    """Count the runs that diverged."""
    return sum(run.outcome == "diverged" for run in runs)


def count_diverged_seeds(cells: Sequence[SweepCell]) -> int:
    """Count the diverged seeds of a sweep's cells."""
    return sum(cell.entry.n_diverged for cell in cells if cell.entry)
