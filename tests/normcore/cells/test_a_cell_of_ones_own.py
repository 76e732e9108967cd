"""A cell of an installed package, written by the recipe in docs/extend/cell.md, works like our own cells.

The cell is the minimal gated unit (Zhou, Wu, Zhang, Zhou 2016, arXiv:1603.09420, Eq. 4-6).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from tests.documents import recipes
from tests.examples import installation

PYPROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "minimal-gated-unit"
version = "0.3"
dependencies = ["normbench"]

[tool.setuptools]
packages = ["minimal_gated_unit"]

[project.entry-points."normbench.cells"]
mgu = "minimal_gated_unit:MGU"
"""
OPTIONS = recipes()["normcore/spec/cells/mgu.py"] + '    home: ClassVar[str] = "minimal_gated_unit.cell"\n'
CELL = recipes()["normcore/cells/mgu.py"].replace("from normcore.spec.cells import mgu", "import minimal_gated_unit")
FITTING = [tag for tag, method in METHODS.ours.items() if method.takes & {"input", "recurrent"} or tag == "none"]


@pytest.fixture(scope="module")
def with_cell(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PYTHONPATH with the installed package."""
    folder = tmp_path_factory.mktemp("cell")
    package = folder / "written" / "minimal_gated_unit"
    package.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(PYPROJECT)
    (package / "__init__.py").write_text(OPTIONS)
    (package / "cell.py").write_text(CELL)
    return installation.install(package.parent, folder)


def run(pythonpath: str, folder: Path, code: str) -> Any:
    """Run the code in a separate process; return its output, read as JSON."""
    return json.loads(installation.run(pythonpath, folder, "-c", code))


def test_cell_is_known_without_torch(with_cell: str, tmp_path: Path) -> None:
    said = run(
        with_cell,
        tmp_path,
        """
import json, sys
from normcore.spec import InvalidSpec, resolve
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.experiment import TrainingSpec

def refused(norm):
    try:
        resolve({"task": {"name": "permuted_digits"}, "model": {"cell": "mgu"}, "norm": norm})
    except InvalidSpec as error:
        return [[*e.loc, e.msg] for e in error.errors]

spec = resolve({"task": {"name": "permuted_digits"}, "model": {"cell": "mgu"}, "norm": {"method": "layer_norm"}})
schema = json.dumps(TrainingSpec.model_json_schema())
print(json.dumps({
    "cells": list(CELLS),
    "origin": CELLS.origin("mgu"),
    "fits": [tag for tag, method in METHODS.items() if method.fits(CELLS["mgu"])],
    "model": spec.model.model_dump(),
    "norm": spec.norm.model_dump()["sites"],
    "batch_norm": refused({"method": "batch_norm"}),
    "sites": refused({"method": "layer_norm", "sites": ["cell"]}),
    "in the schema": '"mgu"' in schema,
    "torch": "torch" in sys.modules,
}))
""",
    )
    assert said["cells"] == [*CELLS.ours, "mgu"]
    assert said["origin"] == "minimal-gated-unit 0.3"
    assert said["fits"] == FITTING
    assert said["model"] == {
        "cell": "mgu",
        "hidden_size": 100,
        "num_layers": 1,
        "bidirectional": False,
        "recurrent_init": "orthogonal",
        "first_state": "trained",
    }, "the profile's forget_bias is not for it"
    assert said["norm"] == ["input", "recurrent"]
    [[*loc, message]] = said["batch_norm"]
    assert loc == ["norm", "method"]
    assert "mgu has input, recurrent" in message
    assert said["sites"] == [["norm", "sites", "mgu has no site 'cell'; use some of input, recurrent"]]
    assert said["in the schema"]
    assert not said["torch"]


def test_cell_trains_with_every_fitting_method(with_cell: str, tmp_path: Path) -> None:
    said = run(
        with_cell,
        tmp_path,
        """
import json
from normcore.spec import resolve
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.training.loop import train

trained = {}
for tag, method in METHODS.items():
    if method.fits(CELLS["mgu"]):
        task, model = {"name": "permuted_digits", "profile": "smoke"}, {"cell": "mgu"}
        steps = {"max_steps": 12, "eval_every": 6}
        spec = resolve({"task": task, "model": model, "norm": {"method": tag}, "training": steps})
        *events, finished = train(spec, seed=0)
        losses = [event.values["train.loss"] for event in events if hasattr(event, "values")]
        trained[tag] = [finished.outcome, finished.result.values["accuracy"], losses]
print(json.dumps(trained))
""",
    )
    assert set(said) == set(FITTING) == set(said) & set(METHODS)
    for outcome, accuracy, losses in said.values():
        assert outcome in ("completed", "reached_target")
        assert 0 < accuracy < 1
        assert len(losses) == 2
        assert losses[-1] < losses[0]


def test_network_of_the_cell_computes_its_equations(with_cell: str, tmp_path: Path) -> None:
    said = run(
        with_cell,
        tmp_path,
        """
import json, torch
from minimal_gated_unit import MGU
from normcore.recurrent import Recurrent
from normcore.spec.methods import METHODS

torch.manual_seed(0)
network = Recurrent(MGU(hidden_size=4), 3, METHODS["none"]()).double()
x = torch.randn(6, 2, 3, dtype=torch.float64)
with torch.no_grad():
    network.cells[0].h0.normal_()
    network.cells[0].bias.normal_()
    y, state = network(x)
weights = {name: value.tolist() for name, value in network.cells[0].state_dict().items()}
print(json.dumps({"x": x.tolist(), "y": y.tolist(), "end": state.cells[0].h.tolist(), **weights}))
""",
    )
    given = {name: np.array(value) for name, value in said.items()}
    u_f, u = np.split(given["weight_ih"], 2)
    w_f, w = np.split(given["weight_hh"], 2)
    b_f, b = np.split(given["bias"], 2)
    h = np.broadcast_to(given["h0"], (2, 4))
    for x, y in zip(given["x"], given["y"], strict=True):
        f = 1 / (1 + np.exp(-(h @ w_f.T + x @ u_f.T + b_f)))
        candidate = np.tanh((f * h) @ w.T + x @ u.T + b)
        h = (1 - f) * h + f * candidate
        np.testing.assert_allclose(y, h, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(given["end"], h, rtol=1e-12)
