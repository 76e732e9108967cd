"""The loop emits its events in order, and a resumed run equals an uninterrupted run."""

import io
import itertools
import math
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from normcore import tasks
from normcore.events import Evaluating, Event, Finished, Measured, Started, Stepped
from normcore.kernels.cpu.load import instruction_set
from normcore.spec import TrainingSpec
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.tasks.pixel_sequences import PixelSequences
from normcore.tasks.task import Loss
from normcore.training import loop
from normcore.training.checkpoint import CorruptCheckpoint
from normcore.training.loop import train
from tests.normcore.kernels.cell_pass import FUSED
from tests.normcore.training_specs import training_spec

RECURRENT = [name for name, method in METHODS.items() if any(map(method.fits, CELLS.values()))]

STEPS, EVERY = 7, 3
THIS = Path(__file__)  # language models are trained on this text here


def tiny(task: str = "permuted_digits", norm: dict[str, Any] | None = None, **training: Any) -> TrainingSpec:
    sizes = {"batch_size": 8, "max_steps": STEPS, "eval_every": EVERY}
    text = {"corpus": "file", "file": THIS.name} if task == "char_lm" else {}
    return training_spec(
        {
            "task": {"name": task, "profile": "smoke", **text},
            "model": {"hidden_size": 4},
            "norm": norm or {"method": "none"},
            "training": {**sizes, **training},
        }
    )


def run(spec: TrainingSpec, seed: int = 0, checkpoint: bytes | None = None) -> list[Event]:
    return list(train(spec, seed, threads=1, datasets_dir=THIS.parent, checkpoint=checkpoint))


def run_keeping(spec: TrainingSpec, *steps: int) -> tuple[list[Event], list[bytes]]:
    """Run a spec; return all events, and the checkpoints at ``steps``."""
    events, kept = [], []
    for event in train(spec, 0, threads=1, datasets_dir=THIS.parent):
        events.append(event)
        if isinstance(event, Stepped) and event.step in steps:
            kept.append(event.checkpoint())
    return events, kept


def told(events: list[Event]) -> list[Any]:
    """Content of the events without seconds."""
    said: list[Any] = []
    for event in events:
        if isinstance(event, Measured):
            said.append(("measured", event.step, dict(event.values)))
        elif isinstance(event, Stepped):
            said.append(("stepped", event.step))
        elif isinstance(event, Finished):
            result = event.result
            said.append((event.outcome, result.metric, result.value, result.valid_value, result.step))
            said.append((result.steps_to_target, dict(result.values), result.no_skill, weights_of(event)))
    return said


def weights_of(event: Finished) -> dict[str, Any]:
    saved = torch.load(io.BytesIO(event.model()), weights_only=True)
    return {name: value.tolist() for name, value in saved["state_dict"].items()}


def measured(events: list[Event]) -> list[Measured]:
    return [event for event in events if isinstance(event, Measured)]


