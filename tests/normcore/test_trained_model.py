"""The model that a run tested is loaded from its artifacts; damaged or wrong artifacts are refused."""

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normcore.events import Finished
from normcore.recurrent import Recurrent
from normcore.spec import TrainingSpec, resolve
from normcore.trained_model import TrainedModel, load
from normcore.training.loop import train
from tests.normcore.training_specs import recurrent_model

THIS = Path(__file__)  # language models are trained on this text here


def finished(task: str, method: str, **training: Any) -> Finished:
    """Train a model of four units for two updates."""
    text = {"corpus": "file", "file": THIS.name, "sequence_length": 5, "valid_chars": 60, "test_chars": 60}
    spec = resolve(
        {
            "task": {"name": task, "profile": "smoke", **(text if task == "char_lm" else {})},
            "model": {"hidden_size": 4},
            "norm": {"method": method},
            "training": {"batch_size": 8, "max_steps": 2, "eval_every": 2, **training},
        }
    )
    assert isinstance(spec, TrainingSpec)
    *_, last = train(spec, 3, datasets_dir=THIS.parent)
    assert isinstance(last, Finished)
    return last


@pytest.fixture(scope="module")
def content() -> bytes:
    return finished("permuted_digits", "recurrent_batch_norm").model()


@pytest.mark.parametrize(
    ("task", "method", "precision"),
    [
        ("permuted_digits", "recurrent_batch_norm", "float64"),
        ("char_lm", "recurrent_batch_norm", "float32"),
        ("permuted_digits", "weight_norm", "float32"),
        ("char_lm", "none", "float64"),
    ],
)
def test_loaded_model_gives_the_test_values_of_its_run(task: str, method: str, precision: str) -> None:
    run = finished(task, method, precision=precision)
    trained = load(run.model(), THIS.parent)
    assert not trained.model.training
    assert {p.dtype for p in trained.model.parameters()} == {getattr(torch, precision)}
    with torch.no_grad():
        tested = trained.task.test(trained.model)
    assert tested == run.result.values
    assert tested[run.result.metric] == run.result.value


def test_loaded_model_has_its_spec_and_seed(content: bytes) -> None:
    trained = load(content, None)
    assert (trained.spec.task.name, trained.spec.norm.method) == ("permuted_digits", "recurrent_batch_norm")
    assert (recurrent_model(trained.spec.model).hidden_size, trained.spec.training.max_steps, trained.seed) == (4, 2, 3)


def test_generator_is_unchanged(content: bytes) -> None:
    before = torch.get_rng_state()
    load(content, None)
    assert torch.equal(torch.get_rng_state(), before)


def test_model_trained_by_fused_kernels_loads_without_fused_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished("permuted_digits", "layer_norm", kernel="fused")
    monkeypatch.setattr(sys.modules["normcore.kernels.cpu.load"], "_forgone", "nobody has built them")
    trained = load(run.model(), None)
    assert (kernel_of(trained), trained.spec.training.kernel) == ("reference", "fused")
    with torch.no_grad():
        tested = trained.task.test(trained.model)
    assert tested == pytest.approx(run.result.values, rel=1e-4)


@pytest.mark.parametrize("kernel", ["fused", "reference"])
def test_loaded_model_runs_by_the_kernel_that_trained_it(kernel: str) -> None:
    assert kernel_of(load(finished("permuted_digits", "none", kernel=kernel).model(), None)) == kernel


def kernel_of(trained: TrainedModel) -> str:
    (kernel,) = {module.kernel for module in trained.model.modules() if isinstance(module, Recurrent)}
    return kernel


@pytest.mark.parametrize("part", [0, 1, 4, 100, -1000, -1])
def test_truncated_model_is_refused(content: bytes, part: int) -> None:
    with pytest.raises(ValueError, match=r"bytes that torch\.load cannot read; use a run's whole model\.pt"):
        load(content[:part], None)


def test_a_weight_with_one_bit_flipped_is_refused(content: bytes) -> None:
    weights = zipfile.ZipFile(io.BytesIO(content)).read("archive/data/0")
    assert len(weights) >= 4
    flipped = bytearray(content)
    flipped[content.index(weights) + 1] ^= 1
    with pytest.raises(ValueError, match=r"whose archive/data/0 differs from its checksum; copy model\.pt again"):
        load(bytes(flipped), None)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_arbitrary_bytes_are_refused_with_the_same_message() -> None:
    """Torch raises an EOFError, IndexError, KeyError, UnicodeDecodeError or struct.error for these."""
    random = np.random.RandomState(0)
    for _ in range(300):
        for start in (b"", b"\x80\x02", b"PK\x03\x04"):
            with pytest.raises(ValueError, match=r"bytes that torch\.load cannot read; use a run's whole model\.pt"):
                load(start + random.bytes(random.randint(60)), None)


class WritesAFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.write_text, (self.path, "owned")


def test_model_that_contains_code_is_refused_without_running_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        load(saved({"spec": WritesAFile(tmp_path / "proof"), "seed": 0, "state_dict": {}}), None)
    assert list(tmp_path.iterdir()) == []


def saved(content: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def with_parts(content: bytes, **parts: Any) -> bytes:
    return saved({**torch.load(io.BytesIO(content), weights_only=True), **parts})


@pytest.mark.parametrize("parts", [{"spec": None}, {"seed": "0"}, {"state_dict": []}])
def test_a_model_without_one_of_its_parts_is_refused(content: bytes, parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="with spec, seed, state_dict, received something else"):
        load(with_parts(content, **parts), None)
    with pytest.raises(ValueError, match="with spec, seed, state_dict, received something else"):
        load(saved([1, 2]), None)


def test_model_with_an_invalid_spec_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"cannot read the spec of the trained model: (.|\n)*task"):
        load(with_parts(content, spec='{"model": {"cell": "lstm"}}'), None)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"model": {"hidden_size": 5}}, "size mismatch for recurrent.cells.0.weight_hh"),
        ({"norm": {"method": "layer_norm"}}, "Unexpected key.*recurrent.cells.0.norm_x.running_mean"),
        ({"model": {"hidden_size": 4, "num_layers": 2}}, "Missing key.*recurrent.cells.1.weight_ih"),
    ],
)
def test_weights_of_another_spec_are_refused_by_name(content: bytes, changed: dict[str, Any], named: str) -> None:
    sizes = {"model": {"hidden_size": 4}, "norm": {"method": "recurrent_batch_norm"}}
    spec = resolve({"task": {"name": "permuted_digits", "profile": "smoke"}, **sizes, **changed})
    with pytest.raises(ValueError, match=rf"the trained model does not fit its spec, lstm with (.|\n)*{named}"):
        load(with_parts(content, spec=spec.model_dump_json()), None)


def test_missing_device_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="there is no device cuda:77 here"):
        load(content, None, "cuda:77")
