"""The training loop: a generator of events. Closing it is cancellation."""

import io
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm
from torch.optim import Optimizer

from normcore import optimizers, tasks
from normcore.checkpoint import pack, unpack
from normcore.clock import Clock
from normcore.data.order import TrainingOrder
from normcore.environment import environment, usable_device
from normcore.events import Event, Finished, Measured, Outcome, Result, Started, Stepped
from normcore.models.assembly import recurrent_of
from normcore.norms.population import batch_statistics, population_statistics, wants_population
from normcore.recurrent import Recurrent
from normcore.seeding import generator_states, order_generator, reproducible, set_generator_states
from normcore.spec import TrainingSpec
from normcore.spec.methods import origin
from normcore.tasks.task import Task

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.float32}


def train(
    spec: TrainingSpec,
    seed: int,
    *,
    device: str | torch.device = "cpu",
    datasets_dir: Path | None = None,
    threads: int = 1,
    checkpoint: bytes | None = None,
) -> Iterator[Event]:
    """Train and evaluate one model, telling what happens.

    The order of events is that of ``normcore.events``. Training goes on to ``max_steps`` unless a loss or norm is no
    longer finite, which is noticed at the next measurement and ends the run as ``diverged``. A run that goes on from
    a checkpoint measures first what was due when it was taken, and on the CPU repeats the uninterrupted run bit for
    bit.

    Args:
        seed: decides initialization, order of the data and noise.
        device: ``cpu``, ``cuda`` or ``cuda:0``.
        datasets_dir: where data sets live that do not come bundled.
        threads: of torch's operations on the CPU. Two sum in another order than one, and the last bits differ.
        checkpoint: what ``Stepped.checkpoint()`` gave.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data is not at hand.
        CorruptCheckpoint: the checkpoint is torn, or another run's.
        ValueError: the spec does not go with its data, or there is no such device.
    """
    device = usable_device(device)
    with reproducible(seed, device, threads):
        run = _prepare(spec, seed, device, datasets_dir)
        if checkpoint is not None:
            _restore(run, unpack(checkpoint, spec.fingerprint(), seed))
        yield _started(run, threads)
        yield from _updates(run)
        yield _finished(run)


@dataclass
class _Best:
    """The selected model: the first with the best validation score."""

    score: float
    valid_value: float
    step: int
    weights: dict[str, Tensor]


@dataclass
class _Progress:
    """What a run has come to, besides its model.

    Attributes:
        loss, grad_norm: sums over the updates since the last measurement, on the device.
        measured: the last measurement, its step and seconds.
        target_hit: the step and the seconds of the first measurement that reached the target.
    """

    loss: Tensor
    grad_norm: Tensor
    step: int = 0
    measured: dict[str, Any] = field(default_factory=lambda: {"step": 0, "seconds": 0.0, "values": {}})
    target_hit: tuple[int, float] | None = None
    best: _Best | None = None
    diverged: bool = False


@dataclass(frozen=True)
class _Run:
    """All parts of one training run."""

    spec: TrainingSpec
    seed: int
    device: torch.device
    task: Task
    model: nn.Module
    optimizer: Optimizer
    order: TrainingOrder
    clock: Clock
    progress: _Progress


def _prepare(spec: TrainingSpec, seed: int, device: torch.device, datasets_dir: Path | None) -> _Run:
    dtype = DTYPES[spec.training.precision]
    task = tasks.build(spec.task, datasets_dir, device, dtype)
    model = task.model(recurrent_of(spec.model, spec.norm, spec.training.kernel)).to(device, dtype)
    zero = partial(torch.zeros, (), dtype=torch.float64, device=device)
    return _Run(
        spec=spec,
        seed=seed,
        device=device,
        task=task,
        model=model,
        optimizer=optimizers.build(spec.training.optimizer, model.parameters()),
        order=TrainingOrder(task.epoch, spec.training.batch_size, order_generator(seed)),
        clock=Clock(device),
        progress=_Progress(loss=zero(), grad_norm=zero()),
    )


def _updates(run: _Run) -> Iterator[Event]:
    """All updates and measurements that are still to come; the clock runs outside the yields."""
    progress = run.progress
    run.clock.start()
    while True:
        if _measurement_is_due(run):
            measured = _measure(run)
            if measured is None:
                progress.diverged = True
                return
            yield measured
            run.clock.start()
        if progress.step == run.spec.training.max_steps:
            return
        _update(run)
        yield Stepped(progress.step, run.clock.stop(), partial(_checkpoint, run, progress.step))
        run.clock.start()


def _measurement_is_due(run: _Run) -> bool:
    step = run.progress.step
    return step > 0 and (step % run.spec.training.eval_every == 0 or step == run.spec.training.max_steps)


def _update(run: _Run) -> None:
    """One step of the optimizer; nothing here waits for the device."""
    run.model.train()
    run.optimizer.zero_grad(set_to_none=True)
    with _mixed_precision(run):
        loss = run.task.loss(run.model, run.order.next_batch())
    loss.backward()  # type: ignore[no-untyped-call]
    run.progress.loss += loss.detach()
    run.progress.grad_norm += _clip(run.model, run.spec.training.clip_norm)
    run.optimizer.step()
    run.progress.step += 1


def _mixed_precision(run: _Run) -> AbstractContextManager[object]:
    return torch.autocast(run.device.type, torch.bfloat16, enabled=run.spec.training.precision == "bfloat16")