def finished(events: list[Event]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


def test_events_come_in_order() -> None:
    kinds = [(type(event).__name__, getattr(event, "step", None)) for event in run(tiny())]
    assert kinds == [
        ("Started", 0),
        *(("Stepped", 1), ("Stepped", 2), ("Stepped", 3), ("Evaluating", 3), ("Measured", 3)),
        *(("Stepped", 4), ("Stepped", 5), ("Stepped", 6), ("Evaluating", 6), ("Measured", 6)),
        *(("Stepped", 7), ("Evaluating", 7), ("Measured", 7), ("Evaluating", 7)),
        ("Finished", None),
    ]


def test_started_event_has_kernel_parameters_and_environment() -> None:
    started = run(tiny(max_steps=1))[0]
    assert isinstance(started, Started)
    assert (started.step, started.max_steps, started.kernel) == (0, 1, "fused")
    assert started.parameters == 4 * 4 * (1 + 4 + 1) + 3 * 4 + 4 * 10 + 10
    assert started.environment["threads"] == 1
    assert started.environment["kernels"].split(", g++ ") == [instruction_set(), compiler_version()]
    assert len(started.environment["data"]["digits"]) == 64


def test_started_event_has_no_kernels_where_the_reference_runs() -> None:
    started = run(tiny(kernel="reference", max_steps=1))[0]
    assert isinstance(started, Started)
    assert (started.kernel, started.environment["kernels"]) == ("reference", None)


def compiler_version() -> str:
    asked = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def test_series_have_the_names_of_the_task() -> None:
    assert set(measured(run(tiny()))[0].values) == {"train.loss", "train.grad_norm", "valid.loss", "valid.accuracy"}
    language = {"train.loss", "train.grad_norm", "valid.loss", "valid.accuracy", "valid.bits_per_char"}
    assert set(measured(run(tiny("char_lm")))[0].values) == language


def test_train_series_are_means_over_the_updates_since_the_last_measurement() -> None:
    each = [event.values for event in measured(run(tiny(eval_every=1)))]
    groups = [each[:3], each[3:6], each[6:]]
    for event, group in zip(measured(run(tiny())), groups, strict=True):
        for series in ("train.loss", "train.grad_norm"):
            assert event.values[series] == pytest.approx(sum(v[series] for v in group) / len(group), rel=1e-12)


def test_gradient_norm_is_measured_before_clipping() -> None:
    free, clipped = (measured(run(tiny(max_steps=1, clip_norm=c)))[0].values for c in (None, 1e-3))
    assert free["train.grad_norm"] == pytest.approx(clipped["train.grad_norm"], rel=1e-6)
    assert free["train.grad_norm"] > 1e-2


@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_gradient_whose_square_overflows_is_clipped_and_measured(kernel: str) -> None:
    """Layer norm with this small eps multiplies the gradient at every blank pixel at the start of an image."""
    spec = training_spec(
        {
            "task": {"name": "sequential_digits", "profile": "smoke"},
            "norm": {"method": "layer_norm", "eps": 1e-8},
            "training": {"kernel": kernel, "max_steps": 4, "eval_every": 2},
        }
    )
    events = run(spec)
    assert finished(events).outcome == "completed"
    assert 1e20 < measured(events)[0].values["train.grad_norm"] < math.inf


def test_clipping_bounds_the_step() -> None:
    """Adam with a large eps moves by lr g / eps."""
    adam = {"name": "adam", "lr": 1.0, "eps": 1e6, "beta1": 0.0, "beta2": 0.0}
    before = run(tiny(max_steps=1, optimizer={**adam, "lr": 1e-30}))
    after = run(tiny(max_steps=1, optimizer=adam, clip_norm=1e-3, precision="float64"))
    start, end = (
        torch.cat([torch.tensor(w).flatten() for w in weights_of(finished(e)).values()]) for e in (before, after)
    )
    assert (end - start).norm().item() * 1e6 == pytest.approx(1e-3, rel=0.2)


def test_the_same_seed_gives_the_same_numbers() -> None:
    spec = tiny(norm={"method": "recurrent_batch_norm", "initial_state_noise": 0.1})
    first = run(spec)
    torch.rand(5)
    assert told(run(spec)) == told(first)
    assert told(run(spec, seed=1)) != told(first)


CASES: list[tuple[str, dict[str, Any]]] = [
    *(("permuted_digits", {"method": method}) for method in RECURRENT),
    ("char_lm", {"method": "recurrent_batch_norm"}),
    ("sequential_digits", {"method": "recurrent_batch_norm", "initial_state_noise": 0.5}),
]


@pytest.mark.parametrize(("task", "norm"), CASES, ids=[f"{task}-{norm['method']}" for task, norm in CASES])
def test_a_resumed_run_repeats_the_rest_bit_for_bit(task: str, norm: dict[str, Any]) -> None:
    """Step 2 is inside an evaluation interval, at step 3 a measurement is due next, and step 7 is the last update."""
    spec = tiny(task, norm, target=0.05 if task != "char_lm" else 7.0)
    steps = [2, EVERY, STEPS]
    whole, kept = run_keeping(spec, *steps)
    assert isinstance(whole[0], Started)
    assert whole[0].kernel == ("fused" if spec.norm.method in FUSED else "reference")
    for step, checkpoint in zip(steps, kept, strict=True):
        rest = run(spec, checkpoint=checkpoint)
        assert isinstance(rest[0], Started)
        assert (rest[0].step, rest[0].kernel) == (step, whole[0].kernel)
        place = next(i for i, event in enumerate(whole) if isinstance(event, Stepped) and event.step == step)
        assert told(rest) == told(whole[place + 1 :])


@pytest.mark.parametrize("method", RECURRENT)
def test_mixed_precision_stays_near_float32_and_keeps_float32_weights(method: str) -> None:
    losses = {}
    for precision in ("float32", "bfloat16"):
        events = run(tiny(norm={"method": method}, precision=precision))
        losses[precision] = [e.values["train.loss"] for e in events if isinstance(e, Measured)]
        saved = torch.load(io.BytesIO(finished(events).model()), weights_only=True)["state_dict"]
        assert {value.dtype for value in saved.values()} == {torch.float32}
    assert losses["bfloat16"] != losses["float32"]
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.1)


