"""Footprint of a run equals hand computations, bounds what the run allocates, and blames the right size."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from normcore.footprint import PROCESS_BYTES, Excess, Footprint, excess, footprint
from normcore.kernels import cpu
from normcore.seeding import reproducible
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, TrainingSpec, resolve
from normcore.spec.cells import CELLS
from normcore.spec.tasks import BENCHMARKS
from normcore.training.loop import _prepare
from tests.normcore.kernels.cell_pass import cell_of, drawn, in_float32

CPU = torch.device("cpu")
GIB = 1 << 30


def spec_of(task: str, profile: str = "smoke", options: dict[str, Any] | None = None, **parts: Any) -> TrainingSpec:
    written = {"task": {"name": task, "profile": profile, **(options or {})}, "norm": {"method": "none"}, **parts}
    spec = resolve(written)
    assert isinstance(spec, TrainingSpec)
    return spec


def needed_by(spec: ExperimentSpec) -> Footprint:
    found = footprint(spec)
    assert found is not None
    return found


def check_blamed(spec: ExperimentSpec, field: tuple[str, ...]) -> None:
    """Check that the excess of a spec names this size, with the largest value that fits."""
    bound = min(4 * GIB, needed_by(spec).on("cpu") - 1)
    blamed = excess(spec, bound, "cpu")
    assert blamed.field == field
    assert blamed.most is not None
    part, name = field

    def total(size: int) -> int:
        options = getattr(spec, part)
        old = getattr(options, name)
        value = tuple(min(one, size) for one in old) if isinstance(old, tuple) else size
        return needed_by(spec.model_copy(update={part: options.model_copy(update={name: value})})).on("cpu")

    assert total(blamed.most) <= bound < total(blamed.most + 1)


def test_footprint_of_an_lstm_equals_the_hand_computation() -> None:
    spec = spec_of(
        "permuted_digits",
        model={"cell": "lstm", "hidden_size": 10, "first_state": "zeros", "first_cell": "zeros", "cell_bias": False},
        training={"batch_size": 32, "optimizer": {"name": "adam"}},
    )
    weights = 4 * (4 * 10 * (1 + 10) + 4 * 10 + 10 * 10 + 10)  # float32
    found = needed_by(spec)
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
    found = needed_by(spec)
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
    single, double = (needed_by(spec_of("permuted_digits", training={"precision": p})) for p in ("float32", "float64"))
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
    found = needed_by(spec)
    seen = sum(size for place, size in kept.items() if place not in weights)
    assert epoch >= (spec.task.least_examples() or 0)
    assert 0 < found.backward * len(examples) / spec.training.batch_size <= seen <= 12 * found.backward, (found, seen)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_fused_kernel_saves_the_numbers_of_a_step_that_its_cell_names(cell: str) -> None:
    steps, batch, hidden = 7, 5, 32  # a multiple of the vector width, so that nothing is padded
    built = cell_of(cell, "none", {}, inputs=3, hidden=hidden)
    built, x, start = in_float32(built, *drawn(built, steps, batch))
    saved: dict[int, int] = {}

    given = {tensor.data_ptr() for tensor in (x, *start, *built.parameters())}

    def note(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in given:
            saved[tensor.untyped_storage().data_ptr()] = tensor.numel()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        unrolled = cpu.unroll(built, x, start)
    assert unrolled.y.requires_grad
    kept = CELLS.validate({"cell": cell, "hidden_size": hidden}).kept_of_step
    assert sum(saved.values()) == kept * steps * batch * hidden


def test_batch_counts_no_more_examples_than_the_data_has() -> None:
    some, more = (needed_by(spec_of("permuted_digits", training={"batch_size": size})) for size in (1197, 10**6))
    assert some == more
    fewer = needed_by(spec_of("permuted_digits", options={"examples": 100}, training={"batch_size": 1000}))
    assert fewer.backward * 1197 == some.backward * 100


def test_data_held_in_memory_counts() -> None:
    found = needed_by(spec_of("permuted_mnist"))
    assert found.data == 16 + 60_000 * 784 + 8 + 60_000 + 16 + 10_000 * 784 + 8 + 10_000


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
    check_blamed(spec_of(task, **parts), field)


def test_excess_names_no_size_if_nothing_fits() -> None:
    assert excess(spec_of("permuted_digits"), 1000, "cpu").most is None
    assert isinstance(excess(spec_of("permuted_digits"), 1000, "cpu"), Excess)


def test_footprint_on_a_gpu_leaves_out_python_and_torch() -> None:
    found = needed_by(spec_of("permuted_mnist"))
    assert found.on("cuda") == found.weights + found.gradients + found.optimizer + found.backward + found.data
    assert found.on("cpu") - found.on("cuda") == PROCESS_BYTES
    spec = spec_of("permuted_digits", model={"hidden_size": 4096})
    needed = needed_by(spec)
    assert excess(spec, needed.on("cpu") - 1, "cpu").most == excess(spec, needed.on("cuda") - 1, "cuda").most == 4095


def test_too_many_evaluations_are_refused() -> None:
    steps = {"max_steps": 1_000_000, "eval_every": 10}
    assert spec_of("permuted_digits", training=steps).max_steps == 1_000_000
    with pytest.raises(InvalidSpec) as refused:
        spec_of("permuted_digits", training={**steps, "eval_every": 9})
    wrong = "1,000,000 updates with an evaluation every 9 are 111,111 evaluations, over 100,000; use 10 or more"
    assert refused.value.errors == [SpecError(("training", "eval_every"), wrong, "evaluations")]
