"""The application as a whole: its description, and the form of every refusal."""

import re
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from normcore.spec import InvalidSpec, resolve
from normcore.spec.tasks import BENCHMARKS
from tests.service.sample_runs import written


@pytest.fixture(scope="module")
def document(shared_client: TestClient) -> Any:
    return shared_client.get("/openapi.json").json()


@pytest.fixture(scope="module")
def written_spec(document: Any) -> jsonschema.Draft202012Validator:
    """The schema of a spec as users write it."""
    schema = {"$ref": "#/components/schemas/WrittenSpec", "components": document["components"]}
    return jsonschema.Draft202012Validator(schema)


def test_the_api_describes_itself_as_openapi_3_1(document: Any) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["info"]["title"] == "normbench"
    calls = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert calls == {
        "POST /v1/experiments",
        "GET /v1/experiments",
        "GET /v1/experiments/{experiment_id}",
        "GET /v1/experiments/{experiment_id}/replay",
        "POST /v1/experiments/{experiment_id}/cancel",
        "POST /v1/experiments/{experiment_id}/retry",
        "GET /v1/experiments/{experiment_id}/events",
        "POST /v1/sweeps",
        "GET /v1/sweeps",
        "GET /v1/sweeps/{sweep_id}",
        "GET /v1/sweeps/{sweep_id}/figures/{name}",
        "GET /v1/sweeps/{sweep_id}/importance",
        "POST /v1/sweeps/{sweep_id}/cancel",
        "POST /v1/sweeps/{sweep_id}/retry",
        "GET /v1/experiments/{experiment_id}/figures/{name}",
        "GET /v1/runs/{run_id}",
        "GET /v1/runs/{run_id}/measurements",
        "GET /v1/runs/{run_id}/events",
        "GET /v1/runs/{run_id}/figures/{name}",
        "GET /v1/runs/{run_id}/artifacts",
        "GET /v1/runs/{run_id}/artifacts/{name}",
        "GET /v1/leaderboards",
        "GET /v1/leaderboards/overall",
        "GET /v1/leaderboards/{task}",
        "POST /v1/results",
        "GET /v1/results",
        "GET /v1/results/{result_id}",
        "DELETE /v1/results/{result_id}",
        "GET /v1/leaderboards/overall/figures/{name}",
        "GET /v1/leaderboards/{task}/figures/{name}",
        "GET /v1/comparisons",
        "GET /v1/comparisons/figures/{name}",
        "GET /v1/tasks",
        "GET /v1/tasks/{name}",
        "GET /v1/methods",
        "GET /v1/methods/{name}",
        "GET /v1/methods/{name}/report-card",
        "GET /v1/methods/{name}/report-card/figures/{figure}",
        "GET /v1/datasets",
        "GET /v1/citations/{name}",
        "GET /v1/queue",
        "GET /v1/workers",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    }


def test_every_reference_of_the_description_leads_somewhere(document: Any) -> None:
    def references(node: Any) -> list[str]:
        if isinstance(node, dict):
            own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
            return own + [ref for inner in node.values() for ref in references(inner)]
        return [ref for inner in node for ref in references(inner)] if isinstance(node, list) else []

    found = references(document)
    assert len(found) > 30
    for ref in found:
        node = document
        for step in ref.removeprefix("#/").split("/"):
            node = node[step]
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


SHORT: list[dict[str, Any]] = [
    {"task": {"name": "permuted_digits"}},
    {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "layer_norm"}, "seeds": [0, 1, 2]},
    {"task": {"name": "char_lm"}, "model": {"hidden_size": 64}},
    {"task": {"name": "char_lm"}, "model": {"cell": "gru"}, "training": {"optimizer": {"lr": 1e-3}}},
    {"task": {"name": "sequential_digits"}, "training": {"optimizer": {"name": "adam"}, "max_steps": 10}},
    {"task": {"name": "permuted_digits"}, "norm": {}, "model": {}, "training": {}, "labels": {"team": "vision"}},
    {
        "task": {"name": "permuted_digits", "profile": "small"},
        "model": {"cell": "lstm", "hidden_size": 100, "num_layers": 1, "bidirectional": False},
        "norm": {"method": "recurrent_batch_norm", "gain_init": 0.1, "eps": 1.0e-5},
        "training": {
            "optimizer": {"name": "rmsprop", "lr": 1.0e-3, "momentum": 0.9},
            "batch_size": 64,
            "max_steps": 400,
            "clip_norm": 1.0,
            "eval_every": 20,
            "target": 0.80,
            "precision": "float32",
            "kernel": "auto",
        },
        "seeds": [0, 1, 2],
        "device": "auto",
        "priority": 5,
        "labels": {"team": "vision"},
    },
]


@pytest.mark.parametrize("spec", SHORT)
def test_a_spec_as_users_write_it_fits_its_schema(
    written_spec: jsonschema.Draft202012Validator, spec: dict[str, Any]
) -> None:
    assert resolve(spec)
    written_spec.validate(spec)


@pytest.mark.parametrize("profile", ["paper", "small", "smoke"])
@pytest.mark.parametrize("name", [*BENCHMARKS, "invariances", "gradient_flow"])
def test_a_resolved_spec_fits_the_schema(
    written_spec: jsonschema.Draft202012Validator, name: str, profile: str
) -> None:
    for method in ("none", "layer_norm", "recurrent_batch_norm"):
        spec = resolve({"task": {"name": name, "profile": profile}, "norm": {"method": method}})
        written_spec.validate(spec.model_dump(mode="json"))


