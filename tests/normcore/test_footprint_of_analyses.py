"""Footprint of an analysis bounds what the analysis holds in memory, and blames the right size."""

import json
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from normcore.analyses import smallest_batch, step_cost
from normcore.analyses.length_generalization import length_generalization
from normcore.analyses.report import Resources
from normcore.data import digits, mnist
from normcore.footprint import PROCESS_BYTES, Excess, excess, footprint
from normcore.run import run
from normcore.spec import AnalysisSpec, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses.analysis import Analysis, TrainedAnalysis, one_size
from normcore.spec.analyses.gradient_flow import PIXELS
from normcore.spec.cells.lstm import LSTM
from tests.normcore.analyses.test_length_generalization import trained
from tests.normcore.test_footprint import check_blamed, needed_by
from tests.warm_python import WarmPython, warm_python

CPU = torch.device("cpu")


RUN = "run_00000000000000000000000000"
BY_THEMSELVES = [name for name, task in ANALYSES.items() if not issubclass(task, TrainedAnalysis)]
OF_CELLS = [name for name in BY_THEMSELVES if ANALYSES[name].model is not None]


def analysis_of(name: str, options: dict[str, Any] | None = None, **parts: Any) -> AnalysisSpec:
    task = ANALYSES[name]
    named = {"run": RUN} if issubclass(task, TrainedAnalysis) else {}
    written = {"task": {"name": name, "profile": "smoke", **named, **(options or {})}, **parts}
    spec = resolve(written | ({"norm": {"method": "none"}} if task.takes_norm and "norm" not in parts else {}))
    assert isinstance(spec, AnalysisSpec)
    return spec


