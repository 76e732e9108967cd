"""One seed of a spec, whatever its kind."""

from collections.abc import Iterator
from pathlib import Path

import torch

from normcore.analyse import analyse
from normcore.events import Event
from normcore.spec import AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.training.loop import train


def run(
    spec: ExperimentSpec,
    seed: int,
    *,
    device: str | torch.device = "cpu",
    datasets_dir: Path | None = None,
    threads: int = 1,
    checkpoint: bytes | None = None,
    trained: bytes | None = None,
) -> Iterator[Event]:
    """Train or analyse, telling what happens; see ``normcore.training.loop.train`` and ``normcore.analyse.analyse``.

    Args:
        checkpoint: of a training; an analysis begins anew.
        trained: the model for an analysis of one.
    """
    if isinstance(spec, AnalysisSpec):
        return analyse(spec, seed, device=device, datasets_dir=datasets_dir, threads=threads, trained=trained)
    assert isinstance(spec, TrainingSpec)
    return train(spec, seed, device=device, datasets_dir=datasets_dir, threads=threads, checkpoint=checkpoint)
