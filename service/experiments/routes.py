"""Experiments and runs over HTTP."""

from typing import Annotated

from fastapi import Header, Path, Query, Response, status
from fastapi.responses import StreamingResponse
from pydantic import Field
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from normcore.data.registry import DatasetError, pin
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, digest, resolve
from normcore.spec.methods import METHODS
from normcore.spec.tasks import TASKS, ProfileName
from service.db import Database
from service.errors import BadRange, Conflict, Invalid, NotFound, TooLarge
from service.experiments import files, lifecycle, planning, queries, schemas, stream, submission, trained
from service.experiments.lifecycle import Bell
from service.experiments.tables import Run
from service.http.bodies import YAML_TYPES, SpecBody
from service.http.conditional import etag_matches
from service.http.openapi import Document, Responses, headers, reference, refusals
from service.http.pages import Cursor, Limit, Page, page
from service.http.parts import DatabaseDep, PartsDep
from service.http.ranges import read_range
from service.http.routing import Router, check_known

router = Router(prefix="/v1", tags=["experiments"])


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


EXAMPLE_SPEC = {"task": {"name": "permuted_digits", "profile": "small"}, "norm": {"method": "layer_norm"}}
WRITTEN = {"schema": reference("WrittenSpec"), "example": {**EXAMPLE_SPEC, "seeds": [0, 1, 2]}}
SPEC_BODY: Document = {
    "requestBody": {"required": True, "content": dict.fromkeys(("application/json", YAML_TYPES[0]), WRITTEN)}
}
SUBMITTED: Responses = {
    200: {
        "description": "With `dry_run`: the plan. With an `Idempotency-Key` that was used before: that experiment.",
        "content": {"application/json": {"schema": {"anyOf": [reference("ExperimentOut"), reference("PlanOut")]}}},
    },
    201: {"description": "The experiment, its runs queued.", "headers": headers("Location")},
    **refusals(Conflict, TooLarge),
}
EVENT = {  # each one of the stream
    "type": "object",
    "properties": {
        "event": {"enum": ["state", "measurement"]},
        "id": {"type": "string", "description": "Send the last one as `Last-Event-ID` to go on after it."},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "id", "data"],
}
EVENTS: Responses = {
    200: {
        "description": "`state` events with a run, `measurement` events with the values of a step.",
        "content": {
            "text/event-stream": {
                "schema": EVENT,
                "example": {
                    "event": "measurement",
                    "id": "1-20",
                    "data": '{"run_id": "run_01KAJ…", "step": 20, "seconds": 1.5, "values": {"valid.accuracy": 0.4}}',
                },
            }
        },
    },
    204: {"description": "All has ended and the client has it: an EventSource stops asking."},
    **refusals(NotFound),
}
FILE = {"schema": {"type": "string", "format": "binary"}}
FILES = {"application/octet-stream": FILE, "application/json": {}, "text/plain": {"schema": {"type": "string"}}}
MEDIA_TYPES = {"json": "application/json", "txt": "text/plain"}
FILE_HEADERS = ("Accept-Ranges", "Content-Disposition", "ETag")
DOWNLOADED: Responses = {
    200: {"description": "The file.", "content": FILES, "headers": headers(*FILE_HEADERS)},
    206: {"description": "A part of it.", "content": FILES, "headers": headers(*FILE_HEADERS, "Content-Range")},
    304: {"description": "Not modified.", "headers": headers("ETag")},
    **refusals(NotFound, BadRange),
}
ExperimentId = Annotated[str, Path(description="The experiment's id.", examples=["exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"])]
RunId = Annotated[str, Path(description="The run's id.", examples=["run_01KAJ3V1Z8Q4N7M2X5C6B9D0EG"])]
NO_NUL = r"^[^\x00]*$"
LABEL = r"^[^\x00]*:[^\x00]*$"
IfNoneMatch = Annotated[str | None, Header(description="The `ETag` of an earlier answer: 304 if it still stands.")]
LastEventId = Annotated[str | None, Header(description="The id of the last event received; the rest follows.")]
LastEventIdParameter = Annotated[
    str | None,
    Query(alias="last_event_id", pattern=NO_NUL, description="As the header, for clients that cannot set it."),
]


