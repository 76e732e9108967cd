"""Choice of the loop over time when a model is built. A kernel that is asked for by name runs or is refused."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import normcore
from normcore.kernels import KernelUnavailable, choose, cpu, describe_kernel, reference_code
from normcore.models.build import Build
from normcore.recurrent import Recurrent, unroll
from normcore.spec import InvalidSpec, TrainingSpec, resolve
from normcore.spec.cells import CELLS
from normcore.spec.cells.lstm import LSTM
from normcore.spec.kernels import FUSED_METHODS
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from tests.normcore.kernels.cell_pass import FUSED, FUSED_CELLS
from tests.warm_python import WarmPython, warm_python

CPU = torch.device("cpu")
FITTING = [(cell, method) for cell in CELLS for method, kind in METHODS.items() if kind.fits(CELLS[cell])]


@pytest.mark.parametrize(("cell", "method"), FITTING)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_reference_is_available_everywhere_and_fused_only_where_implemented(
    cell: str, method: str, device: str
) -> None:
    options = CELLS[cell].model_validate({})
    norm = METHODS[method].model_validate(METHODS[method].defaults(CELLS[cell]))
    on = torch.device(device)
    assert choose("reference", options, norm, on, torch.float32) == ("reference", unroll)
    fused = cell in FUSED_CELLS and method in FUSED and device == "cpu"
    assert choose("auto", options, norm, on, torch.float32) == (
        ("fused", cpu.unroll) if fused else ("reference", unroll)
    )
    assert choose("auto", options, norm, on, torch.float64) == ("reference", unroll)
    if fused:
        assert choose("fused", options, norm, on, torch.float32) == ("fused", cpu.unroll)
    else:
        with pytest.raises(KernelUnavailable, match=r"there is no fused kernel .*; use auto or reference"):
            choose("fused", options, norm, on, torch.float32)


def test_digests_of_the_code_that_kernels_follow_are_those_of_this_code() -> None:
    """Compare the kernels with the edited code if this fails. Then run ``python -m tools.reference_code``."""
    assert json.loads(reference_code.DIGESTS.read_text(encoding="utf-8")) == reference_code.present()


def test_each_norm_that_a_kernel_follows_is_recorded_with_the_norms_that_it_imports() -> None:
    for method in FUSED_METHODS:
        followed = {*reference_code.modules_of(method), *reference_code.COMMON}
        for module in sorted(followed):
            path = Path(normcore.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
            imported = re.findall(r"^from (normcore\.norms\.\w+) ", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert {*imported} - {*followed} <= {"normcore.norms.population"}, module  # no kernel computes populations


TRAIN = """
import contextlib
import io
import json
import sys
from normcore import probe
from normcore.events import Measured
from normcore.run import run
from normcore.spec import resolve
probe.TIMES = 1
task, norm, cell = sys.argv[1:]
parts = {"norm": json.loads(norm), "model": {"cell": cell}, "training": {"max_steps": 5, "eval_every": 5}}
spec = {"task": {"name": task, "profile": "smoke"}, **parts}
with contextlib.redirect_stderr(io.StringIO()) as warned:
    loss = next(event.values["train.loss"] for event in run(resolve(spec), 0) if isinstance(event, Measured))
