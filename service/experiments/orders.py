"""Orders of the list of experiments: by any of its columns, in both directions.

The newest experiments come first by an index. Other orders are made of the newest ``MOST`` experiments that pass the
filters, so that they take the same time in a large database.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from normcore.spec.tasks import BENCHMARKS
from service.experiments import queries, schemas
from service.experiments.tables import Experiment, Run
from service.statistics.values import mean

MOST = 1000  # experiments that are sorted
STATES: Sequence[schemas.State] = ("running", "queued", "failed", "cancelled", "succeeded")

Column = Literal["submitted", "method", "task", "state", "seeds", "value"]
Order = Literal[
    "submitted",
    "-submitted",
    "method",
    "-method",
    "task",
    "-task",
    "state",
    "-state",
    "seeds",
    "-seeds",
    "value",
    "-value",
]
NEWEST: Order = "-submitted"
TITLES: Mapping[Order, str] = {
    "-submitted": "newest first",
    "submitted": "oldest first",
    "method": "method, A to Z",
    "-method": "method, Z to A",
    "task": "task, A to Z",
    "-task": "task, Z to A",
    "state": "state, running first",
    "-state": "state, succeeded first",
    "-seeds": "most seeds first",
    "seeds": "fewest seeds first",
    "value": "best value first",
    "-value": "worst value first",
}
FIRST: Mapping[Column, Order] = {
    "submitted": "-submitted",
    "method": "method",
    "task": "task",
    "state": "state",
    "seeds": "-seeds",
    "value": "value",
}
"""Order that a click on the head of a column asks for; a second click turns it round."""


class SortedPage(NamedTuple):
    """A page of sorted experiments.

    Attributes:
        sorted: number of experiments that were sorted.
        all: whether these are all that pass the filters.
    """

    shown: list[schemas.ExperimentSummary]
    sorted: int
    all: bool


class _Row(NamedTuple):
    """Values by which experiments are sorted."""

    id: str
    task: str
    profile: str
    method: str
    state: schemas.State
    seeds: int
    mean: float | None


def turn_round(order: Order) -> Order:
    """Turn an order round: the other direction of the same column."""
    return cast(Order, order[1:] if order.startswith("-") else f"-{order}")


def read_sorted(session: Session, query: Select[Experiment], order: Order, *, page: int, size: int) -> SortedPage:
    """Read a page of the experiments of a query, in this order. Equal experiments come newest first.

    Args:
        page: number of the page, from 1 on.
        size: experiments on a page.
    """
    rows = _read(session, query)
    ordered = _sort(rows[:MOST], order)
    wanted = [row.id for row in ordered[(page - 1) * size : page * size]]
    found = {one.id: one for one in session.scalars(select(Experiment).where(Experiment.id.in_(wanted)))}
    return SortedPage(queries.summaries(session, [found[id] for id in wanted]), len(ordered), len(rows) <= MOST)


def _read(session: Session, query: Select[Experiment]) -> list[_Row]:
    """Read the newest ``MOST`` experiments of a query, and one more if there is one."""
    newest = query.with_only_columns(Experiment.id, Experiment.task, Experiment.profile, Experiment.method)
    found = session.execute(newest.order_by(Experiment.id.desc()).limit(MOST + 1)).all()
    runs: dict[str, list[tuple[str, bool]]] = {row.id: [] for row in found}
    values: dict[str, list[float]] = {row.id: [] for row in found}
    of_run = select(Run.experiment_id, Run.state, Run.started_at.is_not(None), Run.value, Run.outcome)
    for id, state, started, value, outcome in session.execute(of_run.where(Run.experiment_id.in_(runs))):
        runs[id].append((state, started))
        if state == "succeeded" and value is not None and outcome != "diverged":
            values[id].append(value)
    rows = []
    for id, task, profile, method in found:
        value = mean(values[id]) if task in BENCHMARKS else None
        rows.append(_Row(id, task, profile, method or "", schemas.derived_state(runs[id]), len(runs[id]), value))
    return rows


def _sort(rows: Sequence[_Row], order: Order) -> list[_Row]:
    """Sort rows that are sorted by age, the newest first. Experiments without a value come last."""
    column, is_reverse = order.removeprefix("-"), order.startswith("-")
    if column == "submitted":
        return [*rows] if is_reverse else [*reversed(rows)]
    if column == "value":
        known = [row for row in rows if row.mean is not None]
        ordered = sorted(known, key=_worth, reverse=is_reverse)
        return [*sorted(ordered, key=lambda row: row.task), *(row for row in rows if row.mean is None)]
    keys: Mapping[str, Callable[[_Row], Any]] = {
        "method": lambda row: row.method,
        "task": lambda row: (row.task, row.profile),
        "state": lambda row: STATES.index(row.state),
        "seeds": lambda row: row.seeds,
    }
    return sorted(rows, key=keys[column], reverse=is_reverse)


def _worth(row: _Row) -> float:
    """The mean as a number that is smaller for better results. Values of different tasks do not compare."""
    value = row.mean or 0.0
    return -value if BENCHMARKS[row.task].metric().direction == "maximize" else value
