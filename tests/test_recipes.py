"""Recipes of docs/extend add methods, cells, models, tasks and analyses to a copy of the tree.

The added classes must work like our own classes.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest

from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.tasks import BENCHMARKS
from tests.documents import README, ROOT, recipes, row_of_a_model
from tests.examples.installation import events, trainer
from tests.warm_python import WarmPython

PACKAGES = ("normbench", "normcore", "service", "workers", "migrations", "tests")
DOCUMENTS = ("docs", "examples", "benchmarks", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
CONTRACT = "tests/normcore/norms/test_contract.py"
OF_MODELS = "tests/normcore/models/test_contract.py"
OF_ANALYSES = "tests/normcore/test_analyse.py"
OTHERS = tuple(
    f"tests/normcore/{module}.py"
    for module in (
        *("norms/test_habits", "norms/test_large_values", "kernels/test_choose", "cells/test_contract"),
        "spec/test_idle_options",
    )
)
OWN = "tests/normcore/norms/test_scale_norm.py"
OF_TASKS = "tests/normcore/tasks/test_reversed_digits.py"
OF_RECIPES = (OWN, OF_TASKS, CONTRACT, OF_MODELS, OF_ANALYSES, *OTHERS)
METHOD, CELL, MODEL, ANALYSIS = "scale_norm", "mgu", "mean_reader", "fading_memory"
VARIANT, TASK = "peephole_lstm", "reversed_digits"
LIST = """
import json
import pytest

collected = {}

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    collected["every"] = [item.nodeid for item in items]

def pytest_collection_finish(session):
    collected["chosen"] = [item.nodeid for item in session.items]
    with open("collected.json", "w") as file:
        json.dump(collected, file)
