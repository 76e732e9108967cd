"""Reads of sweeps."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from service.db import get_row
from service.experiments.lifecycle import ENDED
from service.experiments.schemas import State, derived_state
from service.experiments.tables import Experiment, Run
from service.http.answer_cache import AnswerCache
from service.sweeps import schemas
from service.sweeps.board_results import BoardResults, board_results, version_of_results
from service.sweeps.findings import metric_of
from service.sweeps.importance import importance as explain_sweep
from service.sweeps.tables import Sweep, SweepCell
from service.sweeps.verdict import verdict


def sweep(session: Session, answer_cache: AnswerCache, sweep_id: str) -> schemas.Sweep:
    """Read a sweep with its cells and their results.

    Args:
        answer_cache: cache of the results.

    Raises:
        NotFound: there is no such sweep.
    """
    found = get_row(session, Sweep, sweep_id, "sweep")
    cells = session.scalars(select(SweepCell).where(SweepCell.sweep_id == sweep_id).order_by(SweepCell.number)).all()
    states = _states_of_cells(session, sweep_id)
    come_to = board_results(session, answer_cache, sweep_id)
    shown = [_cell(cell, states.get(cell.fingerprint, "succeeded"), come_to) for cell in cells]
    summary = _summaries(session, [found])[0]
    metric = metric_of([task.name for task in summary["tasks"]])
    answer = schemas.Sweep(
        **summary,
        metric=metric.name if metric else None,
        unit=metric.unit if metric else None,
        direction=metric.direction if metric else None,
        cells=shown,
        best=next((cell for cell in shown if cell.fingerprint == come_to.best), None),
        budget_curve=come_to.budget_curve,
        budget_flips=come_to.budget_flips,
        verdict=schemas.NO_VERDICT,
    )
    answer.verdict = verdict(answer)
    return answer


def version(session: Session, sweep_id: str) -> tuple[Hashable, ...]:
    """Version of a sweep: it changes with the results of its boards, its cells, and the progress of its runs."""
    found = get_row(session, Sweep, sweep_id, "sweep")
    progress = select(
        Run.state,
        func.count(),
        func.count(Run.started_at),
        func.sum(Run.step),
        func.sum(Run.attempt),
        func.sum(Run.steps_per_second),
    )
    of_sweep = progress.join(Experiment).where(Experiment.sweep_id == sweep_id).group_by(Run.state)
    states = sorted(tuple(row) for row in session.execute(of_sweep))
    cells = (found.n_cells, found.n_runs, found.reused_runs, found.is_settled)
    return (*version_of_results(session, sweep_id), *cells, *states)


def importance(session: Session, answer_cache: AnswerCache, sweep_id: str) -> schemas.Importance:
    """Importance of the fields of a sweep. Fitting the forest takes up to seconds.

    Raises:
        NotFound: there is no such sweep.
    """
    found = sweep(session, answer_cache, sweep_id)
    scores = board_results(session, answer_cache, sweep_id).scores
    of_cells = [scores.get(cell.fingerprint) for cell in found.cells]
    return explain_sweep(found, of_cells, answer_cache, version_of_results(session, sweep_id))


def sweeps(session: Session, *, before: str | None, limit: int) -> list[schemas.SweepSummary]:
    """Sweeps, newest first.

    Args:
        before: list only sweeps with a smaller id, as the page after this id does.
    """
    query = select(Sweep).order_by(Sweep.id.desc()).limit(limit)
    if before is not None:
        query = query.where(Sweep.id < before)
    found = session.scalars(query).all()
    return [schemas.SweepSummary(**summary) for summary in _summaries(session, found)]


def _summaries(session: Session, found: Sequence[Sweep]) -> list[dict[str, Any]]:
    """Summary of each sweep, as lists show it."""
    ids = [one.id for one in found]
    progress, tasks = _read_progress(session, ids), _tasks(session, ids)
    return [_summary(one, progress.get(one.id, _RunProgress())) | {"tasks": tasks.get(one.id, [])} for one in found]


def _tasks(session: Session, sweep_ids: Sequence[str]) -> dict[str, list[schemas.SweptTask]]:
    """Tasks of the cells of each sweep."""
    of_cell = (SweepCell.sweep_id, Experiment.task, Experiment.profile)
    cells = select(*of_cell).join(Experiment, Experiment.id == SweepCell.experiment_id)
    tasks: dict[str, list[schemas.SweptTask]] = {}
    for sweep_id, *task in session.execute(
        cells.where(SweepCell.sweep_id.in_(sweep_ids)).distinct().order_by(*of_cell)
    ):
        tasks.setdefault(sweep_id, []).append(schemas.SweptTask(*task))
    return tasks


@dataclass(slots=True)
class _RunProgress:
    """Progress of a sweep's own runs, without reused ones.

    Attributes:
        states: states of the runs, and for each state whether a run in this state ever started.
        ended, diverged: number of runs that ended, and number of runs that diverged.
        steps_left: steps that are left of all runs that have not ended.
        pace: steps per second of all running runs together.
        longest: seconds until the slowest running run ends.
    """

    states: list[tuple[str, bool]] = field(default_factory=list)
    ended: int = 0
    diverged: int = 0
    steps_left: int = 0
    pace: float = 0.0
    longest: float = 0.0

    def add(self, row: Any) -> None:
        """Add the runs in one state: how many there are, how many ever started."""
        self.states.append((row.state, row.started > 0))
        self.diverged += row.diverged
        if row.state in ENDED:
            self.ended += row.runs
            return
        self.steps_left += row.steps_left
        if row.state == "running":
            self.pace += row.pace or 0.0
            self.longest = max(self.longest, row.longest or 0.0)


def _read_progress(session: Session, sweep_ids: Sequence[str]) -> dict[str, _RunProgress]:
    left = Run.max_steps - Run.step
    rows = session.execute(
        select(
            Experiment.sweep_id,
            Run.state,
            func.count().label("runs"),
            func.count(Run.started_at).label("started"),
            func.sum(case((Run.outcome == "diverged", 1), else_=0)).label("diverged"),
            func.sum(left).label("steps_left"),
            func.sum(Run.steps_per_second).label("pace"),
            func.max(left / func.nullif(Run.steps_per_second, 0.0)).label("longest"),
        )
        .join(Experiment)
        .where(Experiment.sweep_id.in_(sweep_ids))
        .group_by(Experiment.sweep_id, Run.state)
    )
    progress: dict[str, _RunProgress] = {}
    for row in rows:
        progress.setdefault(row.sweep_id, _RunProgress()).add(row)
    return progress


def _summary(found: Sweep, progress: _RunProgress) -> dict[str, Any]:
    eta = max(progress.steps_left / progress.pace, progress.longest) if progress.pace else None
    return {
        "id": found.id,
        "state": _state(found, progress),
        "n_experiments": found.n_cells,
        "n_runs": found.n_runs,
        "reused_runs": found.reused_runs,
        "n_diverged": progress.diverged,
        "progress": schemas.SweepProgress(
            found.reused_runs + progress.ended, found.n_runs, None if eta is None else round(eta, 1)
        ),
        **found.posted,
        "created_at": found.created_at,
    }


def _state(found: Sweep, progress: _RunProgress) -> State:
    """State of a sweep, as of one experiment with all runs. A sweep that may get more seeds has not ended."""
    state = derived_state(progress.states)
    return state if found.is_settled or state not in ENDED else "running"


def _states_of_cells(session: Session, sweep_id: str) -> dict[str, State]:
    """States of the cells that have runs of their own, by fingerprint."""
    rows = session.execute(
        select(Experiment.fingerprint, Run.state, func.count(Run.started_at))
        .join(Experiment)
        .where(Experiment.sweep_id == sweep_id)
        .group_by(Experiment.fingerprint, Run.state)
    )
    of_cells: dict[str, list[tuple[str, bool]]] = {}
    for fingerprint, state, started in rows:
        of_cells.setdefault(fingerprint, []).append((state, started > 0))
    return {fingerprint: derived_state(states) for fingerprint, states in of_cells.items()}


def _cell(cell: SweepCell, state: State, come_to: BoardResults) -> schemas.SweepCell:
    standing = come_to.standings.get(cell.fingerprint)
    return schemas.SweepCell(
        values=cell.values,
        experiment_id=cell.experiment_id,
        fingerprint=cell.fingerprint,
        state=state,
        seeds=cell.seeds,
        reused_runs=len(cell.reused),
        entry=come_to.entries.get(cell.fingerprint),
        rank=standing.rank if standing else None,
        rank_ci=standing.rank_ci if standing else None,
        tie_group=standing.tie_group if standing else None,
    )
