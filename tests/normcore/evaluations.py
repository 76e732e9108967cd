"""Helper that runs an evaluation to its end."""

from normcore.training.evaluation import Evaluation


def evaluated(evaluation: Evaluation) -> tuple[list[str], dict[str, float]]:
    """Run an evaluation; return the names of its phases, and its values."""
    phases: list[str] = []
    while True:
        try:
            phases.append(next(evaluation))
        except StopIteration as end:
            return phases, end.value