def test_run_is_resumed_twice_and_in_a_later_epoch() -> None:
    spec = tiny(batch_size=400, max_steps=8, eval_every=4)
    whole, _ = run_keeping(spec, 1)
    kept: bytes | None = None
    for stop in (2, 5, 7):
        for event in train(spec, 0, threads=1, checkpoint=kept):
            if isinstance(event, Stepped) and event.step == stop:
                kept = event.checkpoint()
                break
    assert told(run(spec, checkpoint=kept))[-3:] == told(whole)[-3:]


def test_training_seconds_continue_from_a_checkpoint() -> None:
    spec = tiny()
    whole, [kept] = run_keeping(spec, 5)
    at_checkpoint = next(e.seconds for e in whole if isinstance(e, Stepped) and e.step == 5)
    first = next(e for e in run(spec, checkpoint=kept) if isinstance(e, Stepped))
    assert at_checkpoint < first.seconds < at_checkpoint + 5


def test_result_has_all_metrics_of_the_task_on_the_test_data() -> None:
    pixels, language = (finished(run(tiny(task))).result for task in ("permuted_digits", "char_lm"))
    assert (pixels.metric, set(pixels.values), pixels.no_skill) == ("accuracy", {"accuracy"}, 0.1)
    assert (language.metric, set(language.values)) == ("bits_per_char", {"bits_per_char", "accuracy"})
    assert language.no_skill == math.log2(len(set(THIS.read_text(encoding="utf-8"))))
    assert pixels.value == pixels.values["accuracy"]
    assert language.value == language.values["bits_per_char"]


def test_language_model_is_selected_by_accuracy_and_ranked_by_bits() -> None:
    events = run(tiny("char_lm", max_steps=9, eval_every=1))
    result, accuracies = finished(events).result, [event.values["valid.accuracy"] for event in measured(events)]
    best = measured(events)[accuracies.index(max(accuracies))]
    assert (result.step, result.valid_value) == (best.step, best.values["valid.bits_per_char"])


def test_a_target_reached_before_the_checkpoint_stays_reached() -> None:
    spec = tiny(target=0.0)
    whole, [kept] = run_keeping(spec, 5)
    result = finished(run(spec, checkpoint=kept)).result
    assert result.steps_to_target == EVERY
    assert result.seconds_to_target == finished(whole).result.seconds_to_target


def test_a_checkpoint_of_another_run_is_refused() -> None:
    _, [kept] = run_keeping(tiny(), 2)
    with pytest.raises(CorruptCheckpoint, match="seed 0"):
        run(tiny(), seed=1, checkpoint=kept)
    with pytest.raises(CorruptCheckpoint, match="fingerprint"):
        run(tiny(max_steps=8), checkpoint=kept)
    with pytest.raises(CorruptCheckpoint, match="damaged"):
        run(tiny(), checkpoint=kept[:-10])


