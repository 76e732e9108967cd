"""Descriptions of calls about experiments for the OpenAPI document, where the routes alone do not say enough."""

from service.errors import BadRange, Conflict, NotFound, TooLarge
from service.experiments import columns, examples, schemas
from service.http.bodies import YAML_TYPES
from service.http.openapi import (
    JSON,
    Document,
    Responses,
    answers,
    headers,
    not_modified,
    reference,
    refusals,
    verbatim,
)
from service.http.pages import Page
from service.http.tables import also_as_file

WRITTEN = {"schema": reference("WrittenSpec"), "example": examples.WRITTEN}
SPEC_BODY: Document = {"requestBody": {"required": True, "content": dict.fromkeys((JSON, *YAML_TYPES), WRITTEN)}}
AS_IT_IS_NOW = "The experiment as it is now."
CANCELLED = answers(examples.CANCELLED, status=202, description=AS_IT_IS_NOW)
RETRIED = answers(examples.RETRIED, status=202, description=AS_IT_IS_NOW)
SUBMITTED: Responses = {
    200: {
        "model": schemas.ExperimentOut | schemas.PlanOut,
        "description": "With `dry_run`: the plan. With an `Idempotency-Key` that was used before: that experiment.",
        "content": {
            JSON: {
                "examples": {
                    "plan": {"value": verbatim(examples.PLAN)},
                    "experiment": {"value": verbatim(examples.EXPERIMENT)},
                },
            }
        },
        "headers": headers("Location", required=False),
    },
    **answers(
        examples.SUBMITTED,
        status=201,
        description="The new experiment, with queued runs.",
        headers=headers("Location"),
    ),
    **refusals(Conflict, TooLarge),
}
LISTED = also_as_file(
    answers(Page(items=[examples.SUMMARY], next_cursor=examples.EXPERIMENT_ID)),
    columns.EXPERIMENTS_ROW,
    columns.EXPERIMENTS_EXAMPLE,
)
ONE = also_as_file(answers(examples.EXPERIMENT), columns.RUNS_ROW, columns.RUNS_EXAMPLE)
MEASURED = also_as_file(answers(examples.MEASUREMENTS), columns.MEASUREMENTS_ROW, columns.MEASUREMENTS_EXAMPLE)
EVENT = {  # an event of the stream
    "type": "object",
    "properties": {
        "event": {"enum": ["state", "measurement"]},
        "id": {
            "type": "string",
            "description": "Send the id of the last event as `Last-Event-ID` to go on after that event.",
        },
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
                    "data": '{"run_id": "run_01KAJ…", "attempt": 1, "step": 20, "seconds": 1.5,'
                    ' "values": {"valid.accuracy": 0.4}}',
                },
            }
        },
        "headers": headers("Cache-Control"),
    },
    204: {"description": "All runs have ended, and the client has all events. An `EventSource` stops asking."},
    **refusals(NotFound),
}
FILE = {"schema": {"type": "string", "format": "binary"}}
ENVIRONMENT = {"schema": reference("Environment"), "example": verbatim(examples.RUN.environment)}
LOG = {"schema": {"type": "string"}, "example": "analysed in 1.5 s\n"}
FILE_HEADERS = ("Content-Disposition", "ETag", "Cache-Control")
DOWNLOADED: Responses = {
    200: {
        "description": "The file.",
        "content": {"application/octet-stream": FILE, JSON: ENVIRONMENT, "text/plain": LOG},
        "headers": headers(*FILE_HEADERS)
        | headers("Accept-Ranges", required=False),  # a compressed answer has no ranges
    },
    206: {
        "description": "A part of the file.",
        "content": dict.fromkeys(("application/octet-stream", JSON, "text/plain"), FILE),
        "headers": headers(*FILE_HEADERS, "Accept-Ranges", "Content-Range"),
    },
    304: not_modified(),
    **refusals(NotFound, BadRange),
}
