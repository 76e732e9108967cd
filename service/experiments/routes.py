"""Experiments and runs over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response, status
from fastapi.responses import StreamingResponse
from sqlalchemy.exc import IntegrityError

from normcore.data.registry import DatasetCorrupt, DatasetMissing, pin
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, digest, resolve
from service.db import Database
from service.errors import Invalid
from service.experiments import files, lifecycle, queries, schemas, stream, trained
from service.experiments.lifecycle import Bell
from service.http import (
    Cursor,
    DatabaseDep,
    JsonBody,
    Limit,
    Page,
    PartsDep,
    decode_cursor,
    page,
)

router = APIRouter(prefix="/v1", tags=["experiments"])

SPEC_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WrittenSpec"}}},
    }
}
MEDIA_TYPES = {".json": "application/json", ".txt": "text/plain; charset=utf-8"}
EVENT_STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}


@router.post("/experiments", status_code=201, response_model=schemas.ExperimentOut, openapi_extra=SPEC_BODY)
def submit_experiment(
    body: JsonBody,
    parts: PartsDep,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> Response:
    """Submit a spec. Anything it omits comes from the task's profile; the answer shows the resolved spec."""
    try:
        spec = pin(resolve(body), parts.settings.datasets_dir)
    except InvalidSpec as error:
        raise Invalid(error.errors) from None
    except (DatasetMissing, DatasetCorrupt) as error:
        raise Invalid([SpecError(("task",), str(error), "dataset")]) from None
    experiment, created = _submit(parts.db, spec, digest(body), idempotency_key)
    if created:
        parts.doorbell.ring(Bell(run.id, experiment.spec["device"]) for run in experiment.runs)
    return Response(
        experiment.model_dump_json(),
        status.HTTP_201_CREATED if created else status.HTTP_200_OK,
        {"Location": f"/v1/experiments/{experiment.id}"},
        media_type="application/json",
    )


def _submit(
    db: Database, spec: ExperimentSpec, request_digest: str, idempotency_key: str | None
) -> tuple[schemas.ExperimentOut, bool]:
    """Store the experiment; of two requests with one new key at the same time, the later finds the earlier's."""
    for last_try in (False, True):
        try:
            with db.transaction() as session:
                trained.check(session, spec)
                return lifecycle.submit(session, spec, request_digest=request_digest, idempotency_key=idempotency_key)
        except IntegrityError:
            if idempotency_key is None or last_try:
                raise
    raise AssertionError("unreachable")


@router.get("/experiments")
def list_experiments(
    db: DatabaseDep,
    task: str | None = None,
    profile: str | None = None,
    method: str | None = None,
    fingerprint: str | None = None,
    state: schemas.State | None = None,
    label: Annotated[list[str], Query(description="key:value; repeat it to ask for several.")] = [],  # noqa: B006
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[schemas.ExperimentSummary]:
    """Experiments, newest first."""
    columns = {"task": task, "profile": profile, "method": method, "fingerprint": fingerprint}
    with db.snapshot() as session:
        rows = queries.experiments(
            session,
            columns={name: value for name, value in columns.items() if value is not None},
            labels=[_label(text) for text in label],
            state=state,
            before=decode_cursor(cursor) if cursor else None,
            limit=limit + 1,
        )
    items, next_cursor = page(rows, limit, lambda e: e.id)
    return Page(items=items, next_cursor=next_cursor)


def _label(text: str) -> tuple[str, str]:
    key, colon, value = text.partition(":")
    if not colon:
        raise Invalid([SpecError(("label",), "write it as key:value", "label")])
    return key, value


@router.get("/experiments/{experiment_id}")
def get_experiment(experiment_id: str, db: DatabaseDep) -> schemas.ExperimentOut:
    """An experiment with its runs."""
    with db.snapshot() as session:
        return queries.experiment(session, experiment_id)


@router.post("/experiments/{experiment_id}/cancel", status_code=202)
def cancel_experiment(experiment_id: str, db: DatabaseDep) -> schemas.ExperimentOut:
    """Cancel: queued runs stop at once, running ones within seconds. What has ended stays as it is."""
    with db.transaction() as session:
        lifecycle.cancel(session, experiment_id)
    return get_experiment(experiment_id, db)


@router.post("/experiments/{experiment_id}/retry", status_code=202)
def retry_experiment(experiment_id: str, parts: PartsDep) -> schemas.ExperimentOut:
    """Open a new attempt of each failed and cancelled run; it goes on from the last checkpoint there is."""
    with parts.db.transaction() as session:
        bells = lifecycle.retry(session, experiment_id)
    parts.doorbell.ring(bells)
    return get_experiment(experiment_id, parts.db)


@router.get("/runs/{run_id}")
def get_run(run_id: str, db: DatabaseDep) -> schemas.RunOut:
    """A run: its state, progress, and in the end its result."""
    with db.snapshot() as session:
        return queries.run(session, run_id)


@router.get("/runs/{run_id}/measurements")
def get_measurements(
    run_id: str,
    db: DatabaseDep,
    series: Annotated[list[str], Query(description="Names of series; all of them if omitted.")] = [],  # noqa: B006
    max_points: Annotated[int | None, Query(ge=4, le=100_000, description="Of each series, extremes kept.")] = None,
) -> schemas.MeasurementsOut:
    """Curves of a run: step, value, training seconds."""
    with db.snapshot() as session:
        return queries.measurements(session, run_id, series=series, max_points=max_points)


@router.get("/runs/{run_id}/events", response_class=StreamingResponse, responses=EVENT_STREAM)
def stream_events(
    run_id: str, request: Request, db: DatabaseDep, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Server-sent events `state` and `measurement`, until the run has ended; resumable by `Last-Event-ID`."""
    with db.snapshot() as session:
        queries.run(session, run_id)
    seen = stream.parse_seen(last_event_id)
    if seen.ended:
        return Response(status_code=status.HTTP_204_NO_CONTENT)  # tells an EventSource to stop asking
    return StreamingResponse(
        stream.events(db, run_id, seen), media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
    )


@router.get("/runs/{run_id}/artifacts")
def list_artifacts(run_id: str, parts: PartsDep) -> schemas.ArtifactList:
    """Files of a run: checkpoints while it runs, its log and environment, and the selected model once it has succeeded.

    Those of earlier attempts are named with the attempt, as `1.log.txt`."""
    with parts.db.snapshot() as session:
        run = queries.run(session, run_id)
    return schemas.ArtifactList(
        items=[
            schemas.ArtifactOut(name=name, size=artifact.size, url=f"/v1/runs/{run_id}/artifacts/{name}")
            for name, artifact in files.shown(run, parts.artifacts.list(run_id)).items()
        ]
    )


@router.get("/runs/{run_id}/artifacts/{name}", response_class=StreamingResponse)
def get_artifact(run_id: str, name: str, parts: PartsDep) -> StreamingResponse:
    """A file's content."""
    with parts.db.snapshot() as session:
        run = queries.run(session, run_id)
    found = files.find(run, parts.artifacts.list(run_id), name)
    content: Iterator[bytes] = parts.artifacts.stream(run_id, found.attempt, found.name)
    return StreamingResponse(
        content,
        media_type=MEDIA_TYPES.get(Path(name).suffix, "application/octet-stream"),
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
