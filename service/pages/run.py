"""The page of a run: what happened to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.db import Database
from service.errors import Unavailable
from service.experiments import files, parameters, queries, stream
from service.experiments.contents import Contents, read_contents
from service.experiments.lifecycle import ENDED
from service.experiments.schemas import MeasurementsOut, RunOut, TimingOut
from service.http.dependencies import AppParts, AppPartsDep
from service.pages.experiment import Answer, CurveTable, backlog_of, no_worker, tabulate
from service.pages.facts import facts
from service.pages.failures import advise_on_divergence, describe_failure, explain_error, has_more
from service.pages.rendering import answer_from_cache, html
from service.pages.routing import PageRouter
from service.pages.run_figures import show_figure

PICTURES = (".png", ".svg")

router = PageRouter(prefix="/runs/{run_id}")


@dataclass(frozen=True, slots=True)
class File:
    """Artifact of a run, with its size in bytes and its address."""

    name: str
    size: int
    address: str

    @property
    def is_picture(self) -> bool:
        return self.name.endswith(PICTURES)

    @property
    def label(self) -> str:
        return label_of(self.name)


def label_of(file: str) -> str:
    """Name of a file as a heading: ``figures/from_test.png`` becomes From test."""
    return file.rpartition("/")[2].rpartition(".")[0].replace("_", " ").capitalize()


@router.get("")
async def get_run(request: Request, run_id: parameters.RunId, parts: AppPartsDep) -> Response:
    """Page of a run: what happened."""
    run = await run_in_threadpool(_read_run, parts.db, run_id)  # the store must not be asked about an unknown run
    try:
        contents: Contents | None = await parts.store_threads.call(read_contents, parts.artifacts, run)
    except Unavailable:
        contents = None
    return await run_in_threadpool(_answer_with_run, request, parts, run_id, contents)


def _read_run(db: Database, run_id: str) -> RunOut:
    with db.snapshot() as session:
        return queries.run(session, run_id)


def _answer_with_run(request: Request, parts: AppParts, run_id: str, contents: Contents | None) -> Response:
    """Answer with the page.

    Args:
        contents: what the store has of the run; None if the store does not answer.
    """
    with parts.db.snapshot() as session:
        run = queries.run(session, run_id)
        position = stream.position_in_run(session, run_id)
        alone = _waits_for_nobody(session, parts, run)
        version = (position, run, contents and (contents.listed, contents.log), alone)
        return answer_from_cache(
            request, parts, repr(version), lambda: _page(request, session, run, position, contents, alone)
        )


def _files(run: RunOut, contents: Contents) -> list[File]:
    found = files.choose_visible_artifacts(run, contents.listed)
    return [File(name, file.size, f"/v1/runs/{run.id}/artifacts/{name}") for name, file in sorted(found.items())]


def _waits_for_nobody(session: Session, parts: AppParts, run: RunOut) -> str | None:
    """Device that a queued run waits for in vain; None if a live worker takes runs for it, or the run is not queued."""
    if run.state != "queued":
        return None
    device: str = queries.experiment(session, run.experiment_id).spec["device"]
    return None if backlog_of(session, parts, device).workers else device


def _page(
    request: Request,
    session: Session,
    run: RunOut,
    position: str,
    contents: Contents | None,
    alone: str | None,
) -> str:
    experiment = queries.experiment(session, run.experiment_id)
    spec = experiment.spec
    benchmark = BENCHMARKS.get(spec["task"]["name"])
    metric = benchmark.metric().name if benchmark else None
    measured = queries.measurements(session, run.id, series=(), max_points=None)
    kept = contents or Contents()
    return html(
        request,
        "runs/one.html",
        run=run,
        spec=spec,
        name=experiment.name,
        metric=metric,
        answer=answer(run, metric, alone),
        advice=advice(run, spec),
        log=kept.log,
        more_of_error=has_more(run.error),
        texts=[(label_of(one.file), one) for one in kept.texts],
        figures=[show_figure(one) for one in kept.figures],
        ended=run.state in ENDED,
        position=position,
        x=measured.x,
        measured=bool(measured.series),
        table=table(measured),
        results=results(run),
        findings=(run.result or {}).get("findings", []),
        timing=timing(run.timing) if run.timing else [],
        history=[(run.seed, entry) for entry in reversed(run.history)],
        facts=facts([run]),
        files=None if contents is None else _files(run, contents),
    )


def answer(run: RunOut, metric: str | None, alone: str | None = None) -> Answer:
    """Sentence on what happened to a run.

    Args:
        metric: metric of the run's task; None for an analysis.
        alone: device that the run waits for, if no live worker takes runs for this device.
    """
    if run.state == "queued":
        again = f" again, as attempt {run.attempt}" if run.attempt > 1 else ""
        return no_worker(f"It waits{again}", alone) if alone else Answer(f"It waits for a worker{again}.")
    if run.state == "running":
        eta = run.progress.eta_seconds
        left = "" if eta is None else f", ~{wording.seconds(eta)} left"
        return Answer(f"Step {wording.steps(run.progress.step)} of {wording.steps(run.progress.max_steps)}{left}.")
    if run.state == "failed":
        return Answer(describe_failure(run), "bad")
    if run.state == "cancelled":
        return Answer(f"It was cancelled at step {wording.steps(run.progress.step)}.", "warn")
    result = run.result or {}
    if run.outcome == "diverged":
        return Answer(_describe_divergence(run, result.get("divergence")), "warn")
    if metric is None:
        return Answer(f"It found {wording.count(len(result.get('findings', [])), 'thing')}.")
    named = metric.replace("_", " ")
    return Answer(f"{wording.value(result['value'], metric)} test {named}; {_target(result)}.")


def advice(run: RunOut, spec: Mapping[str, Any]) -> str:
    """Advice on a run that failed or diverged; empty for other runs."""
    if run.state == "failed":
        return explain_error(run.error).advice
    return advise_on_divergence(spec) if run.outcome == "diverged" else ""


def _describe_divergence(run: RunOut, divergence: Mapping[str, Any] | None) -> str:
    if divergence is None:
        return f"It diverged at step {wording.steps(run.progress.step)}: its numbers were no longer finite."
    series = divergence["series"]
    before = divergence["last_finite"].get(series)
    known = "" if before is None else f"; before that it was {wording.value(before, series.rpartition('.')[2])}"
    return f"It diverged at step {wording.steps(divergence['step'])}: {series} was no longer finite{known}."


def _target(result: Mapping[str, Any]) -> str:
    if result["steps_to_target"] is None:
        return "it never reached the target"
    within = wording.seconds(result["seconds_to_target"])
    return f"it reached the target at step {wording.steps(result['steps_to_target'])}, after {within} of training"


def table(measured: MeasurementsOut) -> CurveTable:
    """Table of all series."""
    columns = {name: {step: number for step, number, _ in series.points} for name, series in measured.series.items()}
    return tabulate(columns, [name.rpartition(".")[2] for name in columns])


def results(run: RunOut) -> list[tuple[str, str]]:
    """Names and texts of the results of a run of a benchmark; empty for other runs."""
    found = run.result
    if found is None or "metric" not in found:
        return []
    told = [(f"test {name.replace('_', ' ')}", wording.value(number, name)) for name, number in found["values"].items()]
    told.append(
        (f"validation {found['metric'].replace('_', ' ')}", wording.value(found["valid_value"], found["metric"]))
    )
    told.append(("selected at step", wording.steps(found["step"])))
    told.append(("steps to the target", wording.steps(found["steps_to_target"])))
    told.append(("seconds to the target", wording.seconds(found["seconds_to_target"])))
    return told


def timing(found: TimingOut) -> list[tuple[str, str]]:
    """Names and texts of the parts of a run's time."""
    parts = (
        ("compiling, loading kernels", found.compile),
        ("reading data, drawing batches", found.data),
        ("warm-up", found.warm_up),
        ("training", found.training),
        ("evaluation", found.evaluation),
    )
    return [(name, wording.seconds(seconds)) for name, seconds in parts]
