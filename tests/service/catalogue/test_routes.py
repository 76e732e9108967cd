"""The catalogue describes what the service accepts."""

import gzip
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from normcore.data import registry
from normcore.spec import TASKS, InvalidSpec, resolve
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.tasks import BENCHMARKS
from service.app import create_app
from service.settings import Settings


def test_every_task_is_listed_and_found_by_its_name(shared_client: TestClient) -> None:
    items = shared_client.get("/v1/tasks").json()["items"]
    assert [task["name"] for task in items] == list(TASKS)
    for task in items:
        assert shared_client.get(f"/v1/tasks/{task['name']}").json() == task
        assert task["title"]
        assert task["description"]
        assert "arXiv" in task["citation"] or task["citation"] == "normbench"
        assert set(task["profiles"]) == {"paper", "small", "smoke"}
        assert (task["kind"] == "training") == (task["metric"] is not None) == (task["name"] in BENCHMARKS)
        assert task["metrics"][:1] == ([] if task["metric"] is None else [task["metric"]]), "the first one ranks"
    accuracy = {"name": "accuracy", "unit": "", "direction": "maximize", "no_skill": "1 / classes"}
    assert [task["metric"] for task in items if task["name"] == "permuted_digits"] == [accuracy]


@pytest.mark.parametrize("profile", ["paper", "small", "smoke"])
@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if not issubclass(task, TrainedAnalysis)])
def test_a_profiles_default_spec_resolves_to_itself(shared_client: TestClient, name: str, profile: str) -> None:
    spec = shared_client.get(f"/v1/tasks/{name}").json()["profiles"][profile]["spec"]
    assert resolve(spec).model_dump(mode="json") == spec
    short = resolve({"task": {"name": name, "profile": profile}})
    assert resolve(spec).fingerprint() == short.fingerprint()
    assert {need.dataset for need in short.task.needs()} <= set(registry.DATASETS)


def test_a_default_spec_can_be_submitted_as_it_is_shown(shared_client: TestClient) -> None:
    spec = shared_client.get("/v1/tasks/permuted_digits").json()["profiles"]["smoke"]["spec"]
    answer = shared_client.post("/v1/experiments", json=spec)
    assert answer.status_code == 201
    assert answer.json()["spec"] == spec


def test_options_are_described_by_valid_json_schemas(shared_client: TestClient) -> None:
    for kind in ("tasks", "methods"):
        for item in shared_client.get(f"/v1/{kind}").json()["items"]:
            jsonschema.Draft202012Validator.check_schema(item["options"])
    for task in shared_client.get("/v1/tasks").json()["items"]:
        for profile in task["profiles"].values():
            if profile["spec"] is None:
                assert "run" in task["options"]["required"]
            else:
                jsonschema.validate(profile["spec"]["task"], task["options"])


def tasks_of(client: TestClient) -> dict[str, Any]:
    return {task["name"]: task for task in client.get("/v1/tasks").json()["items"]}


def test_a_task_says_by_which_metrics_it_is_judged_and_what_guessing_gets(shared_client: TestClient) -> None:
    tasks = tasks_of(shared_client)
    for name, benchmark in BENCHMARKS.items():
        assert [metric["name"] for metric in tasks[name]["metrics"]] == [m.name for m in benchmark.metrics]
        assert all(metric["no_skill"] for metric in tasks[name]["metrics"]), name
    assert [(m["name"], m["unit"], m["direction"], m["no_skill"]) for m in tasks["char_lm"]["metrics"]] == [
        ("bits_per_char", "bits", "minimize", "log2(symbols)"),
        ("accuracy", "", "maximize", "1 / classes"),
    ]
    assert tasks["invariances"]["metrics"] == []