@router.post(
    "/experiments",
    status_code=201,
    response_model=schemas.ExperimentOut | schemas.PlanOut,
    responses=SUBMITTED,
    openapi_extra=SPEC_BODY,
)
def submit_experiment(
    body: SpecBody,
    parts: PartsDep,
    dry_run: Annotated[bool, Query(description="Store nothing; say what it would be and take.")] = False,
    idempotency_key: Annotated[
        str | None, Header(min_length=1, max_length=255, description="The same key and body again submit nothing new.")
    ] = None,
) -> Response:
    """Submit a spec. Anything it omits comes from the task's profile; the answer shows the resolved spec."""
    try:
        spec = pin(resolve(body), parts.settings.datasets_dir)
    except InvalidSpec as error:
        raise Invalid(error.errors) from None
    except DatasetError as error:
        raise Invalid([SpecError(error.field, str(error), "dataset")]) from None
    if dry_run:
        with parts.db.snapshot() as session:
            trained.check(session, spec)
            return Response(planning.plan(session, spec).model_dump_json(), media_type="application/json")
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
                return submission.submit(session, spec, request_digest=request_digest, idempotency_key=idempotency_key)
        except IntegrityError:
            if idempotency_key is None or last_try:
                raise
    raise AssertionError("unreachable")


@router.get("/experiments")
def list_experiments(
    db: DatabaseDep,
    task: Annotated[str | None, Query(description="A task's name.", json_schema_extra={"enum": sorted(TASKS)})] = None,
    profile: Annotated[ProfileName | None, Query(description="A profile's name.")] = None,
    method: Annotated[
        str | None, Query(description="A method's name.", json_schema_extra={"enum": sorted(METHODS)})
    ] = None,
    fingerprint: Annotated[
        str | None, Query(pattern="^[0-9a-f]{8,64}$", description="The fingerprint, or its first 8 or more characters.")
    ] = None,
    state: Annotated[schemas.State | None, Query(description="The experiment's state.")] = None,
    label: Annotated[
        list[Annotated[str, Field(pattern=LABEL)]],
        Query(description="`key:value`; repeat it to ask for several."),
    ] = [],  # noqa: B006
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[schemas.ExperimentSummary]:
    """Experiments, newest first."""
    check_known("task", task, TASKS)
    check_known("method", method, METHODS)
    columns = {"task": task, "profile": profile, "method": method}
    with db.snapshot() as session:
        rows = queries.experiments(
            session,
            columns={name: value for name, value in columns.items() if value is not None},
            fingerprint=fingerprint,
            labels=[(key, value) for key, _, value in (text.partition(":") for text in label)],
            state=state,
            before=cursor,
            limit=limit + 1,
        )
    return page(rows, limit, lambda e: e.id)


@router.get("/experiments/{experiment_id}", responses=refusals(NotFound))
def get_experiment(experiment_id: ExperimentId, db: DatabaseDep) -> schemas.ExperimentOut:
    """An experiment with its runs."""
    with db.snapshot() as session:
        return queries.experiment(session, experiment_id)


@router.post("/experiments/{experiment_id}/cancel", status_code=202, responses=refusals(NotFound))
def cancel_experiment(experiment_id: ExperimentId, db: DatabaseDep) -> schemas.ExperimentOut:
    """Cancel: queued runs stop at once, running ones within seconds. What has ended stays as it is."""
    with db.transaction() as session:
        lifecycle.cancel(session, experiment_id)
    return get_experiment(experiment_id, db)


@router.post("/experiments/{experiment_id}/retry", status_code=202, responses=refusals(NotFound))
def retry_experiment(experiment_id: ExperimentId, parts: PartsDep) -> schemas.ExperimentOut:
    """Open a new attempt of each failed and cancelled run; it goes on from the last checkpoint there is."""
    with parts.db.transaction() as session:
        bells = lifecycle.retry(session, experiment_id)
    parts.doorbell.ring(bells)
    return get_experiment(experiment_id, parts.db)


@router.get("/experiments/{experiment_id}/events", response_class=EventStream, responses=EVENTS)
def stream_experiment(
    experiment_id: ExperimentId,
    db: DatabaseDep,
    last_event_id: LastEventId = None,
    last_event_id_parameter: LastEventIdParameter = None,
) -> Response:
    """Server-sent events of all runs of an experiment, until all have ended. Resumable; a retry makes it go on."""
    with db.snapshot() as session:
        queries.experiment(session, experiment_id)
        runs = Run.experiment_id == experiment_id
        return _events(db, stream.Stream.resumed(session, runs, last_event_id or last_event_id_parameter), session)


@router.get("/runs/{run_id}", responses=refusals(NotFound))
def get_run(run_id: RunId, db: DatabaseDep) -> schemas.RunOut:
    """A run: its state, progress, and in the end its result."""
    with db.snapshot() as session:
        return queries.run(session, run_id)


@router.get("/runs/{run_id}/measurements", responses=refusals(NotFound))
def get_measurements(
    run_id: RunId,
    db: DatabaseDep,
    series: Annotated[
        list[Annotated[str, Field(pattern=NO_NUL)]], Query(description="Names of series; all of them if omitted.")
    ] = [],  # noqa: B006
    max_points: Annotated[int | None, Query(ge=4, le=100_000, description="Of each series, extremes kept.")] = None,
) -> schemas.MeasurementsOut:
    """Curves of a run: step, value, training seconds."""
    with db.snapshot() as session:
        return queries.measurements(session, run_id, series=series, max_points=max_points)


@router.get("/runs/{run_id}/events", response_class=EventStream, responses=EVENTS)
def stream_run(
    run_id: RunId,
    db: DatabaseDep,
    last_event_id: LastEventId = None,
    last_event_id_parameter: LastEventIdParameter = None,
) -> Response:
    """Server-sent events of a run, until it has ended. Resumable; a retry makes it go on."""
    with db.snapshot() as session:
        queries.run(session, run_id)
        runs = Run.id == run_id
        return _events(db, stream.Stream.resumed(session, runs, last_event_id or last_event_id_parameter), session)


def _events(db: Database, chosen: stream.Stream, session: Session) -> Response:
    if chosen.is_over(session):
        return Response(status_code=status.HTTP_204_NO_CONTENT)
    return EventStream(chosen.events(db), headers={"Cache-Control": "no-cache"})


@router.get("/runs/{run_id}/artifacts", responses=refusals(NotFound))
def list_artifacts(run_id: RunId, parts: PartsDep) -> schemas.ArtifactList:
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


@router.get("/runs/{run_id}/artifacts/{name}", response_class=StreamingResponse, responses=DOWNLOADED)
def get_artifact(
    run_id: RunId,
    name: Annotated[str, Path(description="The file's name.", examples=["model.pt"])],
    parts: PartsDep,
    range: Annotated[str | None, Header(description="`bytes=FIRST-LAST`: only these bytes.")] = None,
    if_range: Annotated[str | None, Header(description="`Range` counts only if this is the file's `ETag`.")] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A file's content, or a part of it."""
    with parts.db.snapshot() as session:
        run = queries.run(session, run_id)
    found = files.find(run, parts.artifacts.list(run_id), name)
    etag = f'"{parts.artifacts.version(run_id, found.attempt, found.name)}"'
    if if_none_match and etag_matches(if_none_match, etag):
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers={"ETag": etag})
    part = read_range(range, found.size) if if_range in (None, etag) else None
    start, stop = part or (0, found.size)
    about = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(stop - start),
        "ETag": etag,
        "Cache-Control": "no-cache",
    }
    return StreamingResponse(
        parts.artifacts.stream(run_id, found.attempt, found.name, start=start, length=stop - start),
        status_code=status.HTTP_206_PARTIAL_CONTENT if part else status.HTTP_200_OK,
        media_type=MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream"),
        headers=about | ({"Content-Range": f"bytes {start}-{stop - 1}/{found.size}"} if part else {}),
    )
