"""The description of the API says everything of every call, its examples are right, and its answers are as it says."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from normcore.spec import resolve
from service.app import create_app
from service.artifacts import Artifacts
from service.db import Database
from service.settings import Settings
from tests.service.sample_runs import begun, claimed, finished, measured, recorded, submitted, written
from tests.service.sweeps.sample_sweeps import posted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
JSON = "application/json"
OF_EVERY_ANSWER = {  # described once: the type by OpenAPI, the length by HTTP, headers for browsers in the introduction
    "content-length",
    "content-type",
    "content-security-policy",
    "referrer-policy",
    "x-content-type-options",
}
FREE_FORM = {  # JSON Schemas, options of any method or task, and what Plotly takes
    "TaskOut.options",
    "TaskOut.models.additionalProperties",
    "MethodOut.options",
    "ComparedEntry.changes",
    "Entry.changes",
    "Problem.options",
    "PlannedCell.values",
    "SweepCell.values",
    "FigureOut.data",
    "FigureOut.layout",
}


@pytest.fixture(scope="module")
def document(shared_client: TestClient) -> Any:
    return shared_client.get("/openapi.json").json()


def operations(document: Any) -> Iterator[tuple[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def check(document: Any, schema: Any, value: Any) -> None:
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(value)


def examples(described: Any) -> list[Any]:
    """All examples of a media type or a parameter."""
    own = [described["example"]] if "example" in described else []
    return own + [example["value"] for example in described.get("examples", {}).values()]


def test_every_parameter_is_described_and_has_an_example_that_is_right(document: Any) -> None:
    seen = 0
    for name, operation in operations(document):
        for parameter in operation.get("parameters", []):
            shown = examples(parameter)
            assert parameter["description"], f"{name}: {parameter['name']}"
            assert shown, f"{name}: {parameter['name']}"
            for example in shown:
                check(document, parameter["schema"], example)
            seen += 1
    assert seen > 40


def test_every_body_has_a_schema_and_an_example_that_is_right(document: Any) -> None:
    for name, operation in operations(document):
        answers = operation["responses"].items()
        bodies = [(f"{name}: {status}", answer["content"]) for status, answer in answers if "content" in answer]
        if "requestBody" in operation:
            bodies.append((name, operation["requestBody"]["content"]))
        for place, content in bodies:
            for media_type, described in content.items():
                assert described["schema"], f"{place}: {media_type}"
                assert examples(described) or described["schema"].get("format") == "binary", f"{place}: {media_type}"
                for example in examples(described):
                    check(document, described["schema"], example)


def test_every_answer_is_described_and_every_call_has_its_statuses(document: Any) -> None:
    for name, operation in operations(document):
        answers = operation["responses"]
        for status, answer in answers.items():
            assert answer["description"] not in ("", "Successful Response"), f"{name}: {status}"
            for header in answer.get("headers", {}).values():
                assert header["description"], f"{name}: {status}"
        assert {"400", "403", "405", "421", "422", "500", "503"} <= set(answers), name
        assert "Allow" in answers["405"]["headers"], name
        assert "Retry-After" in answers["503"]["headers"], name
        if name.startswith("GET"):
            assert ("304" in answers) == (JSON in answers["200"]["content"]), name
            for status in {"200", "206", "304"} & set(answers) if "304" in answers else ():
                assert {"ETag", "Cache-Control"} <= set(answers[status]["headers"]), f"{name}: {status}"


def test_every_object_in_the_description_has_fields_or_is_free_form(document: Any) -> None:
    def bare(node: Any, place: str) -> Iterator[str]:
        if isinstance(node, dict):
            said = {"properties", "patternProperties", "anyOf", "oneOf", "$ref"} & set(node)
            if node.get("type") == "object" and not said and node.get("additionalProperties", True) is True:
                yield place
            for name, inner in node.items():
                yield from bare(inner, f"{place}.{name}" if name not in ("properties", "anyOf", "items") else place)
        elif isinstance(node, list):
            for inner in node:
                yield from bare(inner, place)

    schemas = document["components"]["schemas"]
    assert {place for name, schema in schemas.items() for place in bare(schema, name)} == FREE_FORM


@SQLITE
def test_a_description_behind_keys_has_the_www_authenticate_header(settings: Settings) -> None:
    with TestClient(create_app(settings, require_keys=True)) as client:
        document = client.get("/openapi.json").json()
        answered_as_described(document, client.get("/v1/tasks"))
    for name, operation in operations(document):
        if "/v1/" in name:
            assert "WWW-Authenticate" in operation["responses"]["401"]["headers"], name


def answered_as_described(document: Any, answer: Any) -> None:
    """Check that status, headers, media type and body agree with the description."""
    method, path = answer.request.method, answer.request.url.path
    templates = [t for t in document["paths"] if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(t)), path)]
    calls = document["paths"][min(templates, key=lambda t: t.count("{"))]
    call = calls.get(method.lower()) or next(iter(calls.values()))  # a method that is not allowed
    described = call["responses"][str(answer.status_code)]
    headers = {name.lower(): header for name, header in described.get("headers", {}).items()}
    place = f"{method} {path}: {answer.status_code}"
    assert set(answer.headers) - OF_EVERY_ANSWER <= set(headers), place
    assert {name for name, header in headers.items() if header["required"]} <= set(answer.headers), place
    if "content" not in described:
        assert answer.content == b"", place
        return
    media_type = answer.headers["content-type"].partition(";")[0]
    assert media_type in described["content"], place
    if media_type.endswith("json") and answer.status_code != 206:
        check(document, described["content"][media_type]["schema"], answer.json())


@pytest.fixture
def ended_run(db: Database, settings: Settings) -> str:
    """Id of a run that has succeeded, with a curve and files. A second run has succeeded, too."""
    run_id, lease = submitted(db).runs[0].id, claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5), measured(10))
    finished(db, lease)
    submitted(db, "none")
    other = claimed(db).lease
    recorded(db, other, measured(5), measured(10))
    finished(db, other)
    for name, content in {"log.txt": b"a log\n" * 500, "environment.json": b'{"python": "3"}', "x.bin": b"12"}.items():
        Artifacts(settings.artifacts_url).write(run_id, 1, name, content)
    return run_id


def fingerprints(client: TestClient) -> list[str]:
    board = client.get("/v1/leaderboards/permuted_digits", params={"profile": "smoke"}).json()
    return [entry["fingerprint"] for entry in board["entries"] if entry["source"] == "measured"]


@SQLITE
def test_answers_agree_with_the_description(client: TestClient, document: Any, ended_run: str) -> None:
    run = client.get(f"/v1/runs/{ended_run}").json()
    experiment, files = f"/v1/experiments/{run['experiment_id']}", f"/v1/runs/{ended_run}/artifacts"
    keyed = {"Idempotency-Key": "a"}
    of_posts = {
        201: {"json": written(), "headers": keyed},
        200: {"json": written(), "headers": keyed},
        409: {"json": written("none"), "headers": keyed},
        400: {"content": b"{"},
        413: {"content": b" " * 3_000_000},
        422: {"json": {}},
        403: {"json": written(), "headers": {"Origin": "http://evil.example"}},
    }
    answers = {}
    for status, request in of_posts.items():
        answers[f"POST {status}"] = client.post("/v1/experiments", **request)  # type: ignore[arg-type]
        assert answers[f"POST {status}"].status_code == status
    claim = {**written(), "values": [{"seed": 0, "value": 0.5}], "provenance": {"source": "https://example.org"}}
    del claim["seeds"]
    of_results = {201: claim, 200: claim, 409: {**claim, "norm": {}}, 422: {}}
    for status, body in of_results.items():
        answers[f"POST result {status}"] = client.post("/v1/results", json=body, headers=keyed)
        assert answers[f"POST result {status}"].status_code == status
    result = answers["POST result 201"].headers["Location"]
    sweep = posted({"norm.method": ["layer_norm", "none"]})
    for status, path, content in (
        (201, "", sweep),
        (200, "?dry_run=true", sweep),
        (422, "", {}),
        (202, "/{sweep_id}/cancel", None),
        (202, "/{sweep_id}/retry", None),
    ):
        path = path.format(sweep_id=answers["sweep 201"].json()["id"]) if content is None else path
        answers[f"sweep {path or status}"] = client.post(f"/v1/sweeps{path}", json=content)
        assert answers[f"sweep {path or status}"].status_code == status
    plan = client.post("/v1/experiments?dry_run=true", json=written())
    assert plan.json()["runs"] == 1
    read = [
        *(f"{experiment}{rest}" for rest in ("", "/events", "/figures/curves")),
        *(f"/v1/runs/{ended_run}{rest}" for rest in ("", "/events", "/measurements", "/artifacts", "/figures/curves")),
        *(f"{files}/{name}" for name in ("log.txt", "environment.json", "x.bin")),
        *(
            "/v1/results",
            result,
            "/v1/experiments",
            "/v1/leaderboards",
            "/v1/leaderboards/permuted_digits?profile=smoke",
            "/v1/leaderboards/overall?profile=smoke",
            "/v1/workers",
        ),
        *("/v1/tasks", "/v1/tasks/char_lm", "/v1/methods", "/v1/methods/none", "/v1/methods/layer_norm/report-card"),
        *("/v1/sweeps", f"/v1/sweeps/{answers['sweep 201'].json()['id']}"),
        *("/v1/datasets", "/v1/queue", "/metrics", "/healthz", "/readyz"),
    ]
    for path in read:
        answer = client.get(path)
        assert answer.status_code == 200, path
        answers[path] = answer
        if "etag" in answer.headers and path != "/v1/queue":  # the age of its oldest run changes meanwhile
            answers[f"{path} again"] = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
            assert answers[f"{path} again"].status_code == 304
        answers[f"{path} refused"] = client.get(path, params={"x": "1"})
        answers[f"{path} patched"] = client.patch(path)
        answers[f"{path} elsewhere"] = client.get(path, headers={"Host": "evil.example"})
    last = re.findall(r"id: (\S+)", answers[f"/v1/runs/{ended_run}/events"].text)[-1]
    answers["seen"] = client.get(f"/v1/runs/{ended_run}/events", headers={"Last-Event-ID": last})
    assert answers["seen"].status_code == 204
    answers["part"] = client.get(f"{files}/log.txt", headers={"Range": "bytes=0-4"})
    assert answers["part"].status_code == 206
    answers["beyond"] = client.get(f"{files}/log.txt", headers={"Range": "bytes=9000-"})
    assert answers["beyond"].status_code == 416
    for path in (
        "/v1/runs/run_1",
        f"{files}/no",
        f"/v1/runs/{ended_run}/figures/no",
        "/v1/experiments/exp_1",
        "/v1/results/res_1",
        "/v1/sweeps/swp_1",
        "/v1/tasks/no",
        "/v1/methods/no/report-card",
    ):
        answers[path] = client.get(path)
        assert answers[path].status_code == 404
    tables = (
        "/v1/experiments",
        experiment,
        f"/v1/runs/{ended_run}/measurements",
        "/v1/leaderboards/permuted_digits",
        "/v1/leaderboards/overall",
        "/v1/sweeps",
        f"/v1/sweeps/{answers['sweep 201'].json()['id']}",
        "/v1/comparisons",
        "/v1/methods/layer_norm/report-card",
    )
    compared = fingerprints(client)
    for path, media_type in product(tables, ("text/csv", "application/vnd.apache.parquet")):
        params = {"fingerprint": compared} if path == "/v1/comparisons" else {}
        answers[f"{path} as {media_type}"] = client.get(path, params=params, headers={"Accept": media_type})
        assert answers[f"{path} as {media_type}"].headers["content-type"].startswith(media_type)
    for path, media_type in product((*tables[3:5], *tables[6:]), ("application/x-tex", "text/markdown")):
        params = {"fingerprint": compared} if path == "/v1/comparisons" else {}
        answers[f"{path} as {media_type}"] = client.get(path, params=params, headers={"Accept": media_type})
        assert answers[f"{path} as {media_type}"].headers["content-type"].startswith(media_type)
    answers["as a picture"] = client.get("/v1/leaderboards/overall", headers={"Accept": "image/png"})
    assert answers["as a picture"].status_code == 406
    answers["withdrawn"] = client.delete(result)
    assert answers["withdrawn"].status_code == 200
    for verb in ("cancel", "retry"):
        answers[verb] = client.post(f"{experiment}/{verb}")
        assert answers[verb].status_code == 202
    for answer in (*answers.values(), plan):
        answered_as_described(document, answer)


def test_an_example_of_a_board_has_entries_that_papers_have(shared_client: TestClient, document: Any) -> None:
    content = document["paths"]["/v1/leaderboards/{task}"]["get"]["responses"]["200"]["content"][JSON]
    [board] = [board for board in examples(content) if any(e["source"] == "published" for e in board["entries"])]
    asked = {"profile": board["profile"], "published": True}
    answer = shared_client.get(f"/v1/leaderboards/{board['task']}", params=asked).json()
    assert all(entry in answer["entries"] for entry in board["entries"])
    assert {**answer, "entries": None} == {**board, "entries": None}
    assert {entry["method"] for entry in board["entries"]} == {None, "recurrent_batch_norm"}


def test_an_example_is_an_answer_of_this_service(document: Any) -> None:
    run = document["paths"]["/v1/experiments/{experiment_id}"]["get"]["responses"]["200"]["content"][JSON]["example"]
    assert resolve(run["spec"]).fingerprint() == run["fingerprint"]
    assert resolve(run["spec"]).model_dump(mode="json") == run["spec"]