def test_a_task_shows_its_models_by_their_own_options(shared_client: TestClient) -> None:
    tasks = tasks_of(shared_client)
    [feed_forward] = tasks["feedforward"]["models"].values()
    assert set(feed_forward["properties"]) == {"hidden_sizes"}
    assert feed_forward["properties"]["hidden_sizes"]["items"]["type"] == "integer"
    assert set(tasks["permuted_digits"]["models"]) == set(CELLS)
    assert "hidden_sizes" not in tasks["permuted_digits"]["models"]["lstm"]["properties"]
    assert tasks["invariances"]["models"] == {}
    for name, task in tasks.items():
        for schema in task["models"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        for profile in task["profiles"].values():
            if profile["spec"] is not None and task["models"]:
                model = profile["spec"]["model"]
                assert any(jsonschema.Draft202012Validator(s).is_valid(model) for s in task["models"].values()), name


def test_a_tasks_methods_are_those_that_can_be_submitted_with_it(shared_client: TestClient) -> None:
    """Each listed method is accepted with its own options in one of the task's models; other methods are refused."""
    for name, task in tasks_of(shared_client).items():
        if not BENCHMARKS.get(name):
            continue
        for method in METHODS:
            possible = [
                spec_fits({"task": {"name": name}, "norm": {"method": method}, "model": model})
                for model in (
                    [{"cell": cell} for cell in task["models"]] if set(task["models"]) <= set(CELLS) else [{}]
                )
            ]
            assert any(possible) == (method in task["methods"]), f"{name} with {method}"


def spec_fits(written: dict[str, Any]) -> bool:
    try:
        resolve(written)
    except InvalidSpec:
        return False
    return True


def test_a_method_says_where_it_can_stand(shared_client: TestClient) -> None:
    methods = {method["name"]: method for method in shared_client.get("/v1/methods").json()["items"]}
    assert "cell" in methods["recurrent_batch_norm"]["takes"]
    assert methods["batch_norm"]["takes"] == ["layer", "output"]
    assert (methods["batch_norm"]["cells"], methods["layer_norm"]["cells"]) == ([], list(CELLS))
    assert "recurrent" not in methods["batch_norm"]["models"]
    assert {"feed_forward", "conv_net"} <= set(methods["batch_norm"]["models"])
    for method in methods.values():
        assert set(method["models"]) <= set(MODELS)
        assert method["takes"] == sorted(method["takes"])


def test_every_method_is_listed_and_found_by_its_name(shared_client: TestClient) -> None:
    items = shared_client.get("/v1/methods").json()["items"]
    assert [method["name"] for method in items] == list(METHODS)
    for method in items:
        assert shared_client.get(f"/v1/methods/{method['name']}").json() == method
        assert method["title"]
        assert method["description"]
        assert method["citation"]
        assert set(method["cells"]) <= set(CELLS)
        assert method["options"]["properties"]["method"]["const"] == method["name"]
    recurrent = shared_client.get("/v1/methods/recurrent_batch_norm").json()["options"]["properties"]
    assert recurrent["gain_init"]["default"] == 0.1
    assert {"eps", "sites", "statistics", "initial_state_noise"} <= set(recurrent)


@pytest.mark.parametrize("path", ["/v1/tasks/permuted_digist", "/v1/methods/layer_nrom"])
def test_an_unknown_name_is_answered_with_the_known_ones(shared_client: TestClient, path: str) -> None:
    answer = shared_client.get(path)
    assert answer.status_code == 404
    assert "permuted_digits" in answer.json()["detail"] or "layer_norm" in answer.json()["detail"]


def statuses(client: TestClient) -> dict[str, str]:
    return {item["name"]: item["status"] for item in client.get("/v1/datasets").json()["items"]}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_data_sets_say_whether_they_are_present(client: TestClient, settings: Settings) -> None:
    assert set(statuses(client)) == set(registry.DATASETS)
    assert statuses(client)["digits"] == "bundled"
    assert statuses(client)["mnist"] == "missing"
    mnist = registry.DATASETS["mnist"]
    folder = settings.datasets_dir / "mnist"
    folder.mkdir(parents=True)
    for file in mnist.files:
        (folder / (file.name + ".gz")).write_bytes(gzip.compress(b"not digits at all"))
    assert statuses(client)["mnist"] == "corrupt"
    answer = client.post("/v1/experiments", json={"task": {"name": "permuted_mnist"}})
    assert answer.status_code == 422
    assert "normbench data fetch mnist" in answer.json()["detail"]
    for item in client.get("/v1/datasets").json()["items"]:
        assert item["title"]
        assert item["licence"]
        assert item["files"] == [file.name for file in registry.DATASETS[item["name"]].files]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_real_data_is_present_and_accepted(settings: Settings) -> None:
    given = os.environ.get("NORMBENCH_DATASETS_DIR")
    for name in ("mnist", "ptb"):
        if given is None or registry.status(registry.DATASETS[name], Path(given)) == "missing":
            pytest.skip(f"data set absent: {name} (NORMBENCH_DATASETS_DIR)")
    app = create_app(settings.model_copy(update={"datasets_dir": Path(str(given))}), require_keys=False)
    with TestClient(app) as client:
        assert statuses(client)["mnist"] == statuses(client)["ptb"] == "present"
        for task in ("sequential_mnist", "char_lm"):
            answer = client.post("/v1/experiments", json={"task": {"name": task, "profile": "paper"}})
            assert answer.status_code == 201, answer.text