def test_checkpoint_is_refused_after_the_run_has_gone_on() -> None:
    events = train(tiny(), 0, threads=1)
    stepped = [event for event in (next(events) for _ in range(3)) if isinstance(event, Stepped)]
    with pytest.raises(RuntimeError, match="gone on from step 1"):
        stepped[0].checkpoint()
    assert isinstance(events, Generator)
    events.close()


def script_accuracy(monkeypatch: pytest.MonkeyPatch, *accuracies: float) -> None:
    """Make validation return these accuracies, one after the other."""
    found = iter(accuracies)
    monkeypatch.setattr(PixelSequences, "validate", lambda *_: {"loss": 1.0, "accuracy": next(found)})


def test_the_first_of_the_best_models_on_validation_data_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    script_accuracy(monkeypatch, 0.3, 0.5, 0.5, 0.2)
    longer = finished(run(tiny(max_steps=4, eval_every=1)))
    assert (longer.result.step, longer.result.valid_value) == (2, 0.5)
    script_accuracy(monkeypatch, 0.5)
    shorter = finished(run(tiny(max_steps=2, eval_every=2)))
    assert weights_of(longer) == weights_of(shorter)
    assert longer.result.value == shorter.result.value


def test_target_is_reached_at_the_first_of_two_evaluations_that_hold_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script_accuracy(monkeypatch, 0.3, 0.6, 0.4, 0.6, 0.7)
    events = run(tiny(max_steps=5, eval_every=1, target=0.5))
    result = finished(events).result
    assert result.steps_to_target == pytest.approx(3.5), "0.6 at update 2 was an accident"
    assert result.step == 5
    before, at = (measured(events)[k].seconds for k in (2, 3))
    assert result.seconds_to_target == pytest.approx((before + at) / 2)
    assert result.steps_below_target is result.seconds_below_target is None


def test_missed_target_gives_the_last_evaluation_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    script_accuracy(monkeypatch, 0.6, 0.3, 0.4, 0.6)
    events = run(tiny(max_steps=4, eval_every=1, target=0.5))
    result = finished(events).result
    assert (finished(events).outcome, result.steps_to_target, result.seconds_to_target) == ("completed", None, None)
    assert (result.steps_below_target, result.seconds_below_target) == (3, measured(events)[2].seconds)


def test_target_is_held_by_evaluations_before_and_after_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny(max_steps=4, eval_every=1, target=0.5)
    script_accuracy(monkeypatch, 0.2, 0.4, 0.6, 0.7)
    whole, [kept] = run_keeping(spec, 4)
    script_accuracy(monkeypatch, 0.7)
    resumed = finished(run(spec, checkpoint=kept)).result
    assert resumed.steps_to_target == finished(whole).result.steps_to_target == pytest.approx(2.5)


def test_population_statistics_are_those_of_the_training_set() -> None:
    weights = weights_of(finished(run(tiny(norm={"method": "recurrent_batch_norm"}))))
    assert torch.tensor(weights["recurrent.cells.0.norm_x.running_var"]).shape == (64, 16)


def test_training_goes_on_after_the_target() -> None:
    reached = finished(run(tiny(target=0.0)))
    assert reached.outcome == "reached_target"
    assert reached.result.steps_to_target == EVERY
    missed = finished(run(tiny(target=1.0)))
    assert missed.outcome == "completed"
    assert missed.result.steps_to_target is missed.result.seconds_to_target is None
    assert weights_of(reached) == weights_of(missed)


def test_divergence_before_the_first_evaluation_is_a_result_without_a_value() -> None:
    events = run(tiny(optimizer={"lr": 1e38}))
    assert measured(events) == []
    result = finished(events).result
    assert finished(events).outcome == "diverged"
    assert result.value is result.valid_value is result.step is None
    assert result.values == {}
    assert result.no_skill == 0.1


