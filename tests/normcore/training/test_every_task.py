"""Every benchmark in the registry is trained with every method that fits its model.

The tests also prove without a GPU that an update never mixes devices and never waits for a GPU. In torch's fake mode
tensors have shapes and devices but no values. Reading a value raises, and so does a computation on two devices.
"""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor

from normcore import tasks
from normcore.data.registry import DATASETS
from normcore.downstream import classification
from normcore.events import Finished, Measured, Stepped
from normcore.models.build import Build
from normcore.models.words import Words
from normcore.norms import Normalization
from normcore.spec import TrainingSpec
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.tasks import BENCHMARKS
from normcore.tasks.handwriting import Batch as HandwrittenLines
from normcore.tasks.task import Resources, Task
from normcore.training import optimizers
from normcore.training.loop import train, update
from tests.normcore.training_specs import training_spec

CPU, META = torch.device("cpu"), torch.device("meta")
ALL_METRICS = {name: {metric.name for metric in task.metrics} for name, task in BENCHMARKS.items()}
STEPS = 2  # length of a fake sequence: the first step and a later one; all later steps run the same code
LONG = {"skip_thoughts": ("recurrent_batch_norm",)}  # trained with these only: a test takes hundreds of regressions


def smoke(task: str, method: str, cell: str | None = None, **training: Any) -> TrainingSpec:
    model = {"model": {"cell": cell}} if cell else {}
    written = {"task": {"name": task, "profile": "smoke"}, "norm": {"method": method}, "training": training}
    return training_spec({**written, **model})


def data_for(spec: TrainingSpec, request: pytest.FixtureRequest) -> Path | None:
    """Return the folder of the spec's data; skip the test if this machine does not have the data."""
    bundled = all(not DATASETS[need.dataset].files for need in spec.task.needs())
    return None if bundled else request.getfixturevalue("datasets_dir")


def every_task_and_method() -> list[tuple[str, str]]:
    return [
        (task, method)
        for task, options in BENCHMARKS.items()
        for method, kind in METHODS.items()
        if all(map(kind.fits, options.model.kinds().values()))
    ]


def test_more_than_one_method_fits_each_task() -> None:
    """Otherwise the tests below would test nothing."""
    fitting = every_task_and_method()
    for task in BENCHMARKS:
        assert {"none", "layer_norm", "weight_norm"} <= {method for name, method in fitting if name == task}


def divided_methods(few: Mapping[str, Sequence[str]] = {}) -> list[tuple[str, str]]:
    """Each method in each model. Tasks with the same model divide its methods among them; each task has ``none``.

    Args:
        few: tasks that get these methods only.
    """
    pairs, sharing = every_task_and_method(), defaultdict[str, list[str]](list)
    for task, options in BENCHMARKS.items():
        sharing[options.model.__name__].append(task)
    chosen = []
    for tasks_of_model in sharing.values():
        methods = [method for task, method in pairs if task == tasks_of_model[0]]
        for k, task in enumerate(tasks_of_model):
            own = methods[k :: len(tasks_of_model)]
            chosen += [(task, method) for method in few.get(task, dict.fromkeys(["none", *own]))]
    return chosen


def divided_methods_in_cells() -> list[tuple[str, str, str | None]]:
    """Each method in each cell of each model, and each task once or more with ``none``."""
    chosen: list[tuple[str, str, str | None]] = []
    known = set[tuple[str, str, str | None]]()
    for k, (task, method) in enumerate(divided_methods()):
        model = BENCHMARKS[task].model
        cells = list(CELLS) if model is RecurrentModel else [None]
        new = [cell for cell in cells if (model.__name__, method, cell) not in known]
        known |= {(model.__name__, method, cell) for cell in new}
        chosen += [(task, method, cell) for cell in new or cells[k % len(cells) :][:1]]
    return chosen


def test_each_method_is_trained_in_each_model() -> None:
    """The next test leaves out methods only for the tasks in ``LONG``."""
    models = {task: options.model.__name__ for task, options in BENCHMARKS.items()}
    fitting = {(models[task], method) for task, method in every_task_and_method()}
    assert {(models[task], method) for task, method in divided_methods()} == fitting
    missing = fitting - {(models[task], method) for task, method in divided_methods(LONG)}
    assert {model for model, _ in missing} == {models[task] for task in LONG}
    assert {task for task, _ in divided_methods(LONG)} == BENCHMARKS.keys()