def _clip(model: nn.Module, clip_norm: float | None) -> Tensor:
    """Scale all gradients to a global norm of at most ``clip_norm``; gives the norm before.

    Torch adds 1e-6 to the norm that it divides by, which Blocks' StepClipping does not.
    """
    if clip_norm is None:
        return get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    return clip_grad_norm_(model.parameters(), clip_norm)


def _measure(run: _Run) -> Measured | None:
    """Evaluate on validation data and select the model; None if anything is not finite. Stops the clock."""
    progress = run.progress
    updates = progress.step - progress.measured["step"]
    values = {
        "train.loss": progress.loss.item() / updates,
        "train.grad_norm": progress.grad_norm.item() / updates,
    }
    run.model.eval()
    with torch.no_grad(), _mixed_precision(run), batch_statistics(run.model):
        values |= {f"valid.{name}": value for name, value in run.task.validate(run.model).items()}
    if not all(map(math.isfinite, values.values())):
        return None
    _select(run, values)
    seconds = run.clock.stop_when_done()
    _note_target(run, values, seconds)
    progress.measured = {"step": progress.step, "seconds": seconds, "values": values}
    progress.loss.zero_()
    progress.grad_norm.zero_()
    return Measured(progress.step, seconds, values)


def _select(run: _Run, values: dict[str, float]) -> None:
    """Keep the weights if they are the best so far by the task's rule."""
    task, best = run.spec.task, run.progress.best
    score = values[f"valid.{task.selection.name}"]
    if best is None or task.selection.is_better(score, than=best.score):
        run.progress.best = _Best(score, values[f"valid.{task.metric.name}"], run.progress.step, _weights(run.model))


def _note_target(run: _Run, values: dict[str, float], seconds: float) -> None:
    metric, target = run.spec.task.metric, run.spec.training.target
    if (
        target is not None
        and run.progress.target_hit is None
        and metric.reaches(values[f"valid.{metric.name}"], target)
    ):
        run.progress.target_hit = (run.progress.step, seconds)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _started(run: _Run, threads: int) -> Started:
    kernels = {module.kernel for module in run.model.modules() if isinstance(module, Recurrent)}
    return Started(
        step=run.progress.step,
        max_steps=run.spec.training.max_steps,
        kernel=" ".join(sorted(kernels)),
        parameters=sum(p.numel() for p in run.model.parameters()),
        environment={
            **environment(run.device, threads),
            "method": origin(run.spec.norm.method),
            "data": dict(run.task.checksums),
        },
    )


def _finished(run: _Run) -> Finished:
    """Test the selected model with population statistics. Stops the clock."""
    best, progress = run.progress.best, run.progress
    value = _test(run, best) if best else None
    return Finished(
        outcome=_outcome(progress, value),
        result=Result(
            metric=run.spec.task.metric.name,
            value=value,
            valid_value=best.valid_value if best else None,
            step=best.step if best else None,
            steps_to_target=progress.target_hit[0] if progress.target_hit else None,
            seconds_to_target=progress.target_hit[1] if progress.target_hit else None,
            train_seconds=run.clock.stop_when_done(),
        ),
        model=partial(_model_bytes, run),
    )


def _outcome(progress: _Progress, value: float | None) -> Outcome:
    if progress.diverged or value is None:
        return "diverged"
    return "reached_target" if progress.target_hit else "completed"


def _test(run: _Run, best: _Best) -> float | None:
    """The test metric of the selected model, whose statistics come from one more pass over the training data.

    None if it is not finite.
    """
    run.model.load_state_dict(best.weights)
    run.model.eval()
    with torch.no_grad(), _mixed_precision(run):
        if wants_population(run.model):
            with population_statistics(run.model):
                for inputs in run.task.population():
                    run.model(inputs)
        value = run.task.test(run.model)
    return value if math.isfinite(value) else None


def _model_bytes(run: _Run) -> bytes:
    buffer = io.BytesIO()
    content = {"spec": run.spec.model_dump_json(), "seed": run.seed, "state_dict": _weights(run.model)}
    torch.save(content, buffer)
    return buffer.getvalue()


def _checkpoint(run: _Run, step: int) -> bytes:
    """The run's state after update ``step``.

    Raises:
        RuntimeError: the run has gone on since.
    """
    progress = run.progress
    if progress.step != step or progress.measured["step"] == step:
        raise RuntimeError(f"the run has gone on from step {step}; call checkpoint() before asking for the next event")
    state = {
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "order": run.order.state_dict(),
        "generators": generator_states(run.device),
        "seconds": run.clock.seconds,
        "step": step,
        "loss": progress.loss,
        "grad_norm": progress.grad_norm,
        "measured": progress.measured,
        "target_hit": progress.target_hit,
        "best": None if progress.best is None else vars(progress.best),
    }
    return pack(state, run.spec.fingerprint(), run.seed)


def _restore(run: _Run, state: dict[str, Any]) -> None:
    """Put every part of a fresh run into the state of a checkpoint."""
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.order.load_state_dict(state["order"])
    set_generator_states(state["generators"], run.device)
    run.clock.set(state["seconds"])
    progress = run.progress
    progress.step = state["step"]
    progress.loss.copy_(state["loss"])
    progress.grad_norm.copy_(state["grad_norm"])
    progress.measured = state["measured"]
    progress.target_hit = state["target_hit"]
    progress.best = None if state["best"] is None else _Best(**state["best"])