class AllocationTrace(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Most bytes of tensors that lived at one moment. Temporaries inside of torch's operators do not count."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.living: dict[int, int] = {}
        self.now: int = 0
        self.peak: int = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in tree_iter(made):
            if isinstance(tensor, Tensor):
                self._add(tensor.untyped_storage())
        return made

    def _add(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key not in self.living:
            self.living[key] = storage.nbytes()
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._remove, key)

    def _remove(self, key: int) -> None:
        self.now -= self.living.pop(key)


def peak_of(work: Callable[[], object]) -> int:
    traced = AllocationTrace()
    with traced:
        work()
    return traced.peak


def test_traced_peak_is_that_of_tensors_that_live_together() -> None:
    def work() -> None:
        kept = [torch.zeros(1000), torch.zeros(1000).view(10, 100)]
        for _ in range(3):
            torch.ones(500)
        del kept
        torch.ones(1500)

    assert peak_of(work) == 4 * 2500


NARROW: dict[str, Any] = {"hidden_size": 1}
WIDE: dict[str, Any] = {"hidden_size": 40}
DEEP: dict[str, Any] = {"hidden_size": 24, "num_layers": 2, "bidirectional": True}
SIZES: dict[str, list[dict[str, Any]]] = {
    "step_cost": [{"num_steps": 1, "batch_size": 2}, {"num_steps": 1, "batch_size": 300}, {"num_steps": 6}],
    "gradient_flow": [{"cases": 2}, {"cases": 50}],
    "hidden_dynamics": [{}],
    "smallest_batch": [{"updates": 1}, {"updates": 2}],
}


CELLS = ("lstm", "gru", "rnn")


def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat measurements as seldom as possible. Train with the smallest and the largest batch only."""
    monkeypatch.setattr(step_cost, "WARM_UP_PAIRS", 0)
    monkeypatch.setattr(step_cost.step_cost, "__defaults__", (step_cost.FEWEST_PAIRS,))
    monkeypatch.setattr(smallest_batch, "BATCH_SIZES", (1, 64))


def pairs() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each analysis with each cell, and with each of its options."""
    for name in OF_CELLS:
        yield from ((name, SIZES[name][0], cell) for cell in CELLS)
        yield from ((name, options, cell) for options, cell in zip(SIZES[name][1:], CELLS, strict=False))


@pytest.mark.parametrize(("name", "options", "cell"), list(pairs()))
def test_analysis_allocates_at_least_its_footprint(
    name: str, options: dict[str, Any], cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    little_work(monkeypatch)
    for width in (NARROW, WIDE, DEEP):
        model = {"cell": cell, "recurrent_init": "uniform", **width}
        if name == "gradient_flow":
            model["bidirectional"] = False
        spec = analysis_of(name, options, model=model)
        found, peak = needed_by(spec), peak_of(lambda spec=spec: list(run(spec, 0)))  # type: ignore[misc]
        assert 0 < found.tensors <= peak, model
        assert width is NARROW or peak <= 12 * found.tensors, model


@pytest.mark.parametrize("method", ["layer_norm", "recurrent_batch_norm", "weight_norm"])
@pytest.mark.parametrize("name", OF_CELLS)
def test_analysis_of_a_method_allocates_at_least_its_footprint(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    little_work(monkeypatch)
    model = {"cell": "lstm", "recurrent_init": "uniform", **WIDE}
    spec = analysis_of(name, SIZES[name][0], model=model, norm={"method": method})
    assert 0 < needed_by(spec).tensors <= peak_of(lambda: list(run(spec, 0)))


@pytest.mark.parametrize("method", [{"method": "layer_norm"}, {"method": "group_norm", "groups": 400}])
def test_layer_of_invariances_allocates_at_least_its_footprint(method: dict[str, Any]) -> None:
    spec = analysis_of("invariances", norm=method)
    assert 0 < needed_by(spec).tensors <= peak_of(lambda: list(run(spec, 0)))


def test_fisher_geometry_allocates_at_least_its_footprint() -> None:
    spec = analysis_of("fisher_geometry")
    assert 0 < needed_by(spec).tensors <= peak_of(lambda: list(run(spec, 0)))


@pytest.mark.parametrize("length", [2, 40, 1251])
def test_segments_of_a_trained_model_allocate_at_least_the_footprint(length: int) -> None:
    model = trained({"method": "none"})
    found = needed_by(analysis_of("length_generalization", {"lengths": sorted({2, length})}))
    assert 0 < found.tensors <= peak_of(lambda: length_generalization(model, length))


def test_analysis_of_a_trained_model_does_not_count_the_model() -> None:
    found = needed_by(analysis_of("population_statistics"))
    assert (found.tensors, found.on("cpu")) == (0, PROCESS_BYTES)


MEASURED = """
import json, sys
from pathlib import Path
from normcore.analyses import smallest_batch, step_cost
from normcore.run import run
from normcore.spec import resolve

step_cost.WARM_UP_PAIRS, step_cost.step_cost.__defaults__ = 0, (step_cost.FEWEST_PAIRS,)
smallest_batch.BATCH_SIZES = 1, 64

def now(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

small, large = (resolve(written) for written in json.loads(sys.argv[1]))
list(run(small, 0))
before = now("VmRSS")
list(run(large, 0))
print(now("VmHWM") - before)
"""
LARGE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("step_cost", {"num_steps": 2, "batch_size": 2}, {"hidden_size": 1100}),
    ("step_cost", {"num_steps": 1, "batch_size": 25_000}, {"hidden_size": 64}),
    ("gradient_flow", {"cases": 1000}, {"hidden_size": 40}),
    ("hidden_dynamics", {"weight_scales": [1.0]}, {"cell": "rnn", "hidden_size": 1400}),
    ("smallest_batch", {"updates": 2}, {"hidden_size": 700}),
]


@pytest.fixture(scope="module")
def torch_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    with warm_python(["torch", "normcore.run"], os.environ, tmp_path_factory.mktemp("torch")) as process:
        yield process


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "options", "model"), LARGE, ids=[f"{name}-{at}" for at, (name, *_) in enumerate(LARGE)]
)
def test_process_of_a_large_analysis_grows_by_at_least_its_footprint(
    name: str, options: dict[str, Any], model: dict[str, Any], torch_process: WarmPython, tmp_path: Path
) -> None:
    initial = {"cell": "lstm", "recurrent_init": "uniform", **model}
    spec = analysis_of(name, options, model=initial)
    small = analysis_of(name, model={"cell": initial["cell"]})
    written = json.dumps([part.model_dump(mode="json") for part in (small, spec)])
    grown = int(torch_process.run(tmp_path, "-c", MEASURED, written))
    assert 30e6 < needed_by(spec).tensors <= grown <= 12 * needed_by(spec).tensors