@pytest.mark.usefixtures("data_are_read_once")
@pytest.mark.parametrize(("task", "method"), divided_methods(LONG))
def test_training_runs_to_its_end_with_finite_values(
    task: str, method: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classification, "STRENGTHS", (16.0,))  # each takes hundreds of regressions
    monkeypatch.setattr(classification, "FOLDS", 3)
    for name in ("EPOCHS", "MAX_ROUNDS"):
        monkeypatch.setattr(import_module("normcore.downstream.relatedness"), name, 1)
    spec = smoke(task, method)
    *events, finished = train(spec, seed=0, datasets_dir=data_for(spec, request))
    assert isinstance(finished, Finished)
    assert finished.outcome in ("completed", "reached_target")
    assert [e.step for e in events if isinstance(e, Stepped)] == list(range(1, spec.max_steps + 1))
    measured = [e for e in events if isinstance(e, Measured)]
    assert [e.step for e in measured] == list(
        range(spec.training.eval_every, spec.max_steps + 1, spec.training.eval_every)
    )
    for event in measured:
        assert {"train.loss", "train.grad_norm", "valid.loss"} <= event.values.keys()
        assert {f"valid.{name}" for name in ALL_METRICS[task]} <= event.values.keys()
        assert all(map(math.isfinite, event.values.values()))
    result = finished.result
    assert result.values.keys() == ALL_METRICS[task]
    assert all(map(math.isfinite, result.values.values()))
    assert result.value == result.values[result.metric]
    assert result.metric == BENCHMARKS[task].metrics[0].name


# -- without a GPU ---------------------------------------------------------------------------------


@cache
def real_task(name: str, datasets_dir: Path | None = None) -> Task[Any]:
    return tasks.build(smoke(name, "none").task, Resources(datasets_dir, CPU, torch.float32))


def short(batch: Any) -> Any:
    """Cut a batch of sequences after a few steps; leave images unchanged."""
    if isinstance(batch, Tensor):
        return batch[: STEPS + 1]  # text
    return dataclasses.replace(batch, pixels=batch.pixels[:, :STEPS])


def short_parts(batch: Any) -> Any:
    """Cut every text and every handwritten line of a batch after a few steps; leave all else unchanged."""
    if isinstance(batch, Words):
        lengths = enumerate(batch.lengths.tolist())
        return Words.of([batch.codes[: min(length, STEPS), k] for k, length in lengths], CPU)
    if isinstance(batch, HandwrittenLines):
        return batch._replace(points=batch.points[: STEPS + 1], lengths=batch.lengths.clamp(max=STEPS), longest=STEPS)
    return type(batch)(*map(short_parts, batch)) if hasattr(batch, "_fields") else batch


def fake(batch: Any) -> Any:
    """Make a batch of the same shapes and types; call it in fake mode and on the device meta."""
    if isinstance(batch, Tensor):
        return torch.empty(batch.shape, dtype=batch.dtype)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        return dataclasses.replace(batch, **{f.name: fake(getattr(batch, f.name)) for f in dataclasses.fields(batch)})
    return type(batch)(*map(fake, batch)) if hasattr(batch, "_fields") else batch


def update_without_values(spec: TrainingSpec, task: Task[Any], *, twice: bool) -> None:
    """Run updates of a model on the device meta, in fake mode, where tensors have no values.

    The model and the batch are made on the device. The update runs outside of that context, so a new tensor without a
    named device is on the CPU.

    Args:
        twice: whether a second update runs in any case. It runs in a model with buffers, too: the first update of some
            methods differs from later ones.
    """
    generator = torch.Generator().manual_seed(0)
    batch: Any = task.batch(task.epoch(generator, spec.training.batch_size)[0], generator)
    batch = short(batch) if isinstance(spec.model, RecurrentModel) else short_parts(batch)
    with FakeTensorMode():
        with META:
            batch = fake(batch)
            model = task.model(Build(spec.model, spec.norm, spec.training.kernel, META, torch.float32))
        left_behind = [
            n for module in model.modules() for n, value in vars(module).items() if isinstance(value, Tensor)
        ]
        assert not left_behind, "neither parameters nor buffers: they do not move to a device with their model"
        optimizer = optimizers.build(spec.training.optimizer, model.parameters())
        for _ in range(2 if twice or any(True for _ in model.buffers()) else 1):
            loss, norm = update(task, model, optimizer, spec, batch)
        for tensor in (loss.total, norm, *loss.parts.values(), *model.parameters(), *model.buffers()):
            assert isinstance(tensor, FakeTensor | nn.Parameter)
            assert tensor.device == META


