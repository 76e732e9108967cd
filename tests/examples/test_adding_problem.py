"""The example package with a task, installed beside normbench, works like our own tasks."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from tests.examples.installation import ROOT, events, install, run, run_blocks, trainer
from tests.processes import service
from tests.warm_python import WarmPython

TAG = "adding_problem"
TASK = {"name": TAG, "profile": "smoke"}
ERROR = "mean_squared_error"
NO_SKILL = 1 / 6
RECURRENT = sorted(method for method in METHODS if any(map(METHODS[method].fits, CELLS.values())))


@pytest.fixture(scope="module")
def with_example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PYTHONPATH with the installed example package."""
    return install(ROOT / "examples" / TAG, tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def python(with_example: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """A process that imports the installed example package."""
    with trainer(with_example, tmp_path_factory.mktemp("python")) as python:
        yield python


@pytest.mark.parametrize("method", ["none", "layer_norm", "recurrent_batch_norm"])
def test_model_learns_the_task_in_seconds(python: WarmPython, tmp_path: Path, method: str) -> None:
    told = events(python, tmp_path, {"task": TASK, "norm": {"method": method}})
    assert told[0]["environment"]["task"] == "adding-problem 0.1.0"
    result = told[-1]["result"]
    assert told[-1]["outcome"] == "reached_target"
    assert result["values"][ERROR] == result["value"] < NO_SKILL / 3
    assert result["no_skill"] == NO_SKILL


def test_data_is_as_the_documentation_says(python: WarmPython, tmp_path: Path) -> None:
    code = """
import json, torch
from adding_problem import AddingProblem
from normcore.tasks import build
from normcore.tasks.task import Resources

task, again = (build(AddingProblem(length=7), Resources(None, torch.device("cpu"), torch.float64)) for _ in range(2))
x, y = next(task.population())
assert torch.equal(x, next(again.population())[0])
marks = x[..., 1]
print(json.dumps({
    "shape": list(x.shape),
    "numbers": [x[..., 0].min().item(), x[..., 0].max().item()],
    "first": sorted(set(marks[:3].sum(0).tolist())),
    "second": sorted(set(marks[3:].sum(0).tolist())),
    "wrong": (y - (x[..., 0] * marks).sum(0)).abs().max().item(),
    "error of 1": torch.cat([(y - 1).square() for _, y in task.population()]).mean().item(),
    "marked": [marks[t].any().item() for t in range(7)],
}))
"""
    said = json.loads(python.run(tmp_path, "-c", code))
    assert said["shape"] == [7, 1000, 2]
    assert 0 <= said["numbers"][0] < 0.01 < 0.99 < said["numbers"][1] <= 1
    assert (said["first"], said["second"]) == ([1], [1])
    assert all(said["marked"])
    assert said["wrong"] < 1e-12
    assert said["error of 1"] == pytest.approx(NO_SKILL, rel=0.05)


def test_task_is_in_the_catalogue_without_torch(with_example: str, tmp_path: Path) -> None:
    code = (
        "import json, sys; from normcore.spec import resolve; from normcore.spec.tasks import BENCHMARKS;"
        f"spec = resolve({{'task': {TASK}}}); origin = BENCHMARKS.origin('{TAG}');"
        "print(json.dumps([spec.task.model_dump(), spec.training.target, origin, 'torch' in sys.modules]))"
    )
    options = {**TASK, "length": 6, "data_seed": 0}
    assert json.loads(run(with_example, tmp_path, "-c", code)) == [options, 0.05, "adding-problem 0.1.0", False]


def test_service_lists_trains_ranks_and_draws_the_task(with_example: str, tmp_path: Path) -> None:
    with service(tmp_path) as running:
        running.environment["PYTHONPATH"] = with_example
        running.up()

        listed = running.get(f"/v1/tasks/{TAG}")
        assert (listed["title"], listed["kind"]) == ("Adding problem", "training")
        metric = {"name": ERROR, "unit": "", "direction": "minimize", "no_skill": "1/6, the variance of the sum"}
        assert (listed["metric"], listed["metrics"]) == (metric, [metric])
        assert (sorted(listed["models"]), sorted(listed["methods"])) == (sorted(CELLS), RECURRENT)
        assert list(listed["profiles"]) == ["paper", "small", "smoke"]

        submitted = [running.submit(method, task=TASK) for method in ("none", "layer_norm")]
        other = running.submit(task={**TASK, "length": 8})
        runs = [running.wait_ended(experiment) for experiment in (*submitted, other)]
        assert [run["state"] for run in runs] == ["succeeded"] * 3, running.logs()
        errors = {method: run["result"]["value"] for method, run in zip(("none", "layer_norm"), runs, strict=False)}
        assert max(errors.values()) < NO_SKILL / 3

        board = running.get(f"/v1/leaderboards/{TAG}", profile="smoke")
        assert (board["metric"], board["unit"], board["direction"]) == (ERROR, "", "minimize")
        assert (board["budget"], board["target"]) == (200 * 50, 0.05)
        assert board["problem"]["options"] == {"length": 6, "data_seed": 0}
        assert [problem["title"] for problem in board["problems"]] == ["the profile's own", "length 8"]
        ranked = [(entry["rank"], entry["method"], entry["value"]["mean"]) for entry in board["entries"]]
        best_first = sorted(errors, key=errors.__getitem__)
        assert ranked == [(rank, method, errors[method]) for rank, method in enumerate(best_first, 1)]

        names = {artifact["name"] for artifact in running.get(f"/v1/runs/{runs[1]['id']}/artifacts")["items"]}
        assert "figures/answers.json" in names
        assert error_in(running.get(f"/v1/runs/{runs[1]['id']}/figures/answers")) == pytest.approx(errors["layer_norm"])
        curves = running.get(f"/v1/runs/{runs[1]['id']}/figures/curves")
        assert {trace["name"] for trace in curves["data"]} >= {f"valid.{ERROR}", "train.loss"}

        standings = running.get("/v1/methods/layer_norm/report-card")["standings"]
        own = next(standing for standing in standings if standing["fingerprint"] == submitted[1]["fingerprint"])
        assert (own["task"], own["profile"], own["metric"], own["direction"]) == (TAG, "smoke", ERROR, "minimize")
        assert (own["rank"], own["of"]) == (best_first.index("layer_norm") + 1, 2)
        assert own["mean"] == errors["layer_norm"]


def error_in(figure: dict[str, Any]) -> float:
    """Compute the mean squared distance between the answers in a figure and the sums."""
    [trace] = figure["data"]
    assert len(trace["x"]) == 1000
    assert figure["layout"]["title"]["text"] == "Adding problem: test data"
    return fmean((x - y) ** 2 for x, y in zip(trace["x"], trace["y"], strict=True))


def test_commands_of_its_readme_run(with_example: str, tmp_path: Path) -> None:
    assert run_blocks(with_example, tmp_path, TAG).startswith("1 passed")