def test_a_diverged_run_says_which_series_broke_and_the_last_finite_values() -> None:
    divergence = finished(run(tiny(optimizer={"lr": 1e38}))).result.divergence
    assert divergence is not None
    assert divergence.step == EVERY
    [start] = measured(run(tiny(optimizer={"lr": 1e-30}, max_steps=1)))
    first_update = {name: value for name, value in start.values.items() if name.startswith("train.")}
    assert divergence.last_finite == first_update
    assert divergence.series == "train.loss"
    told = f"train.loss was no longer finite; before that it was {first_update['train.loss']:.6g}"
    assert str(divergence) == f"diverged at step {EVERY}: {told}"


def test_gradient_that_is_not_finite_before_the_loss_is_named_in_the_divergence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    losses = iter([False] * 4 + [True] * 10)
    loss = PixelSequences.loss

    def broken(*arguments: Any) -> Loss:
        total = loss(*arguments).total
        if next(losses):
            total.register_hook(lambda gradient: gradient * math.nan)  # type: ignore[no-untyped-call]
        return Loss(total)

    monkeypatch.setattr(PixelSequences, "loss", broken)
    events = run(tiny())
    divergence = finished(events).result.divergence
    assert divergence is not None
    assert (divergence.series, divergence.step) == ("train.grad_norm", 2 * EVERY)
    assert divergence.last_finite["valid.loss"] == measured(events)[0].values["valid.loss"]


def test_resumed_run_remembers_the_last_finite_values() -> None:
    spec = tiny(optimizer={"lr": 1e38})
    events, [after_1, after_2] = run_keeping(spec, 1, 2)
    whole = finished(events).result.divergence
    for checkpoint in (after_1, after_2):
        assert finished(run(spec, checkpoint=checkpoint)).result.divergence == whole


def test_finite_run_has_no_divergence() -> None:
    assert finished(run(tiny())).result.divergence is None


def test_test_value_that_is_not_finite_is_named_in_the_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "test", untestable)
    events = run(tiny())
    assert finished(events).outcome == "diverged"
    divergence = finished(events).result.divergence
    assert divergence is not None
    assert (divergence.series, divergence.step) == ("test.accuracy", STEPS)
    assert divergence.last_finite == measured(events)[-1].values


def untestable(*arguments: Any) -> Generator[Any, None, dict[str, float]]:
    yield from ()
    return {"accuracy": math.nan}


