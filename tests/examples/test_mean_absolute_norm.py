"""The example package with a method, installed beside normbench, works like our own methods."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app
from normcore.spec.cells import CELLS
from tests.examples.installation import ROOT, events, install, run, run_blocks, trainer
from tests.processes import service
from tests.warm_python import WarmPython

TAG = "mean_absolute_norm"
SITES = ["input", "recurrent", "cell"]
SPEC = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": TAG}}
TABLE_1 = {
    "weight_matrix_rescaling": "invariant",
    "weight_matrix_recentering": "invariant",
    "weight_vector_rescaling": "not invariant",
    "dataset_rescaling": "invariant",
    "dataset_recentering": "not invariant",
    "single_case_rescaling": "invariant",
}
"""Invariances of the method. It centres and divides by a mean absolute value, so it has those of layer norm."""


@pytest.fixture(scope="module")
def with_example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PYTHONPATH with the installed example package."""
    return install(ROOT / "examples" / TAG, tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def python(with_example: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """A process that imports the installed example package."""
    with trainer(with_example, tmp_path_factory.mktemp("python")) as python:
        yield python


@pytest.mark.parametrize("task", ["permuted_digits", "feedforward", "convnet"])
def test_method_trains_in_cells_and_in_layers(python: WarmPython, tmp_path: Path, task: str) -> None:
    spec = {"task": {"name": task, "profile": "smoke"}, "norm": {"method": TAG}}
    first, *_, last = events(python, tmp_path, spec)
    assert last["outcome"] in ("completed", "reached_target")
    assert first["environment"]["method"] == "mean-absolute-norm 0.1.0"


def test_method_has_a_row_of_table_1(python: WarmPython, tmp_path: Path) -> None:
    analysed = events(python, tmp_path, {"task": {"name": "invariances"}, "norm": {"method": TAG}})[-1]
    assert {finding["name"]: finding["verdict"] for finding in analysed["findings"]} == TABLE_1


def test_method_is_in_the_catalogue_without_torch(with_example: str, tmp_path: Path) -> None:
    code = (
        "import sys; from normcore.spec.methods import METHODS; from normcore.spec import resolve;"
        f"print(resolve({SPEC}).norm.model_dump(), METHODS['{TAG}'].title, 'torch' in sys.modules)"
    )
    said = run(with_example, tmp_path, "-c", code)
    options = {"method": TAG, "sites": tuple(SITES), "eps": 0.1}
    assert said.strip() == f"{options} Mean absolute normalization False"


def test_service_lists_trains_ranks_and_reports_on_the_method(with_example: str, tmp_path: Path) -> None:
    with service(tmp_path) as running:
        running.environment["PYTHONPATH"] = with_example
        running.up()

        [listed] = [method for method in running.get("/v1/methods")["items"] if method["name"] == TAG]
        assert listed["title"] == "Mean absolute normalization"
        assert listed["cells"] == list(CELLS.ours)
        assert {"conv_net", "feed_forward", "handwriting", "recurrent", "skip_thoughts"} < set(listed["models"])
        options = listed["options"]["properties"]
        assert {name: option["default"] for name, option in options.items()} == {
            "method": TAG,
            "sites": SITES,
            "eps": 0.1,
        }

        ours = running.submit("none")
        theirs = running.submit(norm={"method": TAG, "eps": 0.2})
        invariances = running.submit(TAG, task={"name": "invariances"})
        assert theirs["spec"]["norm"] == {"method": TAG, "sites": SITES, "eps": 0.2}
        runs = [running.wait_ended(experiment) for experiment in (ours, theirs, invariances)]
        assert [run["state"] for run in runs] == ["succeeded"] * 3, running.logs()
        trained = runs[1]
        assert trained["progress"]["step"] == 40
        assert trained["outcome"] in ("completed", "reached_target")  # depends on last digits, which differ by machine
        assert trained["environment"]["method"] == "mean-absolute-norm 0.1.0"

        entries = running.get("/v1/leaderboards/permuted_digits", profile="smoke")["entries"]
        ranks = {entry["method"]: entry["rank"] for entry in entries}
        assert ranks.keys() == {"none", TAG}
        entry = next(entry for entry in entries if entry["method"] == TAG)
        assert (entry["experiments"], entry["changes"]) == ([theirs["id"]], {"norm.eps": 0.2})
        assert entry["value"]["mean"] == trained["result"]["value"]

        card = running.get(f"/v1/methods/{TAG}/report-card")
        assert {finding["name"]: finding["verdict"] for finding in card["invariances"]["findings"]} == TABLE_1
        [standing] = card["standings"]
        assert (standing["task"], standing["profile"]) == ("permuted_digits", "smoke")
        assert (standing["rank"], standing["of"], standing["mean"]) == (ranks[TAG], 2, trained["result"]["value"])

        environment = {"NORMBENCH_URL": str(running.http.base_url), "COLUMNS": "120"}
        shown = CliRunner().invoke(app, ["report-card", TAG, "--no-measure"], env=environment)
        assert shown.exit_code == 0, shown.output
        lines = [line.split() for line in shown.stdout.splitlines()]
        measured = [line[-2] for line in lines if line[-3:-2] in (["re-scaling"], ["re-centering"])]
        assert measured == ["yes", "yes", "no", "yes", "no", "yes"]
        accuracy = f"{trained['result']['value']:.3f}"
        [row] = [line for line in lines if line[:3] == ["permuted_digits", "(smoke)", TAG]]
        assert "too few seeds" in " ".join(row), "one seed has no rank"
        assert " ".join(["accuracy", accuracy]) in " ".join(row)


def test_commands_of_its_readme_run(with_example: str, tmp_path: Path) -> None:
    assert run_blocks(with_example, tmp_path, TAG).startswith("1 passed")


def test_method_keeps_the_contract(with_example: str, tmp_path: Path) -> None:
    modules = ("tests/normcore/norms/test_contract.py", "tests/normcore/spec/test_idle_options.py")
    paths = [str(ROOT / module) for module in modules]
    said = run(with_example, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths, "-k", TAG)
    assert re.match(r"\d\d+ passed, \d+ deselected", said.splitlines()[-1])