@pytest.mark.usefixtures("data_are_read_once")
@pytest.mark.parametrize(("task", "method", "cell"), divided_methods_in_cells())
def test_an_update_mixes_no_devices_and_waits_for_none(
    task: str, method: str, cell: str | None, request: pytest.FixtureRequest
) -> None:
    spec = smoke(task, method, cell)
    update_without_values(spec, real_task(task, data_for(spec, request)), twice=False)


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("permuted_digits", {"norm": {"method": "layer_norm", "scope": "per_gate", "bias": "both"}}),
    ("permuted_digits", {"norm": {"method": "layer_norm", "sites": ["sum", "cell"], "affine": False}}),
    ("permuted_digits", {"norm": {"method": "recurrent_batch_norm", "population": "running"}}),
    ("permuted_digits", {"norm": {"method": "recurrent_batch_norm", "initial_state_noise": 0.1}}),
    ("permuted_digits", {"norm": {"method": "recurrent_batch_norm", "carry": "normalized", "sites": ["sum", "cell"]}}),
    ("permuted_digits", {"norm": {"method": "weight_norm", "mean_only_batch_norm": True}}),
    ("permuted_digits", {"model": {"bidirectional": True, "num_layers": 2}}),
    ("permuted_digits", {"model": {"recurrent_init": "identity"}}),
    ("permuted_digits", {"model": {"recurrent_init": "uniform"}}),
    ("feedforward", {"norm": {"method": "layer_norm", "affine": False}}),
    ("feedforward", {"norm": {"method": "batch_norm", "variance": "unbiased", "sites": ["layer", "output"]}}),
    ("feedforward", {"norm": {"method": "weight_norm", "mean_only_batch_norm": True}}),
    ("convnet", {"norm": {"method": "layer_norm", "conv_gain": "per_channel"}}),
    ("convnet", {"norm": {"method": "weight_norm", "mean_only_batch_norm": True}}),
    ("convnet", {"model": {"dropout": 0.5, "input_noise": 0.15}}),
    *(("feedforward", {"training": {"optimizer": {"name": name}, "clip_norm": 1.0}}) for name in OPTIMIZERS),
    ("feedforward", {"training": {"clip_norm": 1.0, "clip": "per_tensor"}}),
    ("permuted_digits", {"training": {"optimizer": {"momentum": 0.9}}}),
]


@pytest.mark.parametrize(("task", "written"), VARIANTS, ids=[f"{task}-{v}" for task, v in VARIANTS])
def test_update_with_other_options_mixes_no_devices_and_waits_for_none(task: str, written: dict[str, Any]) -> None:
    spec = training_spec({"task": {"name": task, "profile": "smoke"}, **written})
    update_without_values(spec, real_task(task), twice=True)


class Faulty(Method):
    """Norm of one's own with a fault."""

    takes: ClassVar[frozenset[Place]] = frozenset({"layer"})
    home: ClassVar[str] = f"{__name__}:FaultyNormalization"
    method: Literal["faulty"] = "faulty"
    fault: str


class FaultyNormalization(Normalization):
    def __init__(self, options: Faulty) -> None:
        self.fault = options.fault

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return FaultyLayer(self.fault)


class FaultyLayer(nn.Module):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        if fault == "keeps a tensor that is no buffer":
            self.scale = torch.ones(())

    def forward(self, a: Tensor) -> Tensor:
        match self.fault:
            case "waits for a value":
                return a / a.detach().abs().max().item()
            case "branches on a value":
                return a / 2 if a.abs().max() > 1 else a
            case "makes a tensor on the CPU":
                return a + torch.ones(a.shape[1])
        return a * self.scale


def update_on_cpu(spec: TrainingSpec, task: Task[Any]) -> Tensor:
    """Run an update of a model; return the norm of its gradients."""
    generator = torch.Generator().manual_seed(0)
    model = task.model(Build(spec.model, spec.norm, spec.training.kernel, CPU, torch.float32))
    optimizer = optimizers.build(spec.training.optimizer, model.parameters())
    batch = task.batch(task.epoch(generator, spec.training.batch_size)[0], generator)
    return update(task, model, optimizer, spec, batch)[1]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("waits for a value", DataDependentOutputException),
        ("branches on a value", DataDependentOutputException),
        ("makes a tensor on the CPU", RuntimeError),
        ("keeps a tensor that is no buffer", AssertionError),
    ],
)
def test_check_catches_a_norm_that_waits_or_mixes_devices(fault: str, error: type[Exception]) -> None:
    spec = smoke("feedforward", "none").model_copy(update={"norm": Faulty(fault=fault)})
    with pytest.raises(error, match=r"item|_local_scalar_dense|same device|neither parameters"):
        update_without_values(spec, real_task("feedforward"), twice=False)
    assert update_on_cpu(spec, real_task("feedforward")).isfinite(), "on one device it is a method like any other"
