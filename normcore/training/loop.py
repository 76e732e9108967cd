"""The training loop: a generator of events. Closing the generator cancels the training."""

import copy
import io
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normcore import norms, tasks
from normcore.environment import environment, usable_device
from normcore.events import Divergence, Evaluating, Event, Finished, Measured, Result, Started, Stepped, Timing
from normcore.kernels import describe_kernel
from normcore.models.build import Build
from normcore.norms.population import batch_statistics
from normcore.own_code import code_of
from normcore.seeding import (
    batch_generator,
    generator_states,
    order_generator,
    reproducible,
    set_generator_states,
)
from normcore.spec import TrainingSpec
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks import BENCHMARKS
from normcore.target import Aim, Point
from normcore.tasks.task import Loss, Resources, Task
from normcore.training import optimizers
from normcore.training.checkpoint import pack, unpack
from normcore.training.clipping import clip_, largest_entry
from normcore.training.evaluation import Evaluation, evaluate, mixed_precision, test
from normcore.training.optimizers.eager import Eager
from normcore.training.order import TrainingOrder
from normcore.training.run_clock import RunClock
from normcore.training.schedules import follow
from normcore.training.selection import Selection, selection_of, weights_of

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.float32}
WARM_UP_PASSES = {"cpu": 1, "cuda": 3}  # CUDA graphs are recorded at the third


def train(
    spec: TrainingSpec,
    seed: int,
    *,
    device: str | torch.device = "cpu",
    datasets_dir: Path | None = None,
    threads: int = 1,
    checkpoint: bytes | None = None,
) -> Iterator[Event]:
    """Train and evaluate one model; yields events in the order that ``normcore.events`` describes.

    Training stops at ``max_steps``, or at the first measurement after a loss or norm was not finite; then the outcome
    is ``diverged``. A run that goes on from a checkpoint first takes the measurement that was due, if any. On the CPU
    it repeats the uninterrupted run bit for bit.

    Args:
        seed: decides initialization, order of the data and noise.
        device: ``cpu``, ``cuda`` or ``cuda:0``.
        datasets_dir: folder of the data sets that do not come bundled.
        threads: number of torch's CPU threads. Another number sums in another order: the last bits differ.
        checkpoint: bytes from ``Stepped.checkpoint()``; None starts a new run.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data is not there, or not what it should be.
        CorruptCheckpoint: the checkpoint is damaged, or belongs to another run.
        ValueError: the spec does not fit its data, or there is no such device.
    """
    device = usable_device(device)
    with reproducible(seed, device, threads):
        run = _prepare(spec, seed, device, datasets_dir)
        if checkpoint is not None:
            _restore(run, unpack(checkpoint, spec.fingerprint(), seed))
        yield _describe_start(run, threads)
        yield from _updates(run)
        yield (yield from _finish_run(run))


@dataclass
class _Progress:
    """State of a run, without its model.

    Attributes:
        step: number of updates so far.
        sums: sums since the last measurement of the loss, its parts and the gradient's norm; on the device.
        measured: the last measurement: step, training seconds and values.
        windows: seconds for each update, mean from one measurement to the next.
        aim: the target, and the curve's progress towards it; None without a target.
        last_finite: the last finite value of each training series. Recorded on the CPU only, as reading a GPU would
            wait for it.
        broken: the first training series with a value that is not finite; None if all are finite.
        divergence: the divergence that ended the run early; None if there was none.
    """

    step: int = 0
    sums: dict[str, Tensor] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=lambda: {"step": 0, "seconds": 0.0, "values": {}})
    windows: list[float] = field(default_factory=list)
    aim: Aim | None = None
    last_finite: dict[str, float] = field(default_factory=dict)
    broken: str | None = None
    divergence: Divergence | None = None


@dataclass(frozen=True)
class _TrainingRun:
    """Training run: its spec, task, model, optimizer, and state."""

    spec: TrainingSpec
    seed: int
    device: torch.device
    task: Task[Any]
    model: nn.Module
    optimizer: Optimizer
    order: TrainingOrder
    draws: torch.Generator
    selection: Selection
    clock: RunClock
    progress: _Progress


