"""Each part measures something by Triton's interpreter, at the smallest sizes."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from benchmarks.gpu_day import exactness, layers
from benchmarks.gpu_day.__main__ import PARTS
from benchmarks.gpu_day.device import SHORT, Device, compile_in_parallel
from benchmarks.gpu_day.results import Case, Results
from normcore.kernels.gpu import check
from normcore.nn import RNN
from normcore.spec.kernels import FUSED_PAIRS

DEVICE = Device(interpreted=True)


def cases_of(part: str, device: Device = DEVICE) -> list[Case]:
    return list(import_module(f"benchmarks.gpu_day.{part}").cases(device))


def last_of_each_kind(part: str) -> Iterator[Case]:
    """Yield the last measurement by each function: those of RNNs, which are the smallest."""
    yield from {getattr(case.measure, "func", None): case for case in cases_of(part)}.values()


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("part", [part for part in PARTS if part != "training"])
def test_every_kind_of_measurement_works(part: str, tmp_path: Path) -> None:
    results = Results.read(tmp_path, part)
    results.measured_on(DEVICE.describe())
    results.take(list(last_of_each_kind(part)), seconds=60.0)
    assert results.content["broken"] == {}
    assert set(Results.read(tmp_path, part).content["measured"]) == {case.name for case in last_of_each_kind(part)}


def compile_unless_negative(device: Device, number: int) -> None:
    if number < 0:
        raise ValueError(f"{number} of {device}")


def test_errors_of_compilers_are_told_and_end_no_other_job() -> None:
    """The jobs run in processes, as on a device."""
    found = compile_in_parallel(Device(interpreted=False), compile_unless_negative, [(1,), (-7,), (2,)])
    assert found["jobs"] == 3
    assert found["seconds_of_jobs"] > 0
    assert found["errors"] == ["(-7,): ValueError: -7 of Device(interpreted=False)"]


def test_training_by_a_killed_worker_is_resumed() -> None:
    [case] = [case for case in cases_of("training") if case.name == "killed worker"]
    found = case.measure()
    assert (found["attempt"], found["updates"], found["metric"]) == (2, 20, "bits_per_char")


def test_names_of_measurements_are_unique_on_a_device() -> None:
    for part in PARTS:
        names = [case.name for case in cases_of(part, Device(interpreted=False))]
        assert len(set(names)) == len(names)
        assert len(names) > 5


def test_every_pair_is_compared_in_each_precision_and_size() -> None:
    names = [case.name for case in cases_of("exactness", Device(interpreted=False))]
    for cell, method in FUSED_PAIRS:
        of_pair = [name for name in names if name.startswith(f"{cell} with {method}, ")]
        assert len(of_pair) == 2 * (len(check.HIDDEN) + 1)


@pytest.mark.filterwarnings("ignore:overflow")
def test_wrong_kernel_is_named_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "unroll", lambda _: too_large_in_evaluation)
    found = exactness.compare(DEVICE, "rnn", "sequence_batch_norm", 3, check.PRECISIONS[0], exactness.TINY)
    assert found["wrong"] == ["y, evaluation"]
    assert found["worst"] == "y, evaluation"
    assert found["error"] == pytest.approx(0.5, rel=1e-3)
    assert found["eager_error"] < 1e-6


def too_large_in_evaluation(cell: Any, *arguments: Any) -> Any:
    from normcore import recurrent

    done = recurrent.unroll(cell, *arguments)
    return done if cell.training else done._replace(y=1.5 * done.y)


def test_layer_that_differs_from_torch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert layers.beside_torch(DEVICE, "rnn", SHORT)["error"] < 1e-5

    class Differs(RNN):
        def forward(self, *arguments: Any) -> Any:
            y, last = super().forward(*arguments)
            return 2 * y, last

    monkeypatch.setitem(layers.LAYERS, "rnn", Differs)
    found = layers.beside_torch(DEVICE, "rnn", SHORT)
    assert found["error"] == pytest.approx(1.0, rel=0.5)
    assert found["theirs_error"] < 1e-5
