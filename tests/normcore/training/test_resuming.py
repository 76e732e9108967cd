"""Trainings resume from a checkpoint of any step with the same results, bit for bit."""

from pathlib import Path
from typing import Any

import pytest

from normcore.events import Finished, Measured, Stepped
from normcore.spec import TrainingSpec
from normcore.tasks import handwriting
from normcore.training.checkpoint import unpack
from normcore.training.loop import train
from tests.normcore.training_specs import training_spec

STEPS, EVERY = 13, 2  # more evaluations than the result counts, and the last at an uneven step
RESUMED = (1, 4, 5, 8, 11, 13)  # before and after evaluations, the beginning of the decay, and the end
DECAY = {"schedule": {"name": "linear_decay", "start": 5, "beta1": 0.5}}
RUNS: dict[str, dict[str, Any]] = {
    "feedforward, batch_norm": {"task": "feedforward", "norm": {"method": "batch_norm"}},
    "feedforward, batch_renorm": {"task": "feedforward", "norm": {"method": "batch_renorm"}},
    "feedforward, weight_norm": {"task": "feedforward", "norm": {"method": "weight_norm"}, "training": DECAY},
    "convnet, batch_norm": {"task": "convnet", "norm": {"method": "batch_norm", "variance": "unbiased"}},
    "convnet, weight_norm, noise": {
        "task": "convnet",
        "norm": {"method": "weight_norm", "mean_only_batch_norm": True},
        "model": {"dropout": 0.5, "input_noise": 0.15},
        "training": DECAY,
    },
    "convnet, clipped": {
        "task": "convnet",
        "norm": {"method": "layer_norm"},
        "model": {"dropout": 0.2, "input_noise": 0.0},
        "training": {"clip_norm": 0.1, "clip": "per_tensor", "optimizer": {"name": "rmsprop", "momentum": 0.9}},
    },
}
PAPERS = ("attentive_reader", "draw", "handwriting", "order_embedding", "skip_thoughts")


def spec_of(run: dict[str, Any]) -> TrainingSpec:
    training = {"max_steps": STEPS, "eval_every": EVERY, "batch_size": 16, **run.get("training", {})}
    written = {"task": {"name": run["task"], "profile": "smoke"}, "norm": run["norm"], "training": training}
    return training_spec({**written, **({"model": run["model"]} if "model" in run else {})})


def told(
    spec: TrainingSpec,
    checkpoint: bytes | None = None,
    keep: bool = False,
    datasets_dir: Path | None = None,
    evaluated: bool = True,
) -> tuple[list[Any], list[bytes]]:
    """Run a spec; return its events without seconds, and its checkpoints. Without evaluation, add the last model."""
    said: list[Any] = []
    kept: list[bytes] = []
    for event in train(spec, seed=3, checkpoint=checkpoint, datasets_dir=datasets_dir):
        if isinstance(event, Measured):
            said.append((event.step, dict(event.values)))
        elif isinstance(event, Stepped):
            said.append(event.step)
            if keep:
                kept.append(event.checkpoint())
            if event.step == spec.training.max_steps and not evaluated:
                state = unpack(event.checkpoint(), spec.fingerprint(), 3)
                said.append({name: part.tolist() for name, part in (state["model"] | state["sums"]).items()})
                break
        elif isinstance(event, Finished):
            result = event.result
            said.append((event.outcome, result.values, result.valid_value, result.step, result.steps_to_target))
            said.append(event.model())
            said.append({name: draw() for name, draw in event.artifacts.items()})
    return said, kept


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_run_resumes_bit_for_bit(run: dict[str, Any]) -> None:
    spec = spec_of(run)
    whole, checkpoints = told(spec, keep=True)
    assert len(checkpoints) == STEPS
    assert len([event for event in whole if isinstance(event, tuple) and isinstance(event[0], int)]) == 7
    for step in RESUMED:
        resumed, _ = told(spec, checkpoints[step - 1])
        assert resumed == whole[whole.index(step) + 1 :], f"from step {step}"


@pytest.mark.usefixtures("data_are_read_once")
@pytest.mark.parametrize("method", ["layer_norm", "recurrent_batch_norm"])
@pytest.mark.parametrize("task", PAPERS)
def test_run_of_a_benchmark_of_the_papers_resumes_from_its_middle(
    task: str, method: str, datasets_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handwriting, "POINTS_OF_CHARACTER", 2)  # all points of a sample take a second
    spec = spec_of({"task": task, "norm": {"method": method}, "training": {"max_steps": 4, "eval_every": 4}})
    evaluated = task != "skip_thoughts"  # its evaluation takes hundreds of regressions
    whole, checkpoints = told(spec, keep=True, datasets_dir=datasets_dir, evaluated=evaluated)
    resumed, _ = told(spec, checkpoints[1], datasets_dir=datasets_dir, evaluated=evaluated)
    assert len(resumed) >= 3, "two updates and what they led to"
    assert resumed == whole[whole.index(2) + 1 :]