def _prepare(spec: TrainingSpec, seed: int, device: torch.device, datasets_dir: Path | None) -> _TrainingRun:
    clock = RunClock(device)
    clock.start("data")
    task = _task(spec, device, datasets_dir)
    clock.stop_when_done()
    clock.start("compile")
    model = _model(spec, task, device)
    if spec.norm.initializes_from_data:
        initialized = norms.build(spec.norm).initialize_in_first_pass(model)
        with torch.no_grad(), batch_statistics(model), initialized:  # there are no population statistics yet
            task.observe(model.eval(), next(task.population()))
    optimizer = optimizers.build(spec.training.optimizer, model.parameters())
    clock.stop_when_done()
    draw = partial(task.epoch, batch_size=spec.training.batch_size)
    return _TrainingRun(
        spec=spec,
        seed=seed,
        device=device,
        task=task,
        model=model,
        optimizer=optimizer,
        order=TrainingOrder(draw, order_generator(seed)),
        draws=batch_generator(seed),
        selection=selection_of(spec),
        clock=clock,
        progress=_Progress(aim=_aim(spec)),
    )


def _aim(spec: TrainingSpec) -> Aim | None:
    target = spec.training.target
    return None if target is None else Aim(target, spec.task.metric().direction)


def task_and_model(spec: TrainingSpec, device: torch.device, datasets_dir: Path | None) -> tuple[Task[Any], nn.Module]:
    """Build a spec's task with its data, and a new model with weights from torch's global random generator.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data is not there, or not what it should be.
        ValueError: the spec does not fit its data.
    """
    task = _task(spec, device, datasets_dir)
    return task, _model(spec, task, device)


def _task(spec: TrainingSpec, device: torch.device, datasets_dir: Path | None) -> Task[Any]:
    return tasks.build(spec.task, Resources(datasets_dir, device, DTYPES[spec.training.precision]))


def _model(spec: TrainingSpec, task: Task[Any], device: torch.device) -> nn.Module:
    dtype = DTYPES[spec.training.precision]
    return task.model(Build(spec.model, spec.norm, spec.training.kernel, device, dtype)).to(device, dtype)


def _updates(run: _TrainingRun) -> Iterator[Event]:
    """Do all remaining updates and measurements; yields their events. The clock stands still at each yield."""
    progress = run.progress
    _warm_up(run)
    run.clock.start("training")
    while True:
        if _measurement_is_due(run):
            measured = yield from _measure(run)
            if measured is None:
                return
            yield measured
            run.clock.start("training")
        if progress.step == run.spec.training.max_steps:
            return
        _update(run)
        yield Stepped(progress.step, run.clock.stop(), partial(_checkpoint, run, progress.step))
        run.clock.start("training")


def _warm_up(run: _TrainingRun) -> None:
    """Run forward and backward passes over the next batch, and restore the model and the random generators afterwards.

    First-use work (compiling, recording CUDA graphs, allocating) is then done, and does not count as an update's time.
    """
    run.clock.start("warm_up")
    state, generators = copy.deepcopy(run.model.state_dict()), generator_states(run.device)
    batch = run.task.batch(run.order.peek(), torch.Generator())
    for _ in range(WARM_UP_PASSES[run.device.type]):
        _backward(run.task, run.model, run.spec, batch)
    run.model.load_state_dict(state)
    set_generator_states(generators, run.device)
    run.clock.stop_when_done()


def _measurement_is_due(run: _TrainingRun) -> bool:
    step = run.progress.step
    return step > 0 and (step % run.spec.training.eval_every == 0 or step == run.spec.training.max_steps)


def _update(run: _TrainingRun) -> None:
    """Do one update of the weights; this function does not wait for the device."""
    with run.clock.count_to("data"):
        batch = run.task.batch(run.order.next_batch(), run.draws)
    follow(run.spec.training, run.optimizer, run.progress.step)
    loss, grad_norm = update(run.task, run.model, run.optimizer, run.spec, batch)
    _add(run.progress, {"loss": loss.total, **loss.parts, "grad_norm": grad_norm})
    run.progress.step += 1


