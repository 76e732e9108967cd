"""Footprint of a run equals hand computations, bounds what the run allocates, and blames the right size."""

import inspect
import json
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from normcore.analyses import fisher_geometry, gradient_flow, hidden_dynamics, invariances, smallest_batch, step_cost
from normcore.analyses.length_generalization import length_generalization
from normcore.analyses.report import Resources
from normcore.data import digits, mnist
from normcore.footprint import PROCESS_BYTES, Excess, Footprint, excess, footprint
from normcore.kernels import cpu
from normcore.run import run
from normcore.seeding import reproducible
from normcore.spec import AnalysisSpec, InvalidSpec, SpecError, TrainingSpec, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses import fisher_geometry as of_fisher_geometry
from normcore.spec.analyses import gradient_flow as of_gradient_flow
from normcore.spec.analyses import hidden_dynamics as of_hidden_dynamics
from normcore.spec.analyses import invariances as of_invariances
from normcore.spec.analyses import smallest_batch as of_smallest_batch
from normcore.spec.analyses.analysis import Analysis, TrainedAnalysis, one_size
from normcore.spec.cells import CELLS
from normcore.spec.cells.lstm import LSTM
from normcore.spec.tasks import BENCHMARKS
from normcore.training.loop import _prepare
from tests.normcore.analyses.test_length_generalization import trained
from tests.normcore.kernels.cell_pass import cell_of, drawn, in_float32

CPU = torch.device("cpu")
GIB = 1 << 30


def spec_of(task: str, profile: str = "smoke", options: dict[str, Any] | None = None, **parts: Any) -> TrainingSpec:
    written = {"task": {"name": task, "profile": profile, **(options or {})}, "norm": {"method": "none"}, **parts}
    spec = resolve(written)
    assert isinstance(spec, TrainingSpec)
    return spec


def test_footprint_of_an_lstm_equals_the_hand_computation() -> None:
    spec = spec_of(
        "permuted_digits",
        model={"cell": "lstm", "hidden_size": 10, "first_state": "zeros", "first_cell": "zeros", "cell_bias": False},
        training={"batch_size": 32, "optimizer": {"name": "adam"}},
    )
    weights = 4 * (4 * 10 * (1 + 10) + 4 * 10 + 10 * 10 + 10)  # float32
    found = footprint(spec)
    assert found is not None
    assert (found.weights, found.gradients, found.optimizer) == (2 * weights, weights, 2 * weights)
    assert found.backward == 4 * 32 * (64 * (1 + 6 * 10) + 10), "each pixel; four gates, h and c at each step; logits"
    assert (found.data, found.process) == (0, PROCESS_BYTES)
    assert found.on("cpu") == 5 * weights + found.backward + PROCESS_BYTES


@pytest.mark.parametrize(
    ("optimizer", "kept"),
    [
        ({"name": "rmsprop", "momentum": 0.0}, 1),
        ({"name": "rmsprop", "momentum": 0.9}, 2),
        ({"name": "adam"}, 2),
        ({"name": "toronto_adam"}, 2),
    ],
)
def test_optimizer_keeps_the_expected_numbers_per_parameter(optimizer: dict[str, Any], kept: int) -> None:
    spec = spec_of("permuted_digits", training={"optimizer": optimizer})
    found = footprint(spec)
    assert found is not None
    assert found.optimizer == kept * found.gradients
    with reproducible(0, CPU, 1):
        run = _prepare(spec, 0, CPU, None)
        batch = run.task.batch(run.order.next_batch(), run.draws)
        run.task.loss(run.model, batch).total.backward()  # type: ignore[no-untyped-call]
        run.optimizer.step()
    states = run.optimizer.state.values()
    large = [part for state in states for part in state.values() if isinstance(part, Tensor) and part.dim()]
    assert sum(part.numel() for part in large) == kept * sum(
        p.numel() for p in run.model.parameters() if p.grad is not None
    )


