"""Experiments and runs over HTTP."""

import json
from functools import partial

from fastapi import Request, Response, status
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from normcore.figures import Theme
from normcore.spec import TASKS
from normcore.spec.methods import METHODS
from service.db import Database
from service.errors import NotFound
from service.experiments import (
    api,
    columns,
    examples,
    figures,
    files,
    lifecycle,
    openapi,
    parameters,
    queries,
    replay,
    schemas,
    stream,
)
from service.experiments.tables import Run
from service.http.bodies import SpecBody
from service.http.conditional import etag_matches
from service.http.dependencies import AppPartsDep, DatabaseDep
from service.http.figures import WantedFigureForm, also_printed, figure_answer
from service.http.openapi import JSON, answers, refusals
from service.http.pages import Cursor, Limit, Page, next_page, page
from service.http.permits import permit_of
from service.http.ranges import read_range
from service.http.routing import Router, check_known
from service.http.tables import WantedFormat, as_file, json_answer

router = Router(prefix="/v1", tags=["experiments"])


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


MEDIA_TYPES = {"json": JSON, "txt": "text/plain", "png": "image/png", "svg": "image/svg+xml"}


@router.post(
    "/experiments",
    status_code=201,
    response_model=schemas.ExperimentOut,
    responses=openapi.SUBMITTED,
    openapi_extra=openapi.SPEC_BODY,
)
async def submit_experiment(
    body: SpecBody,
    parts: AppPartsDep,
    dry_run: parameters.DryRun = False,
    idempotency_key: parameters.IdempotencyKey = None,
) -> Response:
    """Submit a spec. Fields that the spec omits come from the task's profile; the answer shows the resolved spec."""
    if dry_run:
        plan = await run_in_threadpool(api.plan, parts, body)
        return Response(plan.model_dump_json(), media_type=JSON)
    experiment, is_new = await api.submit(parts, body, idempotency_key)
    return Response(
        experiment.model_dump_json(),
        status.HTTP_201_CREATED if is_new else status.HTTP_200_OK,
        {"Location": f"/v1/experiments/{experiment.id}"},
        media_type=JSON,
    )