def update(
    task: Task[Any], model: nn.Module, optimizer: Optimizer, spec: TrainingSpec, batch: Any
) -> tuple[Loss, Tensor]:
    """Update the model once on a batch; returns the loss, and the gradient's norm before clipping."""
    optimizer.zero_grad(set_to_none=True)
    loss = _backward(task, model, spec, batch)
    grad_norm = clip_(model, spec.training)
    if isinstance(optimizer, Eager):
        optimizer.largest = largest_entry(spec.training, grad_norm)
    optimizer.step()
    return loss, grad_norm


def _backward(task: Task[Any], model: nn.Module, spec: TrainingSpec, batch: Any) -> Loss:
    model.train()
    with mixed_precision(spec, next(model.parameters()).device):
        loss = task.loss(model, batch)
    loss.total.backward()  # type: ignore[no-untyped-call]
    return loss


def _add(progress: _Progress, values: Mapping[str, Tensor]) -> None:
    sums = progress.sums
    for name, value in values.items():
        if name not in sums:
            sums[name] = torch.zeros((), dtype=torch.float64, device=value.device)
        sums[name] += value.detach()
        if value.is_cpu and progress.broken is None:
            number = value.item()
            if math.isfinite(number):
                progress.last_finite[f"train.{name}"] = number
            else:
                progress.broken = f"train.{name}"


def _measure(run: _TrainingRun) -> Generator[Event, None, Measured | None]:
    """Evaluate the model, and pass it to the selection rule. Stops the clock.

    Returns:
        The measurement; None if a value is not finite: then the run has diverged.
    """
    progress = run.progress
    seconds = run.clock.stop_when_done()
    run.clock.start("evaluation")
    updates = progress.step - progress.measured["step"]
    values = {f"train.{name}": total.item() / updates for name, total in progress.sums.items()}
    tested = run.selection.tests_at(progress.step)
    values |= yield from _yield_phases(run, evaluate(run.task, run.model, run.spec, run.device, tested=tested))
    progress.divergence = _divergence(progress, values)
    if progress.divergence is not None:
        return None
    run.selection.consider(progress.step, values, run.model)
    run.clock.stop_when_done()
    progress.windows.append((seconds - progress.measured["seconds"]) / updates)
    if progress.aim is not None:
        progress.aim.note(Point(progress.step, values[f"valid.{run.spec.task.metric().name}"], seconds))
    progress.measured = {"step": progress.step, "seconds": seconds, "values": values}
    for total in progress.sums.values():
        total.zero_()
    return Measured(progress.step, seconds, values)


def _divergence(progress: _Progress, values: Mapping[str, float]) -> Divergence | None:
    broken = progress.broken or _not_finite(values)
    if broken is None:
        return None
    return Divergence(broken, progress.step, {**progress.measured["values"], **progress.last_finite})


def _not_finite(values: Mapping[str, float]) -> str | None:
    return next((name for name, value in values.items() if not math.isfinite(value)), None)


def _yield_phases(run: _TrainingRun, evaluation: Evaluation) -> Generator[Event, None, dict[str, float]]:
    """Yield the phases of an evaluation as events, with the clock stopped at each yield; returns its values."""
    while True:
        try:
            phase = next(evaluation)
        except StopIteration as end:
            values: dict[str, float] = end.value
            return values
        yield Evaluating(run.progress.step, run.clock.stop(), phase)
        run.clock.start("evaluation")


def _describe_start(run: _TrainingRun, threads: int) -> Started:
    kernel, kernels = describe_kernel(run.model, run.device)
    return Started(
        step=run.progress.step,
        max_steps=run.spec.training.max_steps,
        kernel=kernel,
        parameters=sum(p.numel() for p in run.model.parameters()),
        environment={
            **environment(run.device, threads, kernels=kernels),
            "code": code_of(run.spec),
            "method": METHODS.origin(run.spec.norm.method),
            "task": BENCHMARKS.origin(run.spec.task.name),
            "cell": CELLS.origin(run.spec.model.cell) if isinstance(run.spec.model, RecurrentModel) else None,
            "data": dict(run.task.checksums),
        },
    )