@pytest.mark.parametrize(
    "spec",
    [
        {"norm": {"method": "layer_norm"}},
        {"task": {}},
        {"task": {"name": "no_such_task"}},
        written(seeds=[]),
        written(colour="red"),
        written(model={"cell": "elman"}),
        written(norm={"method": "layer_norm", "epsilon": 1}),
        written(training={"optimizer": {"name": "adam", "lr": "fast"}}),
        written(training={"batch_size": 0}),
        written(priority=10),
        {"task": {"name": "invariances"}, "training": {"max_steps": 1}},
        {"task": {"name": "population_statistics"}},
    ],
)
def test_a_refused_spec_does_not_fit_the_schema(
    written_spec: jsonschema.Draft202012Validator, spec: dict[str, Any]
) -> None:
    with pytest.raises(InvalidSpec):
        resolve(spec)
    assert not written_spec.is_valid(spec)


@pytest.mark.parametrize(
    "call",
    [
        "GET /v1",
        "GET /v1/nothing",
        "GET /v1/sweeps/swp_1",
        "POST /v1/sweeps/swp_1/cancel",
        "GET /v1/experiments/a/b",
    ],
)
def test_an_unknown_address_is_a_problem_with_status_404(shared_client: TestClient, call: str) -> None:
    method, _, path = call.partition(" ")
    answer = shared_client.request(method, path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["type"], problem["title"], problem["status"]) == ("about:blank", "Not found", 404)
    assert problem["detail"]


@pytest.mark.parametrize("call", ["DELETE /v1/experiments", "PUT /v1/runs/run_1", "POST /v1/tasks", "POST /healthz"])
def test_a_method_that_is_not_allowed_is_a_problem(shared_client: TestClient, call: str) -> None:
    method, _, path = call.partition(" ")
    answer = shared_client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["content-type"] == "application/problem+json"
    takes_posts = path == "/v1/experiments"
    assert answer.headers["allow"] == ("GET, HEAD, OPTIONS, POST" if takes_posts else "GET, HEAD, OPTIONS")


def test_there_is_documentation_to_read_without_internet(shared_client: TestClient) -> None:
    answer = shared_client.get("/docs")
    assert answer.status_code == 200
    assert "/openapi.json" in answer.text
    assert "https://" not in answer.text
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text)
    assert {file.rpartition(".")[2] for file in files} == {"css", "js", "svg"}
    assert [shared_client.get(file).status_code for file in files] == [200] * len(files)


def test_a_defect_of_the_service_is_answered_with_a_problem(
    shared_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Any = shared_client.app
    monkeypatch.setattr(app.state, "artifacts", None)  # what no deployment can do: a part is missing
    with app.state.db.snapshot() as session:
        assert session.is_active
    quiet = TestClient(app, raise_server_exceptions=False)
    run_id = quiet.post("/v1/experiments", json=written()).json()["runs"][0]["id"]
    answer = quiet.get(f"/v1/runs/{run_id}/artifacts")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["title"] == "Internal error"
    assert "Traceback" not in answer.text


def test_every_call_is_described_and_every_refusal_is_a_problem(document: Any) -> None:
    problem = {"$ref": "#/components/schemas/ProblemDetails"}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            name = f"{method} {path}"
            assert call["summary"], name
            assert call["description"], name
            for status, answer in call["responses"].items():
                if status >= "400":
                    assert answer["content"]["application/problem+json"]["schema"] == problem, f"{name}: {status}"
                elif status not in ("204", "304"):
                    assert answer["content"], f"{name}: {status}"


def test_statuses_and_headers_of_single_calls_are_described(document: Any) -> None:
    def answers(method: str, path: str) -> Any:
        return document["paths"][path][method]["responses"]

    submitted = answers("post", "/v1/experiments")
    assert set(submitted) == {"200", "201", "400", "403", "405", "409", "413", "421", "422", "500", "503"}
    assert submitted["201"]["headers"]["Location"]["required"] is True
    assert submitted["200"]["headers"]["Location"]["required"] is False, "a plan has none"
    assert "Retry-After" in submitted["503"]["headers"]
    assert {"200", "204", "404"} <= set(answers("get", "/v1/runs/{run_id}/events"))
    file = answers("get", "/v1/runs/{run_id}/artifacts/{name}")
    assert {"200", "206", "304", "404", "416"} <= set(file)
    assert {"ETag", "Accept-Ranges", "Content-Range"} <= set(file["206"]["headers"])
    assert "ETag" in answers("get", "/v1/tasks")["200"]["headers"]
    assert "304" in answers("get", "/v1/tasks")
    assert list(answers("get", "/metrics")["200"]["content"]) == ["text/plain"]


def test_specs_results_and_problems_have_schemas(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["ExperimentOut"]["properties"]["spec"]["$ref"] == "#/components/schemas/ResolvedSpec"
    assert {"$ref": "#/components/schemas/AnyResult"} in schemas["RunOut"]["properties"]["result"]["anyOf"]
    assert set(schemas["HistoryEntry"]["properties"]) == {"attempt", "at", "reason", "lost"}
    assert set(schemas["ProblemError"]["properties"]) == {"loc", "msg", "type"}
    validator = jsonschema.Draft202012Validator(
        {"$ref": "#/components/schemas/ResolvedSpec", "components": document["components"]}
    )
    for spec in ({"task": {"name": "char_lm"}}, {"task": {"name": "gradient_flow"}}):
        resolved = resolve(spec).model_dump(mode="json")
        validator.validate(resolved)
        assert not validator.is_valid({**resolved, "task": {"name": "char_lm"}})
