"""The page of an experiment: how it is going. While the page is open, ``static/live.js`` keeps it up to date."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import yaml
from fastapi import Depends, Request
from pydantic import ValidationError
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from normcore.problem import own_problem, test_items
from normcore.spec import TrainingSpec, departures
from normcore.spec.experiment import parse
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.experiments import parameters, queries, stream
from service.experiments import routes as experiments
from service.experiments.downsampling import spread
from service.experiments.figures import MAX_SEEDS
from service.experiments.lifecycle import ENDED
from service.experiments.schemas import ExperimentOut, HistoryEntry, RunOut
from service.experiments.seed_curves import SeedCurves, seed_curves
from service.http.dependencies import AppParts, AppPartsDep, DatabaseDep
from service.pages.facts import facts
from service.pages.failures import Failure, advise_on_divergence, explain_error, group_errors
from service.pages.forms import own_fields
from service.pages.outcomes import count_diverged
from service.pages.rendering import address, answer_from_cache, html
from service.pages.routing import PageRouter
from service.pages.seed_strip import seed_strip
from service.statistics.values import Limits, Value, value
from service.workload.backlog import Backlog, backlogs

MAX_ROWS = 20  # of the table of curves
MAX_WRITTEN = 200  # characters of an error in the answer
MAX_ERRORS, MAX_NAMED = 5, 12  # errors that are shown, and seeds that are named for each

router = PageRouter(prefix="/experiments/{experiment_id}")


@dataclass(frozen=True, slots=True)
class Answer:
    """First answer of the page: a sentence, its tone, facts, and the command to type."""

    text: str
    tone: str = ""
    facts: Sequence[str] = ()
    command: str | None = None
    advice: str = ""


@dataclass(frozen=True, slots=True)
class CurveTable:
    """Curves as numbers. Each row has a step, and a text for each column at this step."""

    columns: Sequence[str] = ()
    rows: Sequence[tuple[int, Sequence[str]]] = ()


@router.get("")
def get_experiment(request: Request, experiment_id: parameters.ExperimentId, parts: AppPartsDep) -> Response:
    """Page of an experiment: how it is going."""
    with parts.db.snapshot() as session:
        experiment = queries.experiment(session, experiment_id)
        position = stream.position_in_experiment(session, experiment_id)
        cancelling = queries.is_being_cancelled(session, experiment_id)
        backlog = backlog_of(session, parts, experiment.spec["device"]) if experiment.state == "queued" else None
        version = (position, cancelling, backlog, [_version(run) for run in experiment.runs])
        return answer_from_cache(
            request,
            parts,
            version,
            lambda: _page(request, session, experiment, position, cancelling=cancelling, backlog=backlog),
        )


@router.post("/cancel", dependencies=[Depends(own_fields)])
def cancel(experiment_id: parameters.ExperimentId, db: DatabaseDep) -> Response:
    """Cancel an experiment, and show its page again."""
    return _redirect_to_page(experiments.cancel_experiment(experiment_id, db))


@router.post("/retry", dependencies=[Depends(own_fields)])
def retry(experiment_id: parameters.ExperimentId, parts: AppPartsDep) -> Response:
    """Open new attempts of failed and cancelled runs, and show the experiment's page again."""
    return _redirect_to_page(experiments.retry_experiment(experiment_id, parts))


def _redirect_to_page(experiment: ExperimentOut) -> Response:
    return RedirectResponse(f"/experiments/{experiment.id}", status_code=303)


def _version(run: RunOut) -> tuple[object, ...]:
    return (
        run.state,
        run.attempt,
        run.progress,
        run.resumed_from_step,
        run.outcome,
        run.environment is None,
        run.of_older_code,
    )


def backlog_of(session: Session, parts: AppParts, device: str) -> Backlog:
    """Queue of a device: its runs and its workers."""
    found = backlogs(session, parts.settings.heartbeat_seconds)
    return next(one for one in found if one.device == device)


def _page(
    request: Request,
    session: Session,
    experiment: ExperimentOut,
    position: str,
    *,
    cancelling: bool,
    backlog: Backlog | None,
) -> str:
    spec = experiment.spec
    curves = seed_curves(session, experiment)
    benchmark = BENCHMARKS.get(spec["task"]["name"])
    metric = benchmark.metric() if benchmark else None
    ended = experiment.state in ENDED
    values = final_values(experiment.runs) if ended else validation_values(experiment.runs, latest(curves))
    return html(
        request,
        "experiments/one.html",
        experiment=experiment,
        spec=spec,
        metric=metric.name if metric else None,
        values=values,
        strip=seed_strip(
            experiment.runs, values, metric.name if metric else None, metric.direction if metric else "maximize"
        ),
        answer=answer(experiment, backlog, cancelling=cancelling),
        errors=explain_errors(experiment.runs),
        most_named=MAX_NAMED,
        cancelling=cancelling,
        diverged=count_diverged(experiment.runs),
        by_state=Counter(run.state for run in experiment.runs),
        may_retry=any(run.state in ("failed", "cancelled") for run in experiment.runs),
        ended=ended,
        position=position,
        board=board_address(experiment),
        table=curve_table(curves),
        drawn=MAX_SEEDS,
        measured=curves is None or any(seed.points for seed in curves.seeds),
        departures=list_departures(spec),
        yaml=yaml.safe_dump(dict(spec), sort_keys=False, allow_unicode=True),
        history=history(experiment.runs),
        facts=facts(experiment.runs),
    )