def test_float64_doubles_the_footprint() -> None:
    single, double = (footprint(spec_of("permuted_digits", training={"precision": p})) for p in ("float32", "float64"))
    assert single is not None
    assert double is not None
    assert double.on("cpu") - PROCESS_BYTES == 2 * (single.on("cpu") - PROCESS_BYTES)


@pytest.mark.parametrize(
    ("task", "kernel"),
    [*((task, "auto") for task in sorted(BENCHMARKS)), ("permuted_digits", "reference"), ("char_lm", "reference")],
)
def test_autograd_saves_at_least_the_estimated_bytes(task: str, kernel: str, datasets_dir: Path) -> None:
    options = {"dataset": "digits"} if task in ("draw", "feedforward") else {}
    spec = spec_of(task, options=options, training={"kernel": kernel})
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with reproducible(0, CPU, 1):
        run = _prepare(spec, 0, CPU, datasets_dir)
        examples = run.order.next_batch()
        batch = run.task.batch(examples, run.draws)
        weights = {p.untyped_storage().data_ptr() for p in run.model.parameters()}
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = run.task.loss(run.model, batch).total
        del loss
        epoch = sum(map(len, run.task.epoch(torch.Generator().manual_seed(0), 10**6)))
    found = footprint(spec)
    assert found is not None
    seen = sum(size for place, size in kept.items() if place not in weights)
    assert epoch >= (spec.task.least_examples() or 0)
    assert 0 < found.backward * len(examples) / spec.training.batch_size <= seen <= 12 * found.backward, (found, seen)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_fused_kernel_saves_the_numbers_of_a_step_that_its_cell_names(cell: str) -> None:
    steps, batch, hidden = 7, 5, 32  # a multiple of the vector width, so that nothing is padded
    built = cell_of(cell, "none", {}, inputs=3, hidden=hidden)
    built, x, start = in_float32(built, *drawn(built, steps, batch))
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if tensor.shape[:2] == (steps, batch) and tensor is not x:
            saved[tensor.untyped_storage().data_ptr()] = tensor.numel()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        unrolled = cpu.unroll(built, x, start)
    assert unrolled.y.requires_grad
    kept = CELLS.validate({"cell": cell, "hidden_size": hidden}).kept_of_step
    assert sum(saved.values()) == kept * steps * batch * hidden


def test_batch_counts_no_more_examples_than_the_data_has() -> None:
    some, more = (footprint(spec_of("permuted_digits", training={"batch_size": size})) for size in (1197, 10**6))
    assert some == more
    fewer = footprint(spec_of("permuted_digits", options={"examples": 100}, training={"batch_size": 1000}))
    assert fewer is not None
    assert some is not None
    assert fewer.backward * 1197 == some.backward * 100


def test_data_held_in_memory_counts() -> None:
    found = footprint(spec_of("permuted_mnist"))
    assert found is not None
    assert found.data == 16 + 60_000 * 784 + 8 + 60_000 + 16 + 10_000 * 784 + 8 + 10_000


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


def needed_by(spec: AnalysisSpec | TrainingSpec) -> Footprint:
    found = footprint(spec)
    assert found is not None
    return found


class Traced(TorchDispatchMode):  # type: ignore[no-untyped-call]
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
    traced = Traced()
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


