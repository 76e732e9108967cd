"""A cell of another package, written by the recipe and installed beside normbench, is a cell like any other.

It is the minimal gated unit (Zhou, Wu, Zhang, Zhou 2016, arXiv:1603.09420, Eq. 4-6).
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from normcore.spec.methods import METHODS

ROOT = Path(__file__).parents[3]
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
OPTIONS = '''
"""What one can ask for; torch-free."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel


class MGU(RecurrentModel):
    """Minimal gated unit: one gate f, which forgets and resets."""

    places: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent"})
    usual: ClassVar[tuple[Place, ...]] = ("input", "recurrent")
    home: ClassVar[str] = "minimal_gated_unit.cell"

    cell: Literal["mgu"] = "mgu"
    gate_bias: float = Field(0.0, description="Initial bias of the gate.")
'''
CELL = '''
"""What is computed.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 2H are the gate f and the candidate.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

import minimal_gated_unit as spec
from normcore.initialization import init_weights_, spread_bias_
from normcore.norms.normalization import Normalization, size_of_products


class MGUState(NamedTuple):
    h: Tensor


class MGU(nn.Module):
    """f = sigma(norm_h(W_f h) + norm_x(U_f x) + b_f); n = tanh(norm_h(W (f h)) + norm_x(U x) + b);
    h' = (1 - f) h + f n."""

    def __init__(self, options: spec.MGU, input_size: int, norm: Normalization) -> None:
        super().__init__()
        size = options.hidden_size
        self.bias_place = norm.bias
        self.weight_ih = nn.Parameter(torch.empty(2 * size, input_size))
        self.weight_fh = nn.Parameter(torch.empty(size, size))
        self.weight_nh = nn.Parameter(torch.empty(size, size))
        for recurrent in (self.weight_fh, self.weight_nh):
            init_weights_(self.weight_ih, recurrent, options.recurrent_init, (0,))
        bias = torch.zeros(2, size)
        bias[0] = options.gate_bias
        self.bias = nn.Parameter(bias.flatten())
        spread_bias_(self.bias, norm.bias_init, options.recurrent_init, size)
        self.h0 = nn.Parameter(torch.zeros(size))
        self.norm_x = norm.norm(size, "input", blocks=(1, 1))
        self.norm_f = norm.norm(size, "recurrent")
        self.norm_n = norm.norm(size, "recurrent")
        norm.parametrize(self, "weight_ih", "weight_fh", "weight_nh")

    def initial_state(self, batch_size: int) -> MGUState:
        return MGUState(self.h0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        mapped = functional.linear(x, self.weight_ih, None if self.bias_place == "outside" else self.bias)
        a = self.norm_x(mapped, t, mask, size_of_products(self.weight_ih, x))
        return a if self.bias_place == "inside" else a + self.bias

    def step(self, term: Tensor, state: MGUState, t: int) -> MGUState:
        f_x, n_x = term.chunk(2, 1)
        h = state.h
        f_h = self.norm_f(functional.linear(h, self.weight_fh), t, size=size_of_products(self.weight_fh, h))
        f = (f_x + f_h).sigmoid()
        n_h = self.norm_n(functional.linear(f * h, self.weight_nh), t, size=size_of_products(self.weight_nh, h))
        return MGUState((1 - f) * h + f * (n_x + n_h).tanh())
'''
FITTING = [
    *("dynamic_tanh", "layer_norm", "none", "recurrent_batch_norm"),
    *("rms_norm", "sequence_batch_norm", "weight_norm"),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH on which the package is installed."""
    folder = tmp_path_factory.mktemp("cell")
    package = folder / "source" / "minimal_gated_unit"
    package.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(PYPROJECT)
    (package / "__init__.py").write_text(OPTIONS)
    (package / "cell.py").write_text(CELL)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    target = ["--target", str(folder / "installed"), str(package.parent)]
    subprocess.run([*command, *target], check=True, timeout=120)
    return f"{folder / 'installed'}:{ROOT}"


def run(pythonpath: str, folder: Path, code: str) -> Any:
    """What the code prints in a process of its own, read as JSON."""
    (folder / "code.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "code.py"],
        env={"PYTHONPATH": pythonpath, "PATH": "", "HOME": str(folder), "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_known_without_torch(installed: str, tmp_path: Path) -> None:
    said = run(
        installed,
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
    assert said["cells"] == ["gru", "lstm", "rnn", "mgu"]
    assert said["origin"] == "minimal-gated-unit 0.3"
    assert said["fits"] == FITTING
    assert said["model"] == {
        "cell": "mgu",
        "hidden_size": 100,
        "num_layers": 1,
        "bidirectional": False,
        "recurrent_init": "orthogonal",
        "gate_bias": 0.0,
    }, "the profile's forget_bias is not for it"
    assert said["norm"] == ["input", "recurrent"]
    [[*loc, message]] = said["batch_norm"]
    assert loc == ["norm", "method"]
    assert "mgu has input, recurrent" in message
    assert said["sites"] == [["norm", "sites", "mgu has no site 'cell'; use some of input, recurrent"]]
    assert said["in the schema"]
    assert not said["torch"]


def test_it_trains_with_every_method_that_fits(installed: str, tmp_path: Path) -> None:
    said = run(
        installed,
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
        task, model = {"name": "permuted_digits", "profile": "smoke"}, {"cell": "mgu", "num_layers": 2}
        spec = resolve({"task": task, "model": model, "norm": {"method": tag}})
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
        assert len(losses) == 4
        assert losses[-1] < losses[0]


def test_a_network_of_it_computes_its_equations(installed: str, tmp_path: Path) -> None:
    said = run(
        installed,
        tmp_path,
        """
import json, torch
from minimal_gated_unit import MGU
from normcore.recurrent import Recurrent
from normcore.spec.methods import METHODS

torch.manual_seed(0)
network = Recurrent(MGU(hidden_size=4, gate_bias=0.5), 3, METHODS["none"]()).double()
x = torch.randn(6, 2, 3, dtype=torch.float64)
with torch.no_grad():
    network.cells[0].h0.normal_()
    y, state = network(x)
weights = {name: value.tolist() for name, value in network.cells[0].state_dict().items()}
print(json.dumps({"x": x.tolist(), "y": y.tolist(), "end": state.cells[0].h.tolist(), **weights}))
""",
    )
    given = {name: np.array(value) for name, value in said.items()}
    u_f, u = np.split(given["weight_ih"], 2)
    b_f, b = np.split(given["bias"], 2)
    h = np.broadcast_to(given["h0"], (2, 4))
    for x, y in zip(given["x"], given["y"], strict=True):
        f = 1 / (1 + np.exp(-(h @ given["weight_fh"].T + x @ u_f.T + b_f)))
        candidate = np.tanh((f * h) @ given["weight_nh"].T + x @ u.T + b)
        h = (1 - f) * h + f * candidate
        np.testing.assert_allclose(y, h, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(given["end"], h, rtol=1e-12)
    assert b_f.tolist() == [0.5] * 4
