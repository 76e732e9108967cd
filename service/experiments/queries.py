"""Reads of experiments, runs and measurements."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast, get_args

from sqlalchemy import ColumnElement, Row, Select, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, selectinload

from normcore.events import Outcome
from normcore.own_code import present_code
from normcore.spec import TASKS, SpecError, parse
from normcore.spec.messages import choose, quote_value
from normcore.spec.metric import OF_EVERY_TASK, Metric
from normcore.spec.tasks import BENCHMARKS
from service.db import get_row
from service.errors import Invalid
from service.experiments import codes, schemas
from service.experiments.downsampling import downsample
from service.experiments.lifecycle import ENDED, WAITING
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Label, Measurement, Run

_Point = tuple[int, float, float]  # step, value, seconds
AFTER_HEX = "g"  # sorts after every hexadecimal digit; a range uses the index, LIKE not everywhere


def experiment(session: Session, experiment_id: str) -> schemas.ExperimentOut:
    """Read an experiment with its runs.

    Raises:
        NotFound: there is no such experiment.
    """
    found = get_row(session, Experiment, experiment_id, "experiment", options=[selectinload(Experiment.runs)])
    return schemas.experiment_out(found, _present_code(session, found))


def run(session: Session, run_id: str) -> schemas.RunOut:
    """Read a run.

    Raises:
        NotFound: there is no such run.
    """
    found = get_row(session, Run, run_id, "run")
    return schemas.run_out(found, _present_code(session, found.experiment))


def _present_code(session: Session, experiment: Experiment) -> schemas.PresentCode:
    """Code of the runs that count for an experiment's spec. The spec and its source files are read only if the runs
    have several codes, because reading takes time.
    """
    of_spec = select(*codes.OF_CODE).join(Experiment).where(Experiment.fingerprint == experiment.fingerprint)
    runs = cast(Sequence[Row[Any]], session.execute(of_spec.where(HAS_SUCCEEDED)).all())
    if not runs:
        return schemas.UNKNOWN
    several = len({run.code for run in runs}) > 1
    return schemas.PresentCode(
        True, codes.choose_counting_runs(runs, _now(experiment.spec) if several else None)[0].code
    )


def _now(spec: Mapping[str, Any]) -> str | None:
    """Digest of the code that this machine has for a stored spec; None if the spec cannot be read here."""
    try:
        return present_code(parse(spec))
    except ValueError:
        return None


def experiments(
    session: Session,
    *,
    fingerprint: str | None = None,
    labels: Sequence[str] = (),
    state: schemas.State | None = None,
    text: str | None = None,
    before: str | None = None,
    limit: int,
    **columns: str | None,
) -> list[schemas.ExperimentSummary]:
    """List experiments, newest first.

    Args:
        fingerprint: beginning of the fingerprint.
        labels: labels that an experiment must all have, each as ``key:value``.
        text: text that must stand in a label, the method, the task or the id.
        before: list only experiments with a smaller id; this gives the page that follows the experiment with this id.
        columns: exact values that columns of ``Experiment`` must have; None for any value.
    """
    query = matching(fingerprint=fingerprint, labels=labels, state=state, text=text, **columns)
    if before is not None:
        query = query.where(Experiment.id < before)
    return summaries(session, session.scalars(query.order_by(Experiment.id.desc()).limit(limit)).all())


def matching(
    *,
    fingerprint: str | None = None,
    labels: Sequence[str] = (),
    state: schemas.State | None = None,
    text: str | None = None,
    **columns: str | None,
) -> Select[Experiment]:
    """Select the experiments that pass all filters, see ``experiments``, in no order."""
    query = select(Experiment).filter_by(**{name: value for name, value in columns.items() if value is not None})
    if fingerprint is not None:
        query = query.where(Experiment.fingerprint.between(fingerprint, fingerprint + AFTER_HEX))
    for key, _, value in (label.partition(":") for label in labels):
        query = query.where(
            exists().where(Label.key == key, Label.value == value, Label.experiment_id == Experiment.id)
        )
    if text:
        query = query.where(_has_text(text))
    return query if state is None else _in_state(query, state)


def _has_text(text: str) -> ColumnElement[bool]:
    """Condition for experiments that have this text in a label, the method, the task or the id. Letters of both cases
    are the same.
    """
    of_labels = select(Label.experiment_id).where(_contains(Label.key, text) | _contains(Label.value, text))
    own = or_(*(_contains(column, text) for column in (Experiment.task, Experiment.method, Experiment.id)))
    return own | Experiment.id.in_(of_labels)


def _contains(column: InstrumentedAttribute[Any], text: str) -> ColumnElement[bool]:
    return column.icontains(text, autoescape=True)


def read_frequent_labels(session: Session, most: int) -> list[str]:
    """The most frequent labels, each as ``key:value``."""
    counted = select(Label.key, Label.value).group_by(Label.key, Label.value)
    found = session.execute(counted.order_by(func.count().desc(), Label.key, Label.value).limit(most))
    return [f"{key}:{value}" for key, value in found]


def summaries(session: Session, found: Sequence[Experiment]) -> list[schemas.ExperimentSummary]:
    """Summaries of experiments, in the same order."""
    runs: dict[str, list[tuple[str, bool]]] = {e.id: [] for e in found}
    n_diverged = Counter[str]()
    of_run = select(Run.experiment_id, Run.state, Run.started_at, Run.outcome)
    rows = session.execute(of_run.where(Run.experiment_id.in_(runs)).order_by(Run.id))
    for experiment_id, run_state, started_at, outcome in rows:
        runs[experiment_id].append((run_state, started_at is not None))
        n_diverged[experiment_id] += outcome == "diverged"
    return [
        schemas.ExperimentSummary(
            id=e.id,
            fingerprint=e.fingerprint,
            state=schemas.derived_state(runs[e.id]),
            spec=e.spec,
            runs_by_state=Counter(run_state for run_state, _ in runs[e.id]),
            n_diverged=n_diverged[e.id],
            created_at=e.created_at,
        )
        for e in found
    ]


class RunProgress(NamedTuple):
    """Progress of a run. ``seconds_left`` is None if the run does not train, or its pace is not known."""

    step: int
    max_steps: int
    has_ended: bool
    seconds_left: float | None


def read_progress(session: Session, experiment_ids: Sequence[str]) -> dict[str, list[RunProgress]]:
    """Read the progress of the runs of experiments, by experiment."""
    found: dict[str, list[RunProgress]] = {id: [] for id in experiment_ids}
    columns = (Run.experiment_id, Run.state, Run.step, Run.max_steps, Run.steps_per_second)
    for id, state, step, max_steps, pace in session.execute(select(*columns).where(Run.experiment_id.in_(found))):
        left = schemas.estimate_seconds_left(state, step, max_steps, pace)
        found[id].append(RunProgress(step, max_steps, state in ENDED, left))
    return found


def results(session: Session, experiment_ids: Sequence[str]) -> dict[str, list[tuple[float | None, Outcome | None]]]:
    """Value and outcome of each succeeded run, by experiment."""
    found: dict[str, list[tuple[float | None, Outcome | None]]] = {name: [] for name in experiment_ids}
    query = select(Run.experiment_id, Run.state, Run.value, Run.outcome).where(Run.experiment_id.in_(found))
    for experiment_id, state, value, outcome in session.execute(query.order_by(Run.experiment_id, Run.id)):
        if state == "succeeded":  # as a condition of the query, SQLite would read all succeeded runs
            found[experiment_id].append((value, cast(Outcome | None, outcome)))
    return found


def _in_state(query: Select[Experiment], state: schemas.State) -> Select[Experiment]:
    """Condition for experiments in a state, as ``schemas.derived_state`` defines it. Rare states are looked up in the
    index of runs by state. Without the index, a state that no experiment has would need a look at every experiment.
    """
    of_this = Run.experiment_id == Experiment.id
    if state in ("queued", "running"):
        started = exists().where(of_this, Run.started_at.is_not(None))
        return query.where(_has_any(*WAITING), started if state == "running" else ~started)
    waiting = exists().where(of_this, Run.state.in_(WAITING))
    if state == "failed":
        return query.where(_has_any("failed"), ~waiting)
    failed = exists().where(of_this, Run.state == "failed")
    if state == "cancelled":
        return query.where(_has_any("cancelled"), ~waiting, ~failed)
    return query.where(~waiting, ~failed, ~exists().where(of_this, Run.state == "cancelled"))


def _has_any(*states: str) -> ColumnElement[bool]:
    """Condition for experiments that have a run in one of the states."""
    return Experiment.id.in_(select(Run.experiment_id).where(Run.state.in_(states)))


def runs_by_state(session: Session, states: Sequence[schemas.State] = get_args(schemas.State)) -> dict[str, int]:
    """Count the runs in each of these states. States without runs are left out."""
    return dict(session.execute(select(Run.state, func.count()).where(Run.state.in_(states)).group_by(Run.state)).all())


def read_last_steps(session: Session, runs: ColumnElement[bool]) -> dict[str, tuple[int, int]]:
    """Attempt and step of the last measurement of each run that has measured something."""
    newest = select(Measurement.run_id, func.max(Measurement.attempt), func.max(Measurement.step))
    rows = session.execute(newest.join(Run).where(runs).group_by(Measurement.run_id))
    return {run_id: (attempt, step) for run_id, attempt, step in rows}


def is_being_cancelled(session: Session, experiment_id: str) -> bool:
    """Tell if the experiment has running runs that were asked to stop and have not stopped yet."""
    asked = exists().where(Run.experiment_id == experiment_id, Run.state == "running", Run.cancel_requested)
    return bool(session.scalar(select(asked)))


def measurements(
    session: Session, run_id: str, *, series: Sequence[str], max_points: int | None
) -> schemas.MeasurementsOut:
    """Read the curves of a run by name, or all curves if ``series`` is empty.

    Raises:
        NotFound: there is no such run.
        Invalid: the run has ended and has measured something, but not every series in ``series``.
    """
    found = run(session, run_id)
    task = session.scalars(select(Experiment.task).where(Experiment.id == found.experiment_id)).one()
    curves = {name: _curve(session, run_id, name) for name in sorted(set(series) or _list_series(session, run_id))}
    unmeasured = [name for name in series if not curves[name]]
    if unmeasured and found.state in ENDED:
        _check_measured(session, run_id, unmeasured)
    return schemas.MeasurementsOut(
        x=TASKS[task].x if task in TASKS else "step",
        series={
            name: _series(name, points if max_points is None else downsample(points, max_points))
            for name, points in curves.items()
            if points
        },
    )


def _check_measured(session: Session, run_id: str, unmeasured: Sequence[str]) -> None:
    """Refuse names of series that a run has not measured.

    Raises:
        Invalid: the run has measured something, but not these series.
    """
    known = _list_series(session, run_id)
    if known:
        raise Invalid(
            [
                SpecError(("series",), f"this run has no {quote_value(name)}; {choose(name, known)}", "unknown_series")
                for name in unmeasured
            ]
        )


def _list_series(session: Session, run_id: str) -> Sequence[str]:
    """Names of the series that a run has measured."""
    return session.scalars(select(Measurement.series).where(Measurement.run_id == run_id).distinct()).all()


def _curve(session: Session, run_id: str, series: str) -> Sequence[_Point]:
    """Read the points of a curve. SQLAlchemy's Core takes half of the ORM's time."""
    query = select(Measurement.step, Measurement.value, Measurement.seconds)
    of_series = query.where(Measurement.run_id == run_id, Measurement.series == series)
    rows = session.connection().execute(of_series.order_by(Measurement.step)).all()
    return cast(Sequence[_Point], rows)


def _metrics() -> Mapping[str, Metric]:
    """Metrics by name. A series such as ``valid.accuracy`` ends in the name of its metric."""
    known = [metric for task in BENCHMARKS.values() for metric in task.metrics]
    return {metric.name: metric for metric in (*OF_EVERY_TASK, *known)}


def metric_of(series: str) -> Metric | None:
    """Metric of a series such as ``valid.accuracy``; None for a series that no task names."""
    return _metrics().get(series.rpartition(".")[2])


def _series(name: str, points: Sequence[_Point]) -> schemas.SeriesOut:
    metric = metric_of(name)
    return schemas.SeriesOut(
        unit=metric.unit if metric else "", direction=metric.direction if metric else None, points=points
    )