def answer(experiment: ExperimentOut, backlog: Backlog | None, *, cancelling: bool = False) -> Answer:
    """Sentence on how the experiment is going."""
    runs = experiment.runs
    states = Counter(run.state for run in runs)
    ended = [run for run in runs if run.state in ENDED]
    if experiment.state == "queued":
        return _describe_wait(len(runs), backlog)
    if cancelling:
        running = wording.count(states["running"], "running seed")
        return Answer(f"It is being cancelled: {running} will stop within seconds.", "warn")
    if experiment.state == "running":
        return Answer(f"{_describe_done(len(ended), len(runs))}{_describe_time_left(runs)}{_so_far(experiment)}.")
    if experiment.state == "failed":
        return _describe_failure(experiment, states["failed"])
    if experiment.state == "cancelled":
        text = f"Cancelled: {states['succeeded']} of {wording.count(len(runs), 'seed')} had ended before."
        return Answer(text, "warn", _facts_of(experiment))
    return _describe_success(experiment)


def _describe_failure(experiment: ExperimentOut, failed: int) -> Answer:
    """Say how many seeds failed, and the most frequent reason."""
    groups = group_errors(experiment.runs)
    why, others = explain_error(groups[0][0] if groups else None), groups[1:]
    more = f"; {wording.count(len(others), 'other reason')} below" if others else ""
    seeds = wording.count(len(experiment.runs), "seed")
    text = f"{failed} of {seeds} failed: {why.cause[:MAX_WRITTEN].rstrip('.')}{more}."
    return Answer(text, "bad", _facts_of(experiment), advice=why.advice)


def _describe_wait(seeds: int, backlog: Backlog | None) -> Answer:
    none = f"None of {wording.count(seeds, 'seed')} has begun"
    if backlog is None:
        return Answer(f"{none}.")
    if not backlog.workers:
        return no_worker(none, backlog.device)
    told = [f"{wording.count(backlog.workers, 'worker')} for {backlog.device}"]
    told.append(f"{wording.count(backlog.queued, 'run')} waiting, {backlog.running} running")
    return Answer(f"{none}; it waits for its turn.", facts=told)


def no_worker(waits: str, device: str) -> Answer:
    """Answer if no worker takes the runs of a device: how many wait, and the command that starts a worker."""
    on = "" if device == "auto" else f" for {device}"
    command = "normbench worker --device cuda:0" if device == "cuda" else "normbench worker"
    return Answer(f"{waits}: no worker{on} is alive. Start one:", "warn", command=command)


def _describe_done(ended: int, seeds: int) -> str:
    return f"{ended} of {wording.count(seeds, 'seed')} done"


def _describe_time_left(runs: Sequence[RunOut]) -> str:
    """Time left for the seeds that train now. The wait of queued seeds is unknown."""
    etas = [run.progress.eta_seconds for run in runs if run.progress.eta_seconds is not None]
    if not etas:
        return ""
    others = any(run.state == "queued" for run in runs)
    return f", ~{wording.seconds(max(etas))} left{' of those that train now' if others else ''}"


def _so_far(experiment: ExperimentOut) -> str:
    pooled = _pool_seeds(experiment)
    if pooled is None or pooled[1].mean is None:
        return ""
    return f"; so far {wording.value(pooled[1].mean, pooled[0])}"


def _describe_success(experiment: ExperimentOut) -> Answer:
    runs = experiment.runs
    pooled = _pool_seeds(experiment)
    if pooled is None:
        return Answer(f"{_describe_done(len(runs), len(runs))}.", "", ())
    metric, found = pooled
    if found.mean is None:
        text = "The seed" if len(runs) == 1 else f"All {len(runs)} seeds"
        lost = f"{text} diverged: there is no finite result."
        return Answer(lost, "warn", advice=advise_on_divergence(experiment.spec))
    named = metric.replace("_", " ")
    about = f", {wording.interval_in_words(found.ci95, metric)}" if found.ci95 else "; one seed has no interval"
    seeds = wording.count(found.n, "seed")
    text = f"{wording.value(found.mean, metric)} test {named}, mean of {seeds}{about}."
    return Answer(text, "warn" if count_diverged(runs) else "", _facts_of(experiment))