def _finish_run(run: _TrainingRun) -> Generator[Event, None, Finished]:
    """Test the selected model; returns the final event. Stops the clock."""
    progress, metric = run.progress, run.spec.task.metric().name
    run.clock.start("evaluation")
    selected = run.selection.find_selected()
    values: Mapping[str, float] = {}
    if selected is not None:
        if selected.weights is not None:
            run.model.load_state_dict(selected.weights)
        values = selected.test or (yield from _yield_phases(run, test(run.task, run.model, run.spec, run.device)))
    seconds = run.clock.stop_when_done()
    tested = bool(values) and all(map(math.isfinite, values.values()))
    divergence = progress.divergence or _of_the_test(progress, values)
    time = progress.aim.time if progress.aim else None
    return Finished(
        outcome="diverged" if divergence or not tested else "reached_target" if time and time.reached else "completed",
        result=Result(
            metric=metric,
            values=dict(values) if tested else {},
            value=values[metric] if tested else None,
            valid_value=selected.valid[metric] if selected else None,
            no_skill=run.task.no_skill,
            step=selected.step if selected else None,
            steps_to_target=time.steps if time and time.reached else None,
            seconds_to_target=time.seconds if time and time.reached else None,
            steps_below_target=time.steps if time and not time.reached else None,
            seconds_below_target=time.seconds if time and not time.reached else None,
            train_seconds=seconds,
            divergence=divergence,
        ),
        timing=_timing(run),
        model=partial(_model_bytes, run),
        artifacts=run.task.artifacts(run.model) if tested else {},
    )


def _of_the_test(progress: _Progress, values: Mapping[str, float]) -> Divergence | None:
    """Divergence of a test: the first test value that is not finite; None if all are finite."""
    broken = _not_finite(values)
    return None if broken is None else Divergence(f"test.{broken}", progress.step, progress.measured["values"])


def _timing(run: _TrainingRun) -> Timing:
    spent = run.clock.spent
    return Timing(
        compile=spent["compile"],
        data=spent["data"],
        warm_up=spent["warm_up"],
        training=spent["training"],
        evaluation=spent["evaluation"],
        windows=tuple(run.progress.windows),
    )


def _model_bytes(run: _TrainingRun) -> bytes:
    buffer = io.BytesIO()
    content = {"spec": run.spec.model_dump_json(), "seed": run.seed, "state_dict": weights_of(run.model)}
    torch.save(content, buffer)
    return buffer.getvalue()


def _checkpoint(run: _TrainingRun, step: int) -> bytes:
    """Checkpoint of the run after update number ``step``, as bytes.

    Raises:
        RuntimeError: the run has gone on since that update.
    """
    progress = run.progress
    if progress.step != step or progress.measured["step"] == step:
        raise RuntimeError(f"the run has gone on from step {step}; call checkpoint() before asking for the next event")
    state = {
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "order": run.order.state_dict(),
        "draws": run.draws.get_state(),
        "generators": generator_states(run.device),
        "selection": run.selection.state_dict(),
        "spent": run.clock.spent,
        "windows": progress.windows,
        "step": step,
        "sums": progress.sums,
        "measured": progress.measured,
        "aim": progress.aim and asdict(progress.aim),
        "last_finite": progress.last_finite,
        "broken": progress.broken,
    }
    return pack(state, run.spec.fingerprint(), run.seed)


def _restore(run: _TrainingRun, state: dict[str, Any]) -> None:
    """Load the state of a checkpoint into a new run."""
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.order.load_state_dict(state["order"])
    run.draws.set_state(state["draws"])
    set_generator_states(state["generators"], run.device)
    run.selection.load_state_dict(state["selection"])
    run.clock.add(state["spent"])
    progress = run.progress
    progress.step = state["step"]
    progress.sums = {name: total.to(run.device) for name, total in state["sums"].items()}
    progress.measured = state["measured"]
    progress.windows = state["windows"]
    progress.aim = state["aim"] and Aim(**state["aim"])
    progress.last_finite = state.get("last_finite", {})
    progress.broken = state.get("broken")
