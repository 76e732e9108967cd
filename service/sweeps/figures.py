"""The figures of a sweep, for API and pages alike."""

from normcore.figures import Figure, Theme
from normcore.figures.budget import Budget, budgets
from normcore.spec.metric import Metric, is_share
from normcore.spec.task import DEFAULT_PROFILE
from normcore.spec.tasks import BENCHMARKS
from service.sweeps.schemas import Sweep

BUDGET = "budget"
NAMES = (BUDGET,)


def draw(sweep: Sweep, theme: Theme) -> Figure:
    """What the best of so many cells is worth."""
    metric = metric_of(sweep)
    words = metric.name.replace("_", " ") if metric else "value"
    return budgets(
        [Budget(method, points) for method, points in sweep.budget_curve.items()],
        sorted({flip.k for flip in sweep.budget_flips}),
        theme,
        title=f"{_subject(sweep)}: best of so many settings",
        y=f"test {words}",
        percent=metric is not None and is_share(metric.name),
    )


def metric_of(sweep: Sweep) -> Metric | None:
    """What cells are compared by; None if they are of several tasks, or of an analysis."""
    names = {cell.values.get("task.name", sweep.spec["task"].get("name")) for cell in sweep.cells}
    name = names.pop() if len(names) == 1 else None
    return BENCHMARKS[name].metric() if isinstance(name, str) and name in BENCHMARKS else None


def _subject(sweep: Sweep) -> str:
    task = sweep.spec["task"]
    return f"{task.get('name', 'several tasks')}, {task.get('profile', DEFAULT_PROFILE)}"