@router.get("/experiments", response_model=Page[schemas.ExperimentSummary], responses=openapi.LISTED)
def list_experiments(
    request: Request,
    db: DatabaseDep,
    format: WantedFormat,
    task: parameters.TaskName = None,
    profile: parameters.Profile = None,
    method: parameters.MethodName = None,
    fingerprint: parameters.Fingerprint = None,
    state: parameters.State = None,
    sweep: parameters.SweepId = None,
    label: parameters.Labels = [],  # noqa: B006
    q: parameters.Text = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Experiments, newest first."""
    check_known("task", task, TASKS)
    check_known("method", method, METHODS)
    with db.snapshot() as session:
        rows = queries.experiments(
            session,
            task=task,
            profile=profile,
            method=method,
            sweep_id=sweep,
            fingerprint=fingerprint,
            labels=label,
            state=state,
            text=q,
            before=cursor,
            limit=limit + 1,
        )
    shown = page(rows, limit, lambda e: e.id)
    if format == "json":
        return json_answer(shown.model_dump_json())
    return as_file(columns.experiments_table(shown.items), format, next_page(request, shown))


@router.get(
    "/experiments/{experiment_id}",
    response_model=schemas.ExperimentOut,
    responses=openapi.ONE | refusals(NotFound),
)
def get_experiment(experiment_id: parameters.ExperimentId, db: DatabaseDep, format: WantedFormat) -> Response:
    """An experiment with its runs."""
    found = _as_it_is_now(db, experiment_id)
    if format == "json":
        return json_answer(found.model_dump_json())
    return as_file(columns.runs_table(found), format)


@router.get("/experiments/{experiment_id}/replay", responses=answers(examples.REPLAY) | refusals(NotFound))
def get_replay(experiment_id: parameters.ExperimentId, db: DatabaseDep) -> schemas.ReplayOut:
    """Recipe that runs an experiment again and gets the same numbers: exact spec, code, packages, machine, data.

    `normbench replay RUN` runs it, and compares every curve point by point.
    """
    with db.snapshot() as session:
        return replay.replay(session, experiment_id)


@router.post(
    "/experiments/{experiment_id}/cancel",
    status_code=202,
    responses=openapi.CANCELLED | refusals(NotFound),
)
def cancel_experiment(experiment_id: parameters.ExperimentId, db: DatabaseDep) -> schemas.ExperimentOut:
    """Cancel: queued runs stop at once, running runs within seconds. Runs that have ended stay as they are."""
    with db.transaction() as session:
        lifecycle.cancel(session, experiment_id)
    return _as_it_is_now(db, experiment_id)


@router.post(
    "/experiments/{experiment_id}/retry",
    status_code=202,
    responses=openapi.RETRIED | refusals(NotFound),
)
def retry_experiment(experiment_id: parameters.ExperimentId, parts: AppPartsDep) -> schemas.ExperimentOut:
    """Open a new attempt of each failed and cancelled run. It resumes from the run's last checkpoint, if there is a
    checkpoint.
    """
    with parts.db.transaction() as session:
        notifications = lifecycle.retry(session, experiment_id)
    parts.notifier.notify(notifications)
    return _as_it_is_now(parts.db, experiment_id)


def _as_it_is_now(db: Database, experiment_id: str) -> schemas.ExperimentOut:
    with db.snapshot() as session:
        return queries.experiment(session, experiment_id)


@router.get("/experiments/{experiment_id}/events", response_class=EventStream, responses=openapi.EVENTS)
def stream_experiment(
    request: Request,
    experiment_id: parameters.ExperimentId,
    db: DatabaseDep,
    last_event_id: parameters.LastEventId = None,
    last_event_id_parameter: parameters.LastEventIdParameter = None,
) -> Response:
    """Server-sent events of all runs of an experiment, until all runs have ended. A client can resume the stream, also
    after a retry.
    """
    with db.snapshot() as session:
        queries.experiment(session, experiment_id)
        runs = Run.experiment_id == experiment_id
        chosen = stream.Stream.resume(session, runs, last_event_id or last_event_id_parameter)
        return _events(request, db, chosen, session)


@router.get(
    "/experiments/{experiment_id}/figures/{name}",
    response_model=schemas.FigureOut,
    responses=also_printed(answers(examples.SEEDS_FIGURE)) | refusals(NotFound),
)
def get_experiment_figure(
    experiment_id: parameters.ExperimentId,
    name: parameters.FigureName,
    db: DatabaseDep,
    form: WantedFigureForm,
    theme: parameters.FigureTheme = "light",
) -> Response:
    """A figure of an experiment as Plotly JSON, or as a file for a paper: `curves` shows its seeds on validation data,
    and their mean."""
    with db.snapshot() as session:
        experiment = queries.experiment(session, experiment_id)
        if name != figures.CURVES:
            raise NotFound(f"experiment {experiment_id} has no figure {name[:60]!r}; it has {figures.CURVES}")
        figure = figures.of_seeds(session, experiment, form.theme(theme))
    return figure_answer(figure, form, f"{experiment_id}-{name}")


def _run(db: Database, run_id: str) -> schemas.RunOut:
    with db.snapshot() as session:
        return queries.run(session, run_id)


@router.get("/runs/{run_id}", responses=answers(examples.RUN) | refusals(NotFound))
def get_run(run_id: parameters.RunId, db: DatabaseDep) -> schemas.RunOut:
    """A run: its state, its progress and, once it has succeeded, its result."""
    return _run(db, run_id)


@router.get(
    "/runs/{run_id}/measurements",
    response_model=schemas.MeasurementsOut,
    responses=openapi.MEASURED | refusals(NotFound),
)
def get_measurements(
    run_id: parameters.RunId,
    db: DatabaseDep,
    format: WantedFormat,
    series: parameters.Series = [],  # noqa: B006
    max_points: parameters.MaxPoints = None,
) -> Response:
    """Curves of a run: step, value, training seconds."""
    with db.snapshot() as session:
        measured = queries.measurements(session, run_id, series=series, max_points=max_points)
        if format == "json":
            return json_answer(measured.model_dump_json())
        return as_file(columns.measurements_table(queries.run(session, run_id), measured), format)


@router.get(
    "/runs/{run_id}/figures/{name}",
    response_model=schemas.FigureOut,
    responses=also_printed(answers(examples.FIGURE)) | refusals(NotFound),
)
async def get_figure(
    run_id: parameters.RunId,
    name: parameters.FigureName,
    parts: AppPartsDep,
    form: WantedFigureForm,
    theme: parameters.FigureTheme = "light",
) -> Response:
    """A figure of a run as Plotly JSON, or as a file for a paper: `curves` at any time; figures of its task, once the
    run has succeeded."""
    theme = form.theme(theme)
    run, drawn = await run_in_threadpool(_draw_figure, parts.db, run_id, name, theme)
    if drawn is None:
        drawn = await parts.store_threads.call(figures.read_stored_figure, parts.artifacts, run, name, theme)
    if form.format is None:
        return Response(drawn, media_type="application/json")
    return await run_in_threadpool(lambda: figure_answer(json.loads(drawn), form, f"{run_id}-{name}"))


def _draw_figure(db: Database, run_id: str, name: str, theme: Theme) -> tuple[schemas.RunOut, bytes | None]:
    """Read a run, and draw its figure if the figure is made from the database."""
    with db.snapshot() as session:
        run = queries.run(session, run_id)
        figure = figures.curves_of(session, run) if name == figures.CURVES else None
    return run, None if figure is None else figures.in_colours(figure, theme)


@router.get("/runs/{run_id}/events", response_class=EventStream, responses=openapi.EVENTS)
def stream_run(
    request: Request,
    run_id: parameters.RunId,
    db: DatabaseDep,
    last_event_id: parameters.LastEventId = None,
    last_event_id_parameter: parameters.LastEventIdParameter = None,
) -> Response:
    """Server-sent events of a run, until the run has ended. A client can resume the stream, also after a retry."""
    with db.snapshot() as session:
        queries.run(session, run_id)
        runs = Run.id == run_id
        chosen = stream.Stream.resume(session, runs, last_event_id or last_event_id_parameter)
        return _events(request, db, chosen, session)


def _events(request: Request, db: Database, chosen: stream.Stream, session: Session) -> Response:
    if chosen.is_over(session):
        return Response(status_code=status.HTTP_204_NO_CONTENT)
    return EventStream(chosen.events(db, permit_of(request)), headers={"Cache-Control": "no-cache"})


@router.get("/runs/{run_id}/artifacts", responses=answers(examples.ARTIFACTS) | refusals(NotFound))
async def list_artifacts(run_id: parameters.RunId, parts: AppPartsDep) -> schemas.ArtifactList:
    """Files of a run: checkpoints while it runs; its log and environment; once it has succeeded, the selected model,
    the learning curves and other artifacts of the task.

    Names of files of earlier attempts begin with the attempt, as `1.log.txt`.
    """
    run = await run_in_threadpool(_run, parts.db, run_id)
    stored = await parts.store_threads.call(parts.artifacts.list, run_id)
    return schemas.ArtifactList(
        items=[
            schemas.ArtifactOut(name=name, size=artifact.size, url=f"/v1/runs/{run_id}/artifacts/{name}")
            for name, artifact in files.choose_visible_artifacts(run, stored).items()
        ]
    )


@router.get("/runs/{run_id}/artifacts/{name:path}", response_class=StreamingResponse, responses=openapi.DOWNLOADED)
async def get_artifact(
    run_id: parameters.RunId,
    name: parameters.FileName,
    parts: AppPartsDep,
    range: parameters.Range = None,
    if_range: parameters.IfRange = None,
    if_none_match: parameters.IfNoneMatch = None,
) -> Response:
    """The content of a file, or a part of it."""
    run = await run_in_threadpool(_run, parts.db, run_id)
    in_time = parts.store_threads
    found = files.find(run, await in_time.call(parts.artifacts.list, run_id), name)
    etag = f'"{await in_time.call(parts.artifacts.version, run_id, found.attempt, found.name)}"'
    cached = {"ETag": etag, "Cache-Control": "no-cache"}
    if if_none_match and etag_matches(if_none_match, etag):
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers=cached)
    part = read_range(range, found.size) if if_range in (None, etag) else None
    start, stop = part or (0, found.size)
    about = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{name.rpartition("/")[2]}"',
        "Content-Length": str(stop - start),
        **cached,
    }
    read = partial(parts.artifacts.stream, run_id, found.attempt, found.name, start=start, length=stop - start)
    return StreamingResponse(
        in_time.pieces(await in_time.call(read)),
        status_code=status.HTTP_206_PARTIAL_CONTENT if part else status.HTTP_200_OK,
        media_type=MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream"),
        headers=about | ({"Content-Range": f"bytes {start}-{stop - 1}/{found.size}"} if part else {}),
    )