def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_cost, "WARM_UP_PAIRS", 0)
    monkeypatch.setattr(step_cost.step_cost, "__defaults__", (step_cost.FEWEST_PAIRS,))


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize(("name", "options"), [(name, options) for name in OF_CELLS for options in SIZES[name]])
def test_analysis_allocates_at_least_its_footprint(
    name: str, options: dict[str, Any], cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_pairs(monkeypatch)
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
    few_pairs(monkeypatch)
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
    found = needed_by(analysis_of("length_generalization", {"lengths": [2, length]}))
    assert 0 < found.tensors <= peak_of(lambda: length_generalization(model, [length]))


def test_analysis_of_a_trained_model_does_not_count_the_model() -> None:
    found = needed_by(analysis_of("population_statistics"))
    assert (found.tensors, found.on("cpu")) == (0, PROCESS_BYTES)


MEASURED = """
import json, sys
from pathlib import Path
import torch
from normcore.analyses import step_cost
from normcore.run import run
from normcore.spec import resolve

step_cost.WARM_UP_PAIRS, step_cost.step_cost.__defaults__ = 0, (step_cost.FEWEST_PAIRS,)

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
    ("step_cost", {"num_steps": 1, "batch_size": 60_000}, {"hidden_size": 64}),
    ("gradient_flow", {"cases": 1000}, {"hidden_size": 40}),
    ("hidden_dynamics", {"weight_scales": [1.0]}, {"cell": "rnn", "hidden_size": 2000}),
    ("smallest_batch", {"updates": 2}, {"hidden_size": 1400}),
]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "options", "model"), LARGE, ids=[f"{name}-{at}" for at, (name, *_) in enumerate(LARGE)]
)
def test_process_of_a_large_analysis_grows_by_at_least_its_footprint(
    name: str, options: dict[str, Any], model: dict[str, Any]
) -> None:
    initial = {"cell": "lstm", "recurrent_init": "uniform", **model}
    spec = analysis_of(name, options, model=initial)
    small = analysis_of(name, model={"cell": initial["cell"]})
    written = json.dumps([part.model_dump(mode="json") for part in (small, spec)])
    command = [sys.executable, "-c", MEASURED, written]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 80e6 < needed_by(spec).tensors <= grown <= 12 * needed_by(spec).tensors


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


def test_analysis_that_computes_on_the_cpu_needs_nothing_of_a_gpu() -> None:
    found = {name: needed_by(analysis_of(name)) for name in ANALYSES}
    assert {name for name in ANALYSES if found[name].on("cuda") == 0} == {
        "fisher_geometry",
        "hidden_dynamics",
        "invariances",
        "population_statistics",  # it reads a model, and does not count it
        "smallest_batch",
    }


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_footprint_tells_where_an_analysis_computes(name: str) -> None:
    spec = analysis_of(name)
    prepare = ANALYSES.implementation(spec.task, "prepare")
    device = prepare(spec, 0, Resources(torch.device("meta"))).device  # stands for a GPU
    assert (needed_by(spec).on("cuda") == 0) is (device == CPU)


def test_sizes_in_the_options_of_analyses_are_those_of_their_code() -> None:
    assert of_gradient_flow.CLASSES == gradient_flow.NUM_CLASSES
    assert {
        name: height * width for name, (_, height, width) in {"digits": digits.SHAPE, "mnist": mnist.SHAPE}.items()
    } == of_gradient_flow.PIXELS
    assert (of_hidden_dynamics.STEPS, of_hidden_dynamics.CASES) == (
        hidden_dynamics.NUM_STEPS,
        hidden_dynamics.BATCH_SIZE,
    )
    assert (of_smallest_batch.STEPS, of_smallest_batch.INPUTS, of_smallest_batch.CLASSES) == (
        smallest_batch.ROWS,
        smallest_batch.PIXELS_PER_ROW,
        smallest_batch.NUM_CLASSES,
    )
    assert max(smallest_batch.BATCH_SIZES) == of_smallest_batch.LARGEST
    assert (of_invariances.INPUTS, of_invariances.UNITS, of_invariances.CASES) == (
        invariances.INPUT_SIZE,
        invariances.UNITS,
        invariances.CASES,
    )
    sizes = inspect.signature(fisher_geometry.fisher_geometry).parameters
    assert tuple(sizes[name].default for name in ("hidden_size", "input_size", "examples")) == (
        of_fisher_geometry.OUTPUTS,
        of_fisher_geometry.INPUTS,
        of_fisher_geometry.EXAMPLES,
    )


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
    spec = analysis_of(name, **parts)
    bound = min(4 * GIB, needed_by(spec).on("cpu") - 1)
    blamed = excess(spec, bound, "cpu")
    assert blamed.field == field
    assert blamed.most is not None
    part, option = field

    def total(size: int) -> int:
        options = getattr(spec, part)
        old = getattr(options, option)
        value = tuple(min(one, size) for one in old) if isinstance(old, tuple) else size
        return needed_by(spec.model_copy(update={part: options.model_copy(update={option: value})})).on("cpu")

    assert total(blamed.most) <= bound < total(blamed.most + 1)


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


@pytest.mark.parametrize(
    ("task", "parts", "field"),
    [
        ("char_lm", {"model": {"hidden_size": 65536, "num_layers": 64}}, ("model", "hidden_size")),
        ("char_lm", {"model": {"hidden_size": 16, "num_layers": 64}}, ("model", "num_layers")),
        ("permuted_mnist", {"training": {"batch_size": 10**6}}, ("training", "batch_size")),
        (
            "char_lm",
            {"options": {"corpus": "text8", "sequence_length": 90_000, "valid_chars": None, "test_chars": None}},
            ("task", "sequence_length"),
        ),
        ("feedforward", {"model": {"hidden_sizes": [65536] * 3}}, ("model", "hidden_sizes")),
        ("skip_thoughts", {"options": {"vocabulary": 10**9}}, ("task", "vocabulary")),
    ],
)
def test_size_that_matters_most_is_blamed_for_the_excess(
    task: str, parts: dict[str, Any], field: tuple[str, ...]
) -> None:
    spec = spec_of(task, **parts)
    found = footprint(spec)
    assert found is not None
    bound = min(4 * GIB, found.on("cpu") - 1)
    blamed = excess(spec, bound, "cpu")
    assert blamed.field == field
    assert blamed.most is not None
    part, name = field

    def total(size: int) -> int:
        options = getattr(spec, part)
        value = tuple(min(old, size) for old in options.hidden_sizes) if name == "hidden_sizes" else size
        changed = footprint(spec.model_copy(update={part: options.model_copy(update={name: value})}))
        assert changed is not None
        return changed.on("cpu")

    assert total(blamed.most) <= bound < total(blamed.most + 1)


def test_excess_names_no_size_if_nothing_fits() -> None:
    assert excess(spec_of("permuted_digits"), 1000, "cpu").most is None
    assert isinstance(excess(spec_of("permuted_digits"), 1000, "cpu"), Excess)


@pytest.mark.parametrize("name", ["fisher_geometry", "invariances", "population_statistics"])
def test_excess_of_an_analysis_without_sizes_names_its_task(name: str) -> None:
    assert excess(analysis_of(name), 1000, "cpu") == Excess(("task", "name"), None)


def test_footprint_on_a_gpu_leaves_out_python_and_torch() -> None:
    found = footprint(spec_of("permuted_mnist"))
    assert found is not None
    assert found.on("cuda") == found.weights + found.gradients + found.optimizer + found.backward + found.data
    assert found.on("cpu") - found.on("cuda") == PROCESS_BYTES
    spec = spec_of("permuted_digits", model={"hidden_size": 4096})
    needed = footprint(spec)
    assert needed is not None
    assert excess(spec, needed.on("cpu") - 1, "cpu").most == excess(spec, needed.on("cuda") - 1, "cuda").most == 4095


def test_too_many_evaluations_are_refused() -> None:
    steps = {"max_steps": 1_000_000, "eval_every": 10}
    assert spec_of("permuted_digits", training=steps).max_steps == 1_000_000
    with pytest.raises(InvalidSpec) as refused:
        spec_of("permuted_digits", training={**steps, "eval_every": 9})
    wrong = "1,000,000 updates with an evaluation every 9 are 111,111 evaluations, over 100,000; use 10 or more"
    assert refused.value.errors == [SpecError(("training", "eval_every"), wrong, "evaluations")]
