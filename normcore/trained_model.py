"""Trained model of a run, loaded from the run's ``model.pt``."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from normcore.environment import usable_device
from normcore.seeding import reproducible
from normcore.spec import TrainingSpec, parse
from normcore.tasks.task import Task
from normcore.training.loop import task_and_model

PARTS: Mapping[str, type] = {"spec": str, "seed": int, "state_dict": dict}


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """Trained model of a run.

    Attributes:
        spec: spec of the run.
        seed: seed of the run.
        task: task with the data that the model was trained on.
        model: the selected weights and population statistics, in evaluation mode. A model that was trained in bfloat16
            has float32 weights, and computes in float32 unless autocast is on.
    """

    spec: TrainingSpec
    seed: int
    task: Task[Any]
    model: nn.Module


def load(content: bytes, datasets_dir: Path | None, device: str | torch.device = "cpu") -> TrainedModel:
    """Load a trained model from the bytes that ``normcore.events.Finished.model()`` returned. A worker stores them as
    ``model.pt``.

    Args:
        datasets_dir: directory of the data sets that are not bundled.
        device: device for the model and its data.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data are missing or damaged.
        ValueError: the bytes are not a trained model, its weights do not fit its spec, or the device does not exist.
    """
    device = usable_device(device)
    parts = _parts(content)
    spec = _spec(parts["spec"])
    with reproducible(parts["seed"], device, torch.get_num_threads()):
        task, model = task_and_model(_runnable_here(spec), device, datasets_dir)
    _fill(model, parts["state_dict"], spec)
    return TrainedModel(spec, parts["seed"], task, model.eval())


def _parts(content: bytes) -> dict[str, Any]:
    try:
        damaged = zipfile.ZipFile(io.BytesIO(content)).testzip()  # torch.load does not look at checksums
        parts = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes make torch raise almost any error, also KeyError and struct.error
        raise ValueError(
            f"expected a trained model, received {len(content):,} bytes that torch.load cannot read; use a run's whole"
            " model.pt"
        ) from error
    if damaged is not None:
        raise ValueError(
            f"expected a trained model, received one whose {damaged} differs from its checksum; copy model.pt again"
        )
    if not isinstance(parts, dict) or not all(isinstance(parts.get(name), kind) for name, kind in PARTS.items()):
        raise ValueError(f"expected a trained model with {', '.join(PARTS)}, received something else; use model.pt")
    return parts


def _spec(written: str) -> TrainingSpec:
    try:
        spec = parse(json.loads(written))
    except ValueError as error:
        raise ValueError(f"this version of normcore cannot read the spec of the trained model: {error}") from error
    if not isinstance(spec, TrainingSpec):
        raise ValueError(f"expected the model of a training, received a spec of the analysis {spec.task.name}")
    return spec


def _runnable_here(spec: TrainingSpec) -> TrainingSpec:
    """Replace the kernel ``fused`` of a spec by ``auto``, because this machine may have no fused kernels."""
    if spec.training.kernel != "fused":
        return spec
    return spec.model_copy(update={"training": spec.training.model_copy(update={"kernel": "auto"})})


def _fill(model: nn.Module, state_dict: dict[str, Any], spec: TrainingSpec) -> None:
    try:
        model.load_state_dict(state_dict)
    except RuntimeError as error:
        raise ValueError(
            f"the trained model does not fit its spec, {spec.model.label} with {spec.norm.method} on {spec.task.name},"
            f" or the task's data have changed: {error}"
        ) from error
