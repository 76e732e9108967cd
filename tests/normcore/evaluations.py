"""Evaluations, for tests that ask for what they come to."""

from normcore.training.evaluation import Evaluation


def evaluated(evaluation: Evaluation) -> tuple[list[str], dict[str, float]]:
    """Its phases and its values."""
    phases: list[str] = []
    while True:
        try:
            phases.append(next(evaluation))
        except StopIteration as end:
            return phases, end.value