def _facts_of(experiment: ExperimentOut) -> list[str]:
    diverged = count_diverged(experiment.runs)
    reached = sum((run.result or {}).get("steps_to_target") is not None for run in experiment.runs)
    older = sum(run.of_older_code for run in experiment.runs)
    told = [f"{diverged} diverged"] if diverged else []
    if older:
        told.append(f"{wording.count(older, 'run')} of older code, left out of the board")
    if any((run.result or {}).get("value") is not None for run in experiment.runs):
        told.append(f"{reached} of {len(experiment.runs)} reached the target")
    return told


def _pool_seeds(experiment: ExperimentOut) -> tuple[str, Value] | None:
    """Metric, and the pooled value of the seeds that have succeeded; None for an analysis."""
    benchmark = BENCHMARKS.get(experiment.spec["task"]["name"])
    mixed = any(run.of_older_code for run in experiment.runs) and not all(run.of_older_code for run in experiment.runs)
    counting = [run for run in experiment.runs if not (mixed and run.of_older_code)]
    ended = [(run.result["value"], run.outcome) for run in counting if run.result is not None]
    if benchmark is None:
        return None
    metric = benchmark.metric()
    values = [worth for worth, outcome in ended if worth is not None and outcome != "diverged"]
    limits = Limits.of(metric, test_items(experiment.spec["task"]["name"], experiment.spec["task"]))
    return metric.name, value(values, len(ended) - len(values), metric.direction, None, limits)


def board_address(experiment: ExperimentOut) -> str | None:
    """Address of the board that the experiment's entry stands on; None for an analysis."""
    name, profile = experiment.spec["task"]["name"], cast(ProfileName, experiment.spec["task"]["profile"])
    if experiment.problem is None or name not in BENCHMARKS:
        return None
    own = own_problem(name, profile).id
    return address(
        f"/boards/{name}", profile=profile, problem=None if experiment.problem == own else experiment.problem
    )


def explain_errors(runs: Sequence[RunOut]) -> list[tuple[str, Failure, list[RunOut]]]:
    """Errors of runs with their explanation and their runs; the error of most runs comes first."""
    return [(error, explain_error(error), group) for error, group in group_errors(runs)[:MAX_ERRORS]]


def final_values(runs: Sequence[RunOut]) -> dict[str, float]:
    """Test value of each run that has a finite value, by the id of the run."""
    found = {run.id: (run.result or {}).get("value") for run in runs}
    return {run_id: value for run_id, value in found.items() if value is not None}


def validation_values(runs: Sequence[RunOut], newest: Mapping[str, float]) -> dict[str, float]:
    """Validation value of each run by its id: that of the selected model if the run has ended, else the newest."""
    selected = {run.id: (run.result or {}).get("valid_value") for run in runs if run.state == "succeeded"}
    unfinished = {run.id: newest.get(run.id) for run in runs if run.state != "succeeded"}
    return {run_id: value for run_id, value in (selected | unfinished).items() if value is not None}


def latest(curves: SeedCurves | None) -> Mapping[str, float]:
    """Last validation value of each run that has a value, by the id of the run."""
    return {seed.run_id: seed.points[-1].value for seed in curves.seeds if seed.points} if curves else {}


def curve_table(curves: SeedCurves | None) -> CurveTable:
    """Table of the drawn curves."""
    if curves is None:
        return CurveTable()
    shown = curves.seeds[:MAX_SEEDS]
    columns = {f"seed {seed.seed}": {point.step: point.value for point in seed.points} for seed in shown}
    if len(curves.seeds) > 1:
        columns["mean"] = {point.step: point.value for point in curves.mean}
    return tabulate(columns, [curves.metric] * len(columns))


def tabulate(columns: Mapping[str, Mapping[int, float]], metrics: Sequence[str]) -> CurveTable:
    """Table of curves, at some of the steps that have values, evenly spread.

    Args:
        columns: values of each curve by step, by the name of the curve.
        metrics: metric of each curve.
    """
    steps = sorted({step for column in columns.values() for step in column})
    curves = list(zip(columns.values(), metrics, strict=True))
    rows = [
        (step, [wording.value(column.get(step), metric) for column, metric in curves])
        for step in spread(steps, MAX_ROWS)
    ]
    return CurveTable(list(columns), rows)


def list_departures(spec: Mapping[str, Any]) -> list[tuple[str, str, str]] | None:
    """Options that differ from the profile: path, value in this spec, value in the profile.

    None for an analysis, and for a spec that cannot be read here, such as a spec of a plug-in that is not installed.
    """
    try:
        parsed = parse(spec)
    except (ValidationError, ValueError):
        return None
    if not isinstance(parsed, TrainingSpec):
        return None
    found = departures(parsed)
    return [(path, wording.option(here), wording.option(usual)) for path, (here, usual) in found.items()]


def history(runs: Sequence[RunOut]) -> list[tuple[int, HistoryEntry]]:
    """Histories of all runs in one list: seed and entry, newest first."""
    entries = [(run.seed, entry) for run in runs for entry in run.history]
    return sorted(entries, key=lambda entry: entry[1].at, reverse=True)