def test_later_divergence_keeps_the_model_selected_before(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([1.0] * 4 + [math.nan] * 10)
    loss = PixelSequences.loss
    monkeypatch.setattr(PixelSequences, "loss", lambda *args: Loss(loss(*args).total * next(losses)))
    events = run(tiny(target=0.0))
    assert [event.step for event in measured(events)] == [3]
    assert finished(events).outcome == "diverged"
    result = finished(events).result
    assert (result.step, result.steps_to_target) == (3, None), "nobody saw it hold the target"
    assert result.valid_value == measured(events)[0].values["valid.accuracy"]
    assert result.value is not None
    assert all(math.isfinite(x) for w in weights_of(finished(events)).values() for x in torch.tensor(w).flatten())


def busy(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_training_seconds_exclude_the_time_of_listeners() -> None:
    started = time.monotonic()
    events = []
    for event in train(tiny(), 0, threads=1):
        busy(0.05)
        events.append(event)
    assert finished(events).result.train_seconds < time.monotonic() - started - 0.05 * len(events)


def test_all_phases_of_an_evaluation_count_as_evaluation_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seconds of a slow first phase are still counted after the next phase begins."""

    def slow(*given: Any) -> Iterator[str]:
        yield "population statistics"
        busy(0.5)

    monkeypatch.setattr("normcore.training.evaluation.take_population_statistics", slow)
    events = run(tiny(max_steps=2, eval_every=2))
    phases = [event.phase for event in events if isinstance(event, Evaluating)]
    assert phases == ["validation", "population statistics", "test"]
    timing = finished(events).timing
    assert timing.evaluation > 0.5
    assert timing.training < 0.5
    assert finished(events).result.train_seconds == timing.training


def test_data_compiling_and_warm_up_are_not_counted_as_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading data, drawing batches, building the model and work at first use are not training time."""
    loss, calls = PixelSequences.loss, itertools.count()

    def slow_loss(*args: Any) -> Loss:
        busy(0.0 if next(calls) else 0.4)
        return loss(*args)

    def slow(seconds: float, work: Callable[..., Any]) -> Callable[..., Any]:
        def both(*args: Any) -> Any:
            busy(seconds)
            return work(*args)

        return both

    monkeypatch.setattr(tasks, "build", slow(0.1, tasks.build))
    monkeypatch.setattr(PixelSequences, "batch", slow(0.05, PixelSequences.batch))
    monkeypatch.setattr(PixelSequences, "model", slow(0.3, PixelSequences.model))
    monkeypatch.setattr(PixelSequences, "loss", slow_loss)
    timing = finished(run(tiny())).timing
    assert 0.1 + 0.05 * STEPS < timing.data < 0.1 + 0.05 * STEPS + 0.2
    assert timing.compile > 0.3
    assert timing.warm_up > 0.4
    assert timing.training < 0.3


NOISY = {"model": {"dropout": 0.5, "input_noise": 0.15}, "norm": {"method": "batch_norm"}}
RUNNING = {"norm": {"method": "recurrent_batch_norm", "population": "running", "initial_state_noise": 0.1}}


@pytest.mark.parametrize(("task", "parts"), [("convnet", NOISY), ("permuted_digits", RUNNING)])
def test_warming_up_leaves_no_trace(task: str, parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics, random numbers and gradients are the same before and after the warm-up passes, in a new run and in a
    resumed run."""
    sizes = {"batch_size": 8, "max_steps": 4, "eval_every": 3}
    spec = training_spec({"task": {"name": task, "profile": "smoke"}, "training": sizes, **parts})
    events, [kept] = run_keeping(spec, 2)
    resumed = told(run(spec, checkpoint=kept))
    monkeypatch.setattr("normcore.training.loop._warm_up", lambda run: None)
    assert told(run(spec)) == told(events)
    assert told(run(spec, checkpoint=kept)) == resumed


def test_windows_hold_seconds_per_update_between_evaluations() -> None:
    events = run(tiny())
    ends = [0.0, *(event.seconds for event in measured(events))]
    windows = [(end - begin) / n for (begin, end), n in zip(itertools.pairwise(ends), (3, 3, 1), strict=True)]
    assert finished(events).timing.windows == tuple(windows)


def test_timing_continues_from_a_checkpoint() -> None:
    whole, [kept] = run_keeping(tiny(), 5)
    timing = finished(run(tiny(), checkpoint=kept)).timing
    assert timing.windows[0] == finished(whole).timing.windows[0]
    assert len(timing.windows) == 3
    assert timing.compile > finished(whole).timing.compile, "both processes built the model"


def test_seconds_never_go_back() -> None:
    events = run(tiny())
    seconds = [event.seconds for event in events if isinstance(event, Stepped | Evaluating | Measured)]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert finished(events).result.train_seconds >= seconds[-1]


def test_a_closed_run_leaves_the_process_as_it_was() -> None:
    before = torch.get_rng_state()
    whole = told(run(tiny()))
    events = train(tiny(), 0, threads=1)
    for _ in range(4):
        next(events)
    assert isinstance(events, Generator)
    events.close()
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(torch.get_rng_state(), before)
    assert told(run(tiny())) == whole


def test_float64_trains_in_float64() -> None:
    saved = torch.load(io.BytesIO(finished(run(tiny(precision="float64"))).model()), weights_only=True)
    assert {value.dtype for value in saved["state_dict"].values()} == {torch.float64}


def test_missing_device_is_refused() -> None:
    with pytest.raises(ValueError, match="no device cuda:99"):
        next(train(tiny(), 0, device="cuda:99"))
    with pytest.raises(ValueError, match="expected device cpu or cuda"):
        next(train(tiny(), 0, device="meta"))
