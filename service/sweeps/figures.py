"""Figures of a sweep, for API and pages."""

from normcore.figures import Figure, Theme
from normcore.figures.budget import Budget, budgets
from normcore.spec.metric import Metric, is_share
from service.sweeps import findings
from service.sweeps.schemas import Sweep, SweepSummary

BUDGET = "budget"
NAMES = (BUDGET,)


def draw(sweep: Sweep, theme: Theme) -> Figure:
    """Draw the budget curve: the value of the best of k cells."""
    metric = metric_of(sweep)
    words = metric.name.replace("_", " ") if metric else "value"
    return budgets(
        [Budget(method, points) for method, points in sweep.budget_curve.items()],
        sorted({flip.k for flip in sweep.budget_flips}),
        theme,
        title=f"{subject(sweep)}: best of so many settings",
        y=f"test {words}",
        percent=metric is not None and is_share(metric.name),
    )


def metric_of(sweep: Sweep) -> Metric | None:
    """Metric that compares the cells; None for cells of several tasks, or of an analysis."""
    return findings.metric_of([task.name for task in sweep.tasks])


def subject(sweep: SweepSummary) -> str:
    """Task and profile of a sweep in words, or "several tasks"."""
    return f"{sweep.tasks[0].name}, {sweep.tasks[0].profile}" if len(sweep.tasks) == 1 else "several tasks"
