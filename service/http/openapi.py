"""Completion of the OpenAPI document, with everything that FastAPI cannot see from the routes alone.

This is the schemas of specifications, as written and as resolved, the schemas of results, and what middleware and error
handlers add to every call.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json, to_json

from normcore.events import Result
from normcore.spec import TASKS, AnalysisSpec, ExperimentSpec, TrainingSpec
from service.errors import (
    BadRange,
    BadRequest,
    Conflict,
    Defect,
    Forbidden,
    Invalid,
    Misdirected,
    NotAcceptable,
    NotAllowed,
    NotFound,
    NotInstalled,
    ServiceError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from service.http.problems import MEDIA_TYPE, ProblemDetails
from service.http.schemas import NAMED, AnalysisResult, Environment

Document = dict[str, Any]
Responses = dict[int | str, Document]

DESCRIPTION = """\
Submit a specification, follow its runs, read the leaderboards. Times are ISO 8601 in UTC; ids sort by creation.
Every `GET` also answers `HEAD`, and is compressed for clients that accept gzip; `OPTIONS` says which methods an address
takes. Refusals are `application/problem+json`. Every answer tells browsers to load nothing from elsewhere
(`Content-Security-Policy`), to guess no type and to send no address to other sites."""
JSON = "application/json"
UNNAMED = "Successful Response"  # FastAPI's description of an answer that a route does not describe
VERBATIM = "x-json"
REFERENCE = "#/components/schemas/{model}"
SPEC_KINDS: tuple[type[ExperimentSpec], ...] = (TrainingSpec, AnalysisSpec)
OF_EVERY_CALL: tuple[type[ServiceError], ...] = (
    BadRequest,
    Forbidden,
    NotAllowed,
    Misdirected,
    Invalid,
    Defect,
    Unavailable,
)
WHEN: dict[type[ServiceError], str] = {
    BadRequest: "The request cannot be read.",
    Unauthorized: "No API key was sent, or the key is not valid.",
    Forbidden: "A browser sent this for a page of another site.",
    NotFound: "There is no such thing.",
    NotAllowed: "The address does not take this method; `Allow` says which it takes.",
    NotAcceptable: "`Accept` allows no format that there is; the answer lists the formats.",
    Conflict: "The `Idempotency-Key` was used with another body.",
    TooLarge: "The body is larger than any specification.",
    BadRange: "The file ends before the range that was asked for.",
    Misdirected: "The request is for a host that the service does not serve (`NORMBENCH_ALLOWED_HOSTS`).",
    Invalid: "Fields or parameters are wrong; `errors` names each.",
    Defect: "The service's own fault; nothing is wrong with the request.",
    NotInstalled: "The service lacks an optional package; `detail` says how to install it.",
    Unavailable: "The database, the broker or the artifact store is away; try again after `Retry-After`.",
}
WITH_HEADERS: dict[type[ServiceError], tuple[str, ...]] = {
    Unauthorized: ("WWW-Authenticate",),
    NotAllowed: ("Allow",),
    BadRange: ("Content-Range",),
    Unavailable: ("Retry-After",),
}
HEADERS: dict[str, str] = {
    "Allow": "The methods that the address takes.",
    "ETag": "Tag of this content; send it as `If-None-Match` to get the content only if it has changed.",
    "Location": "The address of what was stored.",
    "Retry-After": "Seconds to wait before trying again.",
    "WWW-Authenticate": "`Bearer`.",
    "Content-Disposition": "The file's name.",
    "Accept-Ranges": "`bytes`: parts of the file can be asked for by `Range`.",
    "Content-Range": "The bytes in this answer, and the size of the file.",
    "Cache-Control": "`no-cache`: a client that stores the answer must ask whether it has changed before using it.",
    "Content-Encoding": "`gzip`, if the client accepts it and the answer is long enough.",
    "Link": 'The address of the page that follows, with `rel="next"`; missing on the last page.',
    "Vary": "`Accept-Encoding`: the answer may be compressed. `Accept`: it may have another format.",
}
OF_CACHED = ("ETag", "Cache-Control")
NEVER_COMPRESSED = ("204", "206", "304")
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of an earlier answer; 304 if it has not changed.",
    "schema": {"type": "string"},
    "example": 'W/"1f3870be274f6c49b3e31a0c6728957f"',
}


def reference(name: str) -> dict[str, str]:
    return {"$ref": REFERENCE.format(model=name)}


def inline_schema(kind: type[BaseModel]) -> Document:
    """Build the schema of a body that a route reads itself. Every schema that it refers to stands in place of the
    reference.
    """
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})
    return {name: _in_place(inner, parts) for name, inner in schema.items()}


def _in_place(node: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_in_place(inner, parts) for inner in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _in_place(parts[node["$ref"].rpartition("/")[2]], parts)
    return {name: _in_place(inner, parts) for name, inner in node.items()}


def answers(
    example: Any,
    *,
    status: int = 200,
    description: str = UNNAMED,
    headers: Document | None = None,
    also: Mapping[str, Any] | None = None,
) -> Responses:
    """Describe a route's answer by an example.

    Args:
        also: more examples, by name.
        description: description of the answer; by default the description of the route.
    """
    named = {name: {"value": verbatim(value)} for name, value in {"default": example, **(also or {})}.items()}
    content = {JSON: {"examples": named} if also else {"example": verbatim(example)}}
    return {status: {"description": description, "content": content, **({"headers": headers} if headers else {})}}


def verbatim(value: Any) -> Document:
    """Mark a value that the document shows unchanged. FastAPI would leave out nulls, so the value becomes text, from
    which ``complete`` reads it.
    """
    return {VERBATIM: to_json(value).decode()}


def headers(*names: str, required: bool = True) -> Document:
    """Describe headers of an answer."""
    return {name: {"description": HEADERS[name], "required": required, "schema": {"type": "string"}} for name in names}


def refusals(*kinds: type[ServiceError]) -> Responses:
    """Describe the refusals of a route, in addition to the refusals that every call may give."""
    return {kind.status: _refusal(kind) for kind in kinds}


def complete(app: FastAPI) -> None:
    """Make the application complete its OpenAPI document."""
    generate = app.openapi

    def openapi() -> Document:
        if app.openapi_schema is None:
            document = generate()
            schemas = document["components"]["schemas"]
            schemas.update(_schemas())
            for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's own schemas of a refusal
                schemas.pop(unused, None)
            for method, operation in _operations(document):
                _complete(method, operation)
            app.openapi_schema = _link_schemas(document)
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]


def _link_schemas(node: Any) -> Any:
    if isinstance(node, list):
        return [_link_schemas(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    if VERBATIM in node:
        return from_json(node[VERBATIM])
    own = reference(node[NAMED]) if NAMED in node else {}
    return own | {name: _link_schemas(inner) for name, inner in node.items() if name != NAMED}


def _operations(document: Document) -> Iterator[tuple[str, Document]]:
    for calls in document["paths"].values():
        yield from calls.items()


def _complete(method: str, operation: Document) -> None:
    """Describe in the OpenAPI of a call also the answers and headers that middleware and error handlers add to it."""
    responses = operation["responses"]
    for answer in responses.values():
        if answer["description"] == UNNAMED:
            answer["description"] = operation["description"].partition("\n\n")[0]
    kinds: list[type[ServiceError]] = [*OF_EVERY_CALL, *([Unauthorized] if "security" in operation else [])]
    responses |= {str(kind.status): _refusal(kind) for kind in kinds}
    if method == "get":
        _complete_get(operation)
    for parameter in operation.get("parameters", []):
        if "examples" in parameter["schema"]:
            parameter["example"] = parameter["schema"].pop("examples")[0]
    operation["responses"] = dict(sorted(responses.items()))


def _complete_get(operation: Document) -> None:
    """Add headers and answers for caching and compression."""
    responses = operation["responses"]
    if JSON in responses["200"]["content"] and "304" not in responses:
        responses["200"].setdefault("headers", {}).update(headers(*OF_CACHED))
        responses["304"] = not_modified()
        operation.setdefault("parameters", []).append(IF_NONE_MATCH)
    for status, answer in responses.items():
        may_be_compressed = status not in NEVER_COMPRESSED and "text/event-stream" not in answer.get("content", {})
        more = ("Content-Encoding", "Vary") if may_be_compressed else ("Vary",)
        answer["headers"] = answer.get("headers", {}) | headers(*more, required=False)


def not_modified() -> Document:
    return {"description": "What the client has is still the answer.", "headers": headers(*OF_CACHED)}


def _refusal(kind: type[ServiceError]) -> Document:
    example = {"type": "about:blank", "title": kind.title, "status": kind.status, "detail": WHEN[kind]}
    if kind is Invalid:
        error = {"loc": ["norm", "eps"], "msg": "expected a number greater than 0, not -1", "type": "greater_than"}
        example |= {"detail": f"norm.eps: {error['msg']}", "errors": [error]}
    named = WITH_HEADERS.get(kind, ())
    return {
        "description": WHEN[kind],
        "content": {MEDIA_TYPE: {"schema": reference("ProblemDetails"), "example": example}},
        **({"headers": headers(*named)} if named else {}),
    }


# -- schemas ---------------------------------------------------------------------------------------


def _schemas() -> Document:
    results = {**_describe_class(Result, name="TrainingResult"), **_describe_class(AnalysisResult)}
    results["AnyResult"] = {"anyOf": [reference("TrainingResult"), reference("AnalysisResult")]}
    return {
        **_describe_class(ProblemDetails),
        **results,
        **_describe_class(Environment),
        **_written_spec(),
        **_resolved_spec(),
    }


def _describe_class(kind: type[Any], *, name: str | None = None, template: str = REFERENCE) -> Document:
    """Build the schema of a class as an answer shows it, and the schemas to which it refers."""
    schema = TypeAdapter(kind).json_schema(mode="serialization", ref_template=template)
    parts = schema.pop("$defs", {})
    named = {template.format(model=part).rpartition("/")[2]: inner for part, inner in parts.items()}
    return {**named, name or kind.__name__: schema}


def _resolved_spec() -> Document:
    schemas: Document = {}
    for kind in SPEC_KINDS:
        template = REFERENCE.format(model="Resolved{model}")
        schemas |= _describe_class(kind, name=f"Resolved{kind.__name__}", template=template)
    for schema in schemas.values():
        schema["required"] = list(schema["properties"])
    choice = [reference(f"Resolved{kind.__name__}") for kind in SPEC_KINDS]
    return {**schemas, "ResolvedSpec": {"anyOf": choice, "description": "A specification with nothing left out."}}


def _written_spec() -> Document:
    """Build the schemas of a spec as users write it: only the task is required."""
    written: Document = {}
    for kind in SPEC_KINDS:
        schema = kind.model_json_schema(ref_template=REFERENCE)
        parts = schema.pop("$defs")
        for part in [schema, *parts.values()]:
            part.pop("required", None)
            part["properties"] = {n: f if n == "task" else _remove_tags(f) for n, f in part["properties"].items()}
        written |= {**parts, kind.__name__: {**schema, "required": ["task"]}}
    for task in TASKS.values():
        needed = [name for name, field in task.model_fields.items() if field.is_required()]
        written[task.__name__]["required"] = ["name", *needed]
    choice = [reference(kind.__name__) for kind in SPEC_KINDS]
    return {**written, "WrittenSpec": {"anyOf": choice, "description": "What is omitted comes from the profile."}}


def _remove_tags(schema: Any) -> Any:
    """Replace ``oneOf`` by ``anyOf``, because a spec without a tag can match several members of a union."""
    if isinstance(schema, list):
        return [_remove_tags(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        "anyOf" if key == "oneOf" else key: _remove_tags(inner)
        for key, inner in schema.items()
        if key != "discriminator"
    }