"""


@dataclass(frozen=True)
class FoundByName:
    """Tests of the copy that find classes by their names.

    Attributes:
        every: names of all tests in the modules that find classes by name.
        chosen: the tests of the recipes' classes, which have passed.
    """

    every: list[str]
    chosen: list[str]

    def of(self, name: str, *modules: str) -> list[str]:
        """Tests in ``modules`` of the class ``name`` alone."""
        others = {METHOD, CELL} - {name}
        return [
            test
            for test in self.chosen
            if test.startswith(modules) and name in test and not any(other in test for other in others)
        ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy of the tree with the files and lines of the recipes of docs/extend, and no other change."""
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        copytree(ROOT / package, tree / package, ignore=ignore_patterns("*.pyc.*"))  # being written
    for name in DOCUMENTS:
        (tree / name).symlink_to(ROOT / name)
    (tree / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for path, content in recipes().items():
        assert not (tree / path).exists()
        (tree / path).write_text(content)
    contract = (ROOT / OF_MODELS).read_text()
    for line, added in (
        ("from normcore.models.order", "from normcore.models.mean_reader import MeanReader\n"),
        ('    "order_embedding": ', row_of_a_model()),
    ):
        assert contract.count(line) == 1
        contract = contract.replace(line, added + line)
    (tree / OF_MODELS).write_text(contract)
    return tree


@pytest.fixture(scope="module")
def training(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """A process that trains with the copy."""
    with trainer(str(tree), tmp_path_factory.mktemp("training")) as python:
        yield python


def run(tree: Path, *command: str) -> str:
    """Run Python with ``command`` in a separate process that imports the copy; return the output."""
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found_by_name(tree: Path) -> FoundByName:
    """The tests of the recipes' classes in one process. No test may fail or be skipped."""
    named = " or ".join((METHOD, CELL, MODEL, ANALYSIS, TASK, f"({VARIANT} and test_contract)"))
    (tree / "conftest.py").write_text(LIST)
    said = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *OF_RECIPES, "-k", named)
    *_, last = said.splitlines()
    passed = re.match(r"(\d+) passed(, \d+ deselected)? in", last)
    assert passed, last
    collected = json.loads((tree / "collected.json").read_text())
    assert int(passed[1]) == len(collected["chosen"])
    return FoundByName(**collected)


def test_the_pages_show_all_files_of_their_recipes() -> None:
    assert list(recipes()) == [
        "normcore/spec/methods/scale_norm.py",
        "normcore/norms/scale_norm.py",
        "tests/normcore/norms/test_scale_norm.py",
        "normcore/spec/cells/mgu.py",
        "normcore/cells/mgu.py",
        "normcore/spec/cells/peephole_lstm.py",
        "normcore/cells/peephole_lstm.py",
        "normcore/spec/models/mean_reader.py",
        "normcore/models/mean_reader.py",
        "normcore/spec/tasks/resampled_digits.py",
        "normcore/spec/tasks/reversed_digits.py",
        "normcore/tasks/reversed_digits.py",
        "normcore/spec/tasks/averaged_digits.py",
        "normcore/tasks/averaged_digits.py",
        "tests/normcore/tasks/test_reversed_digits.py",
        "normcore/spec/analyses/fading_memory.py",
        "normcore/analyses/fading_memory.py",
    ]
    added = {"scale_norm", "mgu", "mean_reader", "fading_memory"}
    added |= {"resampled_digits", "reversed_digits", "averaged_digits", "peephole_lstm"}
    assert not added & {*METHODS, *CELLS, *MODELS, *BENCHMARKS, *ANALYSES}
    assert len(README.read_text().splitlines()) < 120


def test_commands_of_the_pages_run_with_their_code(tree: Path) -> None:
    pages = "every_block and (method.md or analysis.md)"
    said = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/guide/test_documents.py", "-k", pages)
    assert said.splitlines()[-1].startswith("2 passed")


def test_classes_of_the_recipes_are_known_without_torch(tree: Path) -> None:
    code = (
        "import json, sys; from normcore.spec import resolve;"
        "spec = resolve({'task': {'name': 'resampled_digits', 'profile': 'smoke'}, 'model': {'cell': 'mgu'},"
        "                'norm': {'method': 'scale_norm'}});"
        "print(json.dumps([spec.model_dump(mode='json'), 'torch' in sys.modules]))"
    )
    spec, with_torch = json.loads(run(tree, "-c", code))
    assert spec["task"]["legacy_index_map"] is True
    assert spec["model"]["cell"] == "mgu"
    assert spec["norm"] == {"method": "scale_norm", "sites": ["input", "recurrent"], "eps": 1e-5}
    assert not with_torch


def test_the_method_keeps_the_contract_in_every_cell(found_by_name: FoundByName) -> None:
    of_rms_norm = [
        name for name in found_by_name.every if name.startswith(CONTRACT) and "rms_norm" in name and CELL not in name
    ]
    assert len(found_by_name.of(METHOD, CONTRACT)) == len(of_rms_norm) > 50


def test_the_method_passes_the_test_of_its_page(found_by_name: FoundByName) -> None:
    assert found_by_name.of(METHOD, OWN) == [
        f"{OWN}::test_output_is_the_equation",
        f"{OWN}::test_other_sites_are_left_alone",
    ]


def test_the_method_computes_its_equation(training: WarmPython, tree: Path) -> None:
    code = """
import json, torch
from normcore.norms import build
from normcore.spec.methods.scale_norm import ScaleNorm

a = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
method = build(ScaleNorm())
print(json.dumps([method.norm(2, "input").double()(a, 0).tolist(), method.layer((2,)).double()(a).tolist()]))
"""
    expected = [pytest.approx([3 / 12.5**0.5, 4 / 12.5**0.5], rel=1e-6)]
    assert json.loads(training.run(tree, "-c", code)) == [expected, expected]


def test_the_method_trains_in_layers_too(training: WarmPython, tmp_path: Path) -> None:
    for task in ("feedforward", "convnet"):
        spec = {"task": {"name": task, "profile": "smoke"}, "norm": {"method": "scale_norm"}}
        assert events(training, tmp_path, spec)[-1]["outcome"] in ("completed", "reached_target")


def test_every_fitting_method_keeps_the_contract_in_the_cell(found_by_name: FoundByName) -> None:
    fitting = {tag for tag, method in METHODS.items() if method.fits(CELLS["gru"])}
    assert len(found_by_name.of(CELL, CONTRACT)) > 15 * len(fitting)


def test_the_task_trains_and_has_a_board(tree: Path, training: WarmPython, tmp_path: Path) -> None:
    spec = {"task": {"name": "resampled_digits", "profile": "smoke"}, "norm": {"method": "layer_norm"}}
    last = events(training, tmp_path, spec)[-1]
    assert last["outcome"] in ("completed", "reached_target")
    assert last["result"]["value"] > 0.1 == last["result"]["no_skill"]
    code = f"""
import json
from starlette.testclient import TestClient
from service.app import create_app
from service.db import Database
from service.processes.migrate import migrate
from service.settings import Settings
from tests.service.sample_runs import begun, claimed, finished, submitted

settings = Settings(data_dir={str(tmp_path)!r}, database_url="sqlite:///{tmp_path}/n.db", allowed_hosts="testserver")
db = Database(settings.database_url)
migrate(db)
submitted(db, **{spec!r})
lease = claimed(db).lease
begun(db, lease)
finished(db, lease, value={last["result"]["value"]})
with TestClient(create_app(settings, require_keys=False)) as client:
    listed = client.get("/v1/tasks/resampled_digits").json()
    board = client.get("/v1/leaderboards/resampled_digits", params={{"profile": "smoke"}}).json()
print(json.dumps([listed, board]))
"""
    listed, board = json.loads(training.run(tree, "-c", code))
    assert listed["title"] == "Resampled digits"
    assert {"none", "layer_norm", "scale_norm"} < set(listed["methods"])
    assert set(listed["models"]) == {*CELLS, "mgu", "peephole_lstm"}
    entries: list[dict[str, Any]] = board["entries"]
    assert [(entry["rank"], entry["method"]) for entry in entries] == [(1, "layer_norm")]
    assert entries[0]["value"]["mean"] == last["result"]["value"]
    assert board["problem"]["options"] == {"examples": None, "permutation_seed": 0, "legacy_index_map": True}


def test_report_card_of_the_method_has_the_invariances_of_its_equation(training: WarmPython, tmp_path: Path) -> None:
    spec = {"task": {"name": "invariances"}, "norm": {"method": "scale_norm"}}
    found = {finding["name"]: finding["verdict"] for finding in events(training, tmp_path, spec)[-1]["findings"]}
    rescaled = {name: verdict for name, verdict in found.items() if name.endswith("rescaling")}
    assert rescaled == {
        "weight_matrix_rescaling": "invariant",
        "weight_vector_rescaling": "not invariant",
        "dataset_rescaling": "invariant",
        "single_case_rescaling": "invariant",
    }


def test_method_and_cell_pass_the_other_tests_that_find_them_by_name(found_by_name: FoundByName) -> None:
    assert sum(len(found_by_name.of(name, *OTHERS)) for name in (METHOD, CELL)) > 40


def test_the_task_passes_the_test_of_its_page(found_by_name: FoundByName) -> None:
    assert [name for name in found_by_name.chosen if name.startswith(OF_TASKS)] == [
        f"{OF_TASKS}::test_pixels_come_from_the_last_to_the_first",
        f"{OF_TASKS}::test_a_smoke_run_learns",
    ]


def test_the_variant_of_a_cell_keeps_the_contract(found_by_name: FoundByName) -> None:
    cells = "tests/normcore/cells/test_contract.py"
    assert sum(name.startswith((CONTRACT, cells)) and VARIANT in name for name in found_by_name.chosen) > 50


def test_the_cost_of_the_cell_is_that_of_its_parameters(training: WarmPython, tree: Path) -> None:
    code = """
import json
from normcore import cells, norms
from normcore.spec.cells.mgu import MGU
from normcore.spec.methods.none import NoNorm

options = MGU(hidden_size=5)
cell = cells.build(options, 3, norms.build(NoNorm()))
print(json.dumps([options.cost(3, 7).parameters, sum(p.numel() for p in cell.parameters())]))
"""
    known, counted = json.loads(training.run(tree, "-c", code))
    assert known == counted == 2 * 5 * (3 + 5) + 3 * 5


def test_model_and_analysis_pass_the_contract_tests(found_by_name: FoundByName) -> None:
    """Each method is tested at each place of the model. The analysis gives the same findings for the same seed."""
    fitting = [method for method in METHODS.values() if method.takes & {"input", "recurrent", "layer", "output"}]
    assert len(found_by_name.of(MODEL, OF_MODELS)) >= len(fitting)
    assert len(found_by_name.of(ANALYSIS, OF_ANALYSES)) >= 2


def test_the_model_trains_and_has_the_parameters_of_its_equations(training: WarmPython, tmp_path: Path) -> None:
    spec = {"task": {"name": "averaged_digits", "profile": "smoke"}}
    started, *_, last = events(training, tmp_path, spec)
    gru, layer, output = 3 * 32 * (1 + 32) + 3 * 32 + 32, (32 + 1) * 32, (32 + 1) * 10
    assert started["parameters"] == gru + layer + output
    assert last["outcome"] in ("completed", "reached_target")


def test_analysis_gives_the_findings_of_its_page(training: WarmPython, tmp_path: Path) -> None:
    page = (ROOT / "docs/extend/analysis.md").read_text()
    [(name, value, verdict)] = re.findall(r"It prints `(.+?) {2,}([\d.]+) {2,}(\w+)`", page)
    spec = {"task": {"name": "fading_memory"}, "norm": {"method": "layer_norm"}}
    *before, last = events(training, tmp_path, spec)
    (finding,) = last["findings"]
    assert finding["value"] == pytest.approx(float(value), abs=1e-3)
    assert (finding["name"], finding["verdict"]) == (name, verdict)
    assert [event["step"] for event in before if event["event"] == "measured"] == list(range(64))