print(json.dumps([loss, warned.getvalue()]))
"""


@pytest.fixture(scope="module")
def torch_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """Python with torch and without normcore, so that each command imports normcore from its folder."""
    with warm_python(["torch", "numpy", "pydantic"], os.environ, tmp_path_factory.mktemp("torch")) as process:
        yield process


@pytest.mark.parametrize(
    ("cell", "norm", "module", "before", "after"),
    [
        ("lstm", {"method": "rms_norm"}, "norms/rms_norm.py", "return a * (mean", "return 3 * a * (mean"),
        ("gru", {"method": "none"}, "cells/gru.py", "n + z *", "n + 0.2 * z *"),
        (
            "rnn",
            {"method": "none"},
            "norms/normalization.py",
            "norm(functional.linear(x",
            "norm(2 * functional.linear(x",
        ),
        (
            "gru",
            {"method": "recurrent_batch_norm", "input_statistics": "sequence"},
            "norms/sequence_batch_norm.py",
            "((wide - mean) *",
            "(3 * (wide - mean) *",
        ),
    ],
)
def test_edit_of_the_code_that_a_kernel_follows_has_its_effect(
    cell: str, norm: Mapping[str, str], module: str, before: str, after: str, tmp_path: Path, torch_process: WarmPython
) -> None:
    """The copy of the package finds its kernels in the cache. An edit of a comment leaves the kernels in use."""
    shutil.copytree(Path(normcore.__file__).parent, tmp_path / "normcore")
    file = tmp_path / "normcore" / module
    source = file.read_text(encoding="utf-8")
    assert before in source

    def trained(text: str) -> tuple[float, str]:
        file.write_text(text, encoding="utf-8")
        spec = ("sequential_digits", json.dumps(norm), cell)
        loss, warned = json.loads(torch_process.run(tmp_path, "-c", TRAIN, *spec))
        return loss, warned

    usual, _ = trained(source)
    if norm["method"] == "rms_norm":  # once is enough
        commented, warned = trained(f"{source}\n# a comment\n")
        assert (commented, warned) == (usual, "")
    changed, warned = trained(source.replace(before, after))
    assert changed != usual
    assert f"normcore.{module.removesuffix('.py').replace('/', '.')} was edited" in warned


@pytest.mark.parametrize("task", ["attentive_reader", "order_embedding", "skip_thoughts"])
def test_networks_inside_a_model_run_fused(task: str) -> None:
    written = {"task": {"name": task, "profile": "smoke"}, "norm": {"method": "layer_norm"}}
    spec = resolve({**written, "training": {"kernel": "fused"}})
    assert isinstance(spec, TrainingSpec)
    build = Build(spec.model, spec.norm, "fused", CPU, torch.float32)
    assert build.recurrent(spec.model.recurrent, 4).kernel == "fused"


def test_missing_kernel_that_is_asked_for_by_name_is_refused() -> None:
    with pytest.raises(KernelUnavailable, match=r"no fused kernel on cuda in torch\.float64"):
        choose("fused", LSTM(), LayerNorm(), torch.device("cuda"), torch.float64)
    assert issubclass(KernelUnavailable, ValueError)


@pytest.fixture
def untried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA device without verdicts on its kernels; only its name is faked."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("untried")
def test_fused_kernels_on_cuda_are_those_of_triton() -> None:
    pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    from normcore.kernels.gpu.unroll import unroll as fused_unroll

    cell = LSTM()
    of = (cell, LayerNorm(), torch.device("cuda"), torch.float32)
    assert choose("fused", *of) == ("fused", fused_unroll)
    assert choose("auto", *of) == ("reference", unroll), "nobody has tried them"
    network = Recurrent(cell, 1, LayerNorm(), "fused", fused_unroll)
    assert describe_kernel(network, torch.device("cuda")) == ("fused", f"triton {version('triton')}")


def test_model_reports_all_kernels_that_it_runs() -> None:
    by_fused, by_reference = (Recurrent(LSTM(), 1, LayerNorm(), name) for name in ("fused", "reference"))
    assert describe_kernel(nn.ModuleList([by_reference, by_fused]), CPU) == (
        "fused reference",
        cpu.describe_build("LSTM"),
    )
    assert describe_kernel(by_reference, CPU) == ("reference", None)
    assert describe_kernel(nn.Linear(1, 1), CPU) == ("reference", None)


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize(
    ("number", "why"),
    [
        (None, "import of triton"),
        ("3.5.1", r"expected triton 3\.6 or 3\.7 or 3\.8, received 3\.5\.1; pip install normbench\[gpu\]"),
        ("3.9.0", r"expected triton 3\.6 or 3\.7 or 3\.8, received 3\.9\.0; pip install normbench\[gpu\]"),
    ],
)
def test_cuda_has_no_fused_kernels_without_a_known_version_of_triton(
    number: str | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    triton: Any = None if number is None else ModuleType("triton")
    if number is not None:
        triton.__version__ = number
    monkeypatch.setitem(sys.modules, "triton", triton)
    of = (LSTM(), LayerNorm(), torch.device("cuda"), torch.float32)
    assert choose("auto", *of) == ("reference", unroll)
    with pytest.raises(KernelUnavailable, match=f"there are no fused kernels on this machine: .*{why}"):
        choose("fused", *of)
    assert choose("auto", LSTM(), LayerNorm(), CPU, torch.float32) == ("fused", cpu.unroll)


def test_choosing_a_kernel_for_the_cpu_does_not_import_triton(torch_process: WarmPython, tmp_path: Path) -> None:
    code = (
        "import sys, torch; from normcore.kernels import choose; from normcore.spec.cells.lstm import LSTM;"
        " from normcore.spec.methods.layer_norm import LayerNorm;"
        " choose('auto', LSTM(), LayerNorm(), torch.device('cpu'), torch.float32);"
        " print([name for name in ('triton', 'normcore.kernels.gpu.unroll') if name in sys.modules])"
    )
    assert torch_process.run(tmp_path, "-c", code) == "[]\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm": {"method": "weight_norm"}}, "there is no fused kernel for lstm with weight_norm"),
        ({"training": {"precision": "float64"}}, "there is no fused kernel in float64"),
        ({"task": {"name": "feedforward"}}, "there is no fused kernel for feed_forward"),
    ],
)
def test_spec_that_asks_for_a_missing_kernel_is_refused(changes: dict[str, Any], message: str) -> None:
    written: dict[str, Any] = {"task": {"name": "permuted_digits"}, "norm": {"method": "none"}, **changes}
    written["training"] = {"kernel": "fused", **written.get("training", {})}
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    [error] = caught.value.errors
    assert (error.loc, error.msg) == (("training", "kernel"), f"{message}; use auto or reference")
    resolve({**written, "training": {**written["training"], "kernel": "auto"}})


@pytest.mark.parametrize(
    ("kernel", "expected"), [("auto", ("fused", cpu.unroll)), ("reference", ("reference", unroll))]
)
def test_network_has_the_name_and_the_function_of_its_kernel(kernel: str, expected: Any) -> None:
    network = Build(LSTM(hidden_size=3), LayerNorm(), kernel, CPU, torch.float32).recurrent(LSTM(hidden_size=3), 2)
    assert isinstance(network, Recurrent)
    assert (network.kernel, network.unroll) == expected