def test_footprint_of_step_cost_equals_the_hand_computation() -> None:
    spec = analysis_of(
        "step_cost",
        {"num_steps": 7, "batch_size": 5},
        model={"cell": "lstm", "hidden_size": 10, "first_state": "zeros", "first_cell": "zeros", "cell_bias": False},
    )
    weights, found = 4 * (4 * 10 * (1 + 10) + 4 * 10), needed_by(spec)  # float32
    assert (found.weights, found.gradients, found.optimizer) == (2 * weights, weights, 2 * weights)
    assert found.backward == 4 * 5 * 7 * (1 + 6 * 10), "the number that is read; four gates, h and c at each step"
    assert (found.data, found.process) == (0, PROCESS_BYTES)
    assert found.on("cpu") - found.on("cuda") == PROCESS_BYTES


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_footprint_tells_where_an_analysis_computes(name: str) -> None:
    spec = analysis_of(name)
    prepare = ANALYSES.implementation(spec.task, "prepare")
    device = prepare(spec, 0, Resources(torch.device("meta"))).device  # stands for a GPU
    assert (needed_by(spec).on("cuda") == 0) is (device == CPU)


def test_pixels_of_gradient_flow_are_those_of_the_images() -> None:
    shapes = {"digits": digits.SHAPE, "mnist": mnist.SHAPE}
    assert {name: height * width for name, (_, height, width) in shapes.items()} == PIXELS


class Silent(Analysis):
    """An analysis that does not say what it needs."""

    title: ClassVar[str] = "Silent"
    citation: ClassVar[str] = "normbench"
    profiles: ClassVar = one_size("Any.")
    name: Literal["silent"] = "silent"


def test_analysis_that_does_not_say_its_memory_has_no_footprint() -> None:
    spec = AnalysisSpec.model_construct(task=Silent(), model=None, norm=None)
    assert footprint(spec) is None


class Unknown(LSTM):
    """A cell whose cost is not known."""

    gates: ClassVar[int | None] = None


@pytest.mark.parametrize("name", OF_CELLS)
def test_analysis_of_a_cell_of_unknown_cost_has_no_footprint(name: str) -> None:
    spec = analysis_of(name)
    assert footprint(spec.model_copy(update={"model": Unknown()})) is None


@pytest.mark.parametrize(
    ("name", "parts", "field"),
    [
        ("step_cost", {"model": {"hidden_size": 65536, "num_layers": 64}}, ("model", "hidden_size")),
        ("step_cost", {"model": {"hidden_size": 16, "num_layers": 64}}, ("model", "num_layers")),
        ("step_cost", {"options": {"num_steps": 10_000, "batch_size": 100_000}}, ("task", "batch_size")),
        ("step_cost", {"options": {"num_steps": 10_000}}, ("task", "num_steps")),
        ("gradient_flow", {"model": {"hidden_size": 65536}}, ("model", "hidden_size")),
        ("gradient_flow", {"options": {"cases": 1000}}, ("task", "cases")),
        ("hidden_dynamics", {"model": {"hidden_size": 65536}}, ("model", "hidden_size")),
        ("smallest_batch", {"model": {"hidden_size": 65536}}, ("model", "hidden_size")),
        ("length_generalization", {"options": {"lengths": [10, 1_000_000, 500_000]}}, ("task", "lengths")),
    ],
)
def test_size_that_matters_most_is_blamed_for_the_excess_of_an_analysis(
    name: str, parts: dict[str, Any], field: tuple[str, ...]
) -> None:
    check_blamed(analysis_of(name, **parts), field)


def test_excess_names_no_size_below_the_least_that_is_allowed() -> None:
    spec = analysis_of("step_cost", model={"hidden_size": 16})
    least = {"batch_size": 2, "num_steps": 1}
    for name, smallest in least.items():
        task = spec.task.model_copy(update={**least, name: 10_000})
        large = spec.model_copy(update={"task": task})
        at_least = large.model_copy(update={"task": task.model_copy(update={name: smallest})})
        bound = needed_by(at_least).on("cpu")
        assert excess(large, bound, "cpu") == Excess(("task", name), smallest)
        assert excess(large, bound - 1, "cpu") == Excess(("task", name), None)


@pytest.mark.parametrize("name", ["fisher_geometry", "invariances", "population_statistics"])
def test_excess_of_an_analysis_without_sizes_names_its_task(name: str) -> None:
    assert excess(analysis_of(name), 1000, "cpu") == Excess(("task", "name"), None)
